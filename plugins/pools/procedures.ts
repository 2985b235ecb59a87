/**
 * What is done under the commit lock of a set of several.
 *
 * | Procedure | Where | What |
 * |---|---|---|
 * | those of the storage's users | the set of the records | as they are, with a transaction that knows of other sets |
 * | grant | a set of blobs | puts shadows, of a blob that is complete or of those that have one for another group |
 * | forget | a set of blobs | deletes shadows, unless they were granted anew |
 * | giveUp | a set of blobs | says that nobody will refer to a blob any more |
 * | settle | the set of the records | says which of some claims no record has, nor will have without another grant |
 * | describe | every set | says what it is a part of |
 */
import { sharedSetKey } from 'svc/plugins/erasure/api'
import type { Procedure, Transaction } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { blobIdFrom } from './blob-ids.ts'
import { blobOfClaim } from './claims.ts'
import type { FreshClaims } from './fresh-claims.ts'
import { countOf, PooledTransaction } from './pooled-transaction.ts'
import { ownTable, type Reference } from './references.ts'
import { encodeShadow, isNewer, shadowKey } from './shadows.ts'

export const procedure = {
  grant: 'pools.grant',
  forget: 'pools.forget',
  giveUp: 'pools.giveUp',
  settle: 'pools.settle',
  describe: 'pools.describe',
} as const

/** How many times something was settled: a change, so that what was seen before it is on the write quorum once this is. */
const settledKey = Buffer.from([ownTable, 0x63])

/** With ids that blobs have in the set. */
export interface GrantArgs {
  readonly claim: string
  readonly size: number
  /** A claim of the same blob that must be there already. Undefined: the blob was written just now. */
  readonly besides?: string
}

export interface ForgetArgs {
  /** With ids that blobs have in the set. */
  readonly claims: readonly string[]
  /** What was granted later than this grant of this run stays. */
  readonly upTo: number
}

/** Claims that no record has, nor will have but by a grant after `upTo`. */
export interface Settled {
  readonly ended: readonly string[]
  readonly upTo: number
}

/** What the transaction of a user of the storage has done to blobs of other sets. */
export interface Commit {
  /** Claims that were fresh. */
  referred: readonly string[]
  /** The same of every run of it. */
  readonly touched: Set<string>
  /** Claims that a record had. */
  released: readonly string[]
  /** It was not made because these claims are to be granted first. */
  wanted: readonly Reference[]
  /** Its procedure threw: it was not made. */
  hasThrown: boolean
}

export function newCommit(): Commit {
  return { referred: [], touched: new Set(), released: [], wanted: [], hasThrown: false }
}

export interface TicketArgs {
  /** Under which its `Commit` is found: arguments may be copied on their way. */
  readonly ticket: number
  readonly args: unknown
}

export interface PoolProceduresOptions {
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly fresh: FreshClaims
  readonly commits: ReadonlyMap<number, Commit>
  /** Of this run of the server. */
  readonly run: Uint8Array
  /** These claims are to be settled. */
  onGivenUp(claims: readonly string[]): void
  /** Of the set that these procedures are for; known before they are called. */
  setNumber(): number
}

export function createPoolProcedures(options: PoolProceduresOptions): Readonly<Record<string, Procedure>> {
  const { fresh, commits, run, setNumber, onGivenUp } = options
  const made: Record<string, Procedure> = {
    [procedure.grant]: (tx: Transaction, all: readonly GrantArgs[]): readonly (number | undefined)[] => {
      const numbers: (number | undefined)[] = []
      for (const { claim, size, besides } of all) {
        // A blob that nothing keeps any more is not kept by one that comes now.
        if (besides !== undefined && tx.get(shadowKey(besides)) === undefined) numbers.push(undefined)
        else {
          const number = fresh.add(blobIdFrom(claim, setNumber()), size, besides === undefined)
          numbers.push(number)
          tx.put(shadowKey(claim), encodeShadow({ run, number }, size), { blobs: [blobOfClaim(claim)] })
        }
      }
      return numbers
    },
    [procedure.forget]: (tx: Transaction, { claims, upTo }: ForgetArgs) => {
      for (const claim of claims) {
        const key = shadowKey(claim)
        const found = tx.get(key)
        if (found !== undefined && !isNewer(found.value, { run, number: upTo })) tx.delete(key)
      }
    },
    [procedure.giveUp]: (_tx: Transaction, blobInSet: string) => {
      onGivenUp(fresh.giveUpBlob(blobIdFrom(blobInSet, setNumber())))
    },
    [procedure.settle]: (tx: Transaction, claims: readonly string[]): Settled => {
      // Those that are fresh are settled when they are not any more.
      const ended = claims.filter(claim => !fresh.ask(claim) && countOf(tx, claim) === 0)
      if (ended.length > 0) {
        const before = tx.get(settledKey)
        const count = before === undefined ? 0 : Number(Buffer.from(before.value).toString())
        tx.put(settledKey, Buffer.from(String(count + 1)))
      }
      return { ended, upTo: fresh.lastGrant }
    },
    [procedure.describe]: (tx: Transaction, document: Uint8Array) => {
      tx.put(sharedSetKey, document)
    },
  }
  for (const [name, run] of Object.entries(options.procedures)) made[name] = pooled(run, fresh, commits)
  return made
}

function pooled(run: Procedure, fresh: FreshClaims, commits: ReadonlyMap<number, Commit>): Procedure {
  return (tx: Transaction, { ticket, args }: TicketArgs, body) => {
    const commit = commits.get(ticket)
    // It was given up while it waited.
    if (commit === undefined) throw storageErrors.unavailable('Nobody waits for this transaction any more.')
    // It may have run before, in a batch that was taken back.
    fresh.onRefused(commit.referred, commit)
    const pooledTx = new PooledTransaction(tx, fresh, commit)
    commit.referred = pooledTx.referred
    commit.released = []
    commit.wanted = []
    commit.hasThrown = true
    let result: unknown
    try {
      result = run(pooledTx, args, body)
    } finally {
      for (const claim of pooledTx.referred) commit.touched.add(claim)
    }
    if (pooledTx.wanted.size > 0) {
      commit.wanted = [...pooledTx.wanted.values()]
      throw storageErrors.unavailable('Blobs are not kept for these records yet.')
    }
    commit.released = [...pooledTx.released.keys()]
    commit.hasThrown = false
    return result
  }
}
