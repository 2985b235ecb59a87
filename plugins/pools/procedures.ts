/**
 * What is done under the commit lock of a set of several.
 *
 * | Procedure | Where | What |
 * |---|---|---|
 * | those of the storage's users | the set of the records | as they are, with a transaction that knows of other sets |
 * | grant | a set of blobs | puts remote references, of a blob that is complete or of those that have one for another group |
 * | forget | a set of blobs | deletes remote references, unless they were granted anew |
 * | giveUp | a set of blobs | says that nobody will refer to a blob any more |
 * | settle | the set of the records | says which of some references no record has, nor will have without another grant |
 * | describe | every set | says what it is a part of |
 */
import { sharedSetKey } from 'svc/plugins/erasure/api'
import type { Procedure, Transaction } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { blobIdFrom } from './blob-ids.ts'
import { blobOfReference } from './blob-references.ts'
import type { FreshReferences } from './fresh-references.ts'
import { countOf, PooledTransaction } from './pooled-transaction.ts'
import { ownTable, type ReferenceEntry } from './record-references.ts'
import { encodeRemoteReference, isNewer, remoteReferenceKey } from './remote-references.ts'

export const procedure = {
  acquire: 'pools.acquire',
  release: 'pools.release',
  abandon: 'pools.abandon',
  resolve: 'pools.resolve',
  describe: 'pools.describe',
} as const

/** How many times something was settled: a change, so that what was seen before it is on the write quorum once this is. */
const resolvedCountKey = Buffer.from([ownTable, 0x63])

/** With ids that blobs have in the set. */
export interface AcquireArgs {
  readonly reference: string
  readonly size: number
  /** A reference of the same blob that must be there already. Undefined: the blob was written just now. */
  readonly existing?: string
}

export interface ReleaseArgs {
  /** With ids that blobs have in the set. */
  readonly references: readonly string[]
  /** What was granted later than this grant of this run stays. */
  readonly upTo: number
}

/** References that no record has, nor will have but by a grant after `upTo`. */
export interface Resolved {
  readonly unused: readonly string[]
  readonly upTo: number
}

/** What the transaction of a user of the storage has done to blobs of other sets. */
export interface Commit {
  /** References that were fresh. */
  used: readonly string[]
  /** The same of every run of it. */
  readonly touched: Set<string>
  /** References that a record had. */
  dropped: readonly string[]
  /** It was not made because these references are to be granted first. */
  missing: readonly ReferenceEntry[]
  /** Its procedure threw: it was not made. */
  hasThrown: boolean
}

export function newCommit(): Commit {
  return { used: [], touched: new Set(), dropped: [], missing: [], hasThrown: false }
}

export interface TicketArgs {
  /** Under which its `Commit` is found: arguments may be copied on their way. */
  readonly ticket: number
  readonly args: unknown
}

export interface PoolProceduresOptions {
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly fresh: FreshReferences
  readonly commits: ReadonlyMap<number, Commit>
  /** Of this run of the server. */
  readonly run: Uint8Array
  /** These references are to be settled. */
  onAbandoned(references: readonly string[]): void
  /** Of the set that these procedures are for; known before they are called. */
  setNumber(): number
}

export function createPoolProcedures(options: PoolProceduresOptions): Readonly<Record<string, Procedure>> {
  const { fresh, commits, run, setNumber, onAbandoned } = options
  const made: Record<string, Procedure> = {
    [procedure.acquire]: (tx: Transaction, all: readonly AcquireArgs[]): readonly (number | undefined)[] => {
      const numbers: (number | undefined)[] = []
      for (const { reference, size, existing } of all) {
        // A blob that nothing keeps any more is not kept by one that comes now.
        if (existing !== undefined && tx.get(remoteReferenceKey(existing)) === undefined) numbers.push(undefined)
        else {
          const number = fresh.add(blobIdFrom(reference, setNumber()), size, existing === undefined)
          numbers.push(number)
          tx.put(remoteReferenceKey(reference), encodeRemoteReference({ run, number }, size), {
            blobs: [blobOfReference(reference)],
          })
        }
      }
      return numbers
    },
    [procedure.release]: (tx: Transaction, { references, upTo }: ReleaseArgs) => {
      for (const reference of references) {
        const key = remoteReferenceKey(reference)
        const found = tx.get(key)
        if (found !== undefined && !isNewer(found.value, { run, number: upTo })) tx.delete(key)
      }
    },
    [procedure.abandon]: (_tx: Transaction, blobInSet: string) => {
      onAbandoned(fresh.abandonBlob(blobIdFrom(blobInSet, setNumber())))
    },
    [procedure.resolve]: (tx: Transaction, references: readonly string[]): Resolved => {
      // Those that are fresh are settled when they are not any more.
      const unused = references.filter(reference => !fresh.deferResolve(reference) && countOf(tx, reference) === 0)
      if (unused.length > 0) {
        const before = tx.get(resolvedCountKey)
        const count = before === undefined ? 0 : Number(Buffer.from(before.value).toString())
        tx.put(resolvedCountKey, Buffer.from(String(count + 1)))
      }
      return { unused, upTo: fresh.lastAcquisition }
    },
    [procedure.describe]: (tx: Transaction, document: Uint8Array) => {
      tx.put(sharedSetKey, document)
    },
  }
  for (const [name, run] of Object.entries(options.procedures)) made[name] = pooled(run, fresh, commits)
  return made
}

function pooled(run: Procedure, fresh: FreshReferences, commits: ReadonlyMap<number, Commit>): Procedure {
  return (tx: Transaction, { ticket, args }: TicketArgs, body) => {
    const commit = commits.get(ticket)
    // It was given up while it waited.
    if (commit === undefined) throw storageErrors.unavailable('Nobody waits for this transaction any more.')
    // It may have run before, in a batch that was taken back.
    fresh.onRefused(commit.used, commit)
    const pooledTx = new PooledTransaction(tx, fresh, commit)
    commit.used = pooledTx.used
    commit.dropped = []
    commit.missing = []
    commit.hasThrown = true
    let result: unknown
    try {
      result = run(pooledTx, args, body)
    } finally {
      for (const reference of pooledTx.used) commit.touched.add(reference)
    }
    if (pooledTx.missing.size > 0) {
      commit.missing = [...pooledTx.missing.values()]
      throw storageErrors.unavailable('Blobs are not kept for these records yet.')
    }
    commit.dropped = [...pooledTx.dropped.keys()]
    commit.hasThrown = false
    return result
  }
}
