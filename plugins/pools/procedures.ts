/**
 * The procedures of a storage of several sets; each runs under the commit lock of one set.
 *
 * | Procedure | Runs in | What it does |
 * |---|---|---|
 * | those of the storage's users | the record set | as they are, with a `PooledTransaction` |
 * | acquire | a blob set | writes remote references: of a blob that is complete, or of one that has a remote reference for another group |
 * | release | a blob set | deletes remote references, unless they were acquired again in the meantime |
 * | abandon | a blob set | drops, in memory, the unused fresh references of a writer that gives up its blob, and has them resolved |
 * | resolve | the record set | finds which of some references no record has, nor can get without another acquisition |
 * | describe | every set | writes the pools document |
 *
 * `PooledBlobWriter` and `ReferenceAcquirer` acquire; `ReferenceReleaser` and `OrphanSweep` resolve, then release.
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

/** Counts how often references were resolved. Writing it is a change: once it is on the write quorum, so is everything that was seen before. */
const resolvedCountKey = Buffer.from([ownTable, 0x63])

/** References contain the ids that blobs have in their set. */
export interface AcquireArgs {
  readonly reference: string
  readonly size: number
  /** A reference of the same blob that must exist already. Undefined if the blob was just written. */
  readonly existing?: string
}

export interface ReleaseArgs {
  /** References contain the ids that blobs have in their set. */
  readonly references: readonly string[]
  /** Number of an acquisition of this run: what was acquired later stays. */
  readonly upTo: number
}

export interface ResolveArgs {
  readonly references: readonly string[]
  /** A transaction that wrote or deleted such a reference is in doubt: no answer is given before all that was seen is on the write quorum. */
  readonly isInDoubt?: boolean
}

/** `unused`: references that no record has, nor can get without an acquisition after `upTo`. */
export interface Resolved {
  readonly unused: readonly string[]
  readonly upTo: number
}

/** What a transaction of the storage's user does to blobs of other sets. */
export interface Commit {
  /** Fresh references that it uses. */
  used: readonly string[]
  /** Fresh references that any attempt of it used. */
  readonly touched: Set<string>
  /** References that a record had before this transaction and no longer has. */
  dropped: readonly string[]
  /** References to acquire before it can be made. */
  missing: readonly ReferenceEntry[]
  /** Its procedure threw, so it was not made. */
  hasThrown: boolean
}

export function newCommit(): Commit {
  return { used: [], touched: new Set(), dropped: [], missing: [], hasThrown: false }
}

export interface TicketArgs {
  /** Identifies its `Commit`, because arguments may be copied between threads. */
  readonly ticket: number
  readonly args: unknown
}

export interface PoolProceduresOptions {
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly fresh: FreshReferences
  readonly commits: ReadonlyMap<number, Commit>
  /** Identity of this run of the server. */
  readonly run: Uint8Array
  /** Called with references that are to be resolved. */
  onAbandoned(references: readonly string[]): void
  /** Number of the set of these procedures. It is known before they are called. */
  setNumber(): number
}

export function createPoolProcedures(options: PoolProceduresOptions): Readonly<Record<string, Procedure>> {
  const { fresh, commits, run, setNumber, onAbandoned } = options
  const made: Record<string, Procedure> = {
    [procedure.acquire]: (tx: Transaction, all: readonly AcquireArgs[]): readonly (number | undefined)[] => {
      const numbers: (number | undefined)[] = []
      for (const { reference, size, existing } of all) {
        // If the blob has lost its existing reference, it may be deleted already: no reference is acquired.
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
    [procedure.resolve]: (tx: Transaction, { references, isInDoubt = false }: ResolveArgs): Resolved => {
      // Fresh references are resolved when they are no longer fresh.
      const unused = references.filter(reference => !fresh.deferResolve(reference) && countOf(tx, reference) === 0)
      if (unused.length > 0 || isInDoubt) {
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
    // Its caller gave up waiting.
    if (commit === undefined) throw storageErrors.unavailable('The caller of this transaction no longer waits for it.')
    // It may have run before, in a batch that was rolled back.
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
      throw storageErrors.unavailable('References to blobs in other sets have to be acquired first.')
    }
    commit.dropped = [...pooledTx.dropped.keys()]
    commit.hasThrown = false
    return result
  }
}
