/**
 * What is done under the commit lock of a set of several.
 *
 * | Procedure | Where | What |
 * |---|---|---|
 * | those of the storage's users | the set of the records | as they are, with a transaction that knows of other sets |
 * | refer | a set of blobs | puts the shadow of a blob that is complete |
 * | forget | a set of blobs | deletes shadows |
 * | giveUp | a set of blobs | deletes the shadow of a blob to which no record came to refer |
 * | settle | the set of the records | says to which of some blobs no record refers, for good |
 * | describe | every set | says what it is a part of |
 */
import { sharedSetKey } from 'svc/plugins/erasure/api'
import type { Procedure, Transaction } from 'svc/plugins/storage/api'
import { blobIdFrom } from './blob-ids.ts'
import type { FreshBlobs } from './fresh-blobs.ts'
import { PooledTransaction } from './pooled-transaction.ts'
import { countKey, ownTable } from './references.ts'
import { encodeShadow, shadowKey } from './shadows.ts'

export const procedure = {
  refer: 'pools.refer',
  forget: 'pools.forget',
  giveUp: 'pools.giveUp',
  settle: 'pools.settle',
  describe: 'pools.describe',
} as const

/** How many times something was settled: a change, so that what was seen before it is on the write quorum once this is. */
const settledKey = Buffer.from([ownTable, 0x63])

export interface ReferArgs {
  readonly idInSet: string
  readonly size: number
}

/** What the transaction of a user of the storage has done to blobs of other sets. */
export interface Commit {
  referred: readonly string[]
  ended: readonly string[]
  /** Its procedure threw: it was not made. */
  hasThrown: boolean
}

export interface TicketArgs {
  /** Under which its `Commit` is found: arguments may be copied on their way. */
  readonly ticket: number
  readonly args: unknown
}

export interface PoolProceduresOptions {
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly fresh: FreshBlobs
  readonly commits: ReadonlyMap<number, Commit>
  /** Of this run of the server. */
  readonly run: Uint8Array
  /** Of the set that these procedures are for; known before they are called. */
  setNumber(): number
}

export function createPoolProcedures(options: PoolProceduresOptions): Readonly<Record<string, Procedure>> {
  const { fresh, commits, run, setNumber } = options
  const made: Record<string, Procedure> = {
    [procedure.refer]: (tx: Transaction, { idInSet, size }: ReferArgs) => {
      tx.put(shadowKey(idInSet), encodeShadow(run, size), { blobs: [idInSet] })
      fresh.add(blobIdFrom(idInSet, setNumber()), size)
    },
    [procedure.forget]: (tx: Transaction, idsInSet: readonly string[]) => {
      for (const id of idsInSet) remove(tx, id)
    },
    [procedure.giveUp]: (tx: Transaction, idInSet: string) => {
      if (!fresh.giveUp(blobIdFrom(idInSet, setNumber()))) return false
      remove(tx, idInSet)
      return true
    },
    [procedure.settle]: (tx: Transaction, ids: readonly string[]) => {
      const ended = ids.filter(id => (tx.counter(countKey(id))[0] ?? 0) === 0)
      if (ended.length > 0) {
        const before = tx.get(settledKey)
        const count = before === undefined ? 0 : Number(Buffer.from(before.value).toString())
        tx.put(settledKey, Buffer.from(String(count + 1)))
      }
      return ended
    },
    [procedure.describe]: (tx: Transaction, document: Uint8Array) => {
      tx.put(sharedSetKey, document)
    },
  }
  for (const [name, run] of Object.entries(options.procedures)) made[name] = pooled(run, fresh, commits)
  return made
}

function remove(tx: Transaction, idInSet: string): void {
  const key = shadowKey(idInSet)
  if (tx.get(key) !== undefined) tx.delete(key)
}

function pooled(run: Procedure, fresh: FreshBlobs, commits: ReadonlyMap<number, Commit>): Procedure {
  return (tx: Transaction, { ticket, args }: TicketArgs, body) => {
    const commit = commits.get(ticket)!
    // It may have run before, in a batch that was taken back.
    fresh.onRefused(commit.referred)
    const pooledTx = new PooledTransaction(tx, fresh)
    commit.referred = pooledTx.referred
    commit.ended = []
    commit.hasThrown = true
    const result = run(pooledTx, args, body)
    commit.ended = pooledTx.ended()
    commit.hasThrown = false
    return result
  }
}
