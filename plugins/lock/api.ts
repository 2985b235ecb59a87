/**
 * Locks for long work that must not run twice at the same time, such as deleting all objects of a bucket. A lock is a *lease*: its holder
 * renews it, and loses it without renewal. Short changes need no lock, because their commits have preconditions.
 */
import type { MaybePromise } from 'svc/kernel'
import type { TransactionBuilder } from 'svc/plugins/store/api'

export { lockErrors } from './errors.ts'

export const lockTypes = ['write', 'read'] as const
export type LockType = (typeof lockTypes)[number]

export interface Lock {
  /** `<bucket>/<activity>`, or `svc/<activity>` for the whole deployment: no bucket has that name. */
  readonly resource: string
  /** 32 hexadecimal digits: of this lease. */
  readonly uid: string
  /** The node that holds it. */
  readonly owner: string
  /** Its purpose: the id of an operation. */
  readonly source: string
  readonly type: LockType
  /** Milliseconds since 1970. */
  readonly sinceMs: number
  readonly refreshedMs: number
}

/** A lock that is held. */
export interface Lease {
  readonly uid: string
  /** Aborts soon after the lock is lost; the reason is the error. */
  readonly signal: AbortSignal
  /** Called before each commit under the lock: throws `conflict` if the lock is lost. As fresh as a document. */
  check(): MaybePromise<void>
  /** The transaction fails with `precondition_failed` when the lock is lost by then. */
  fence(tx: TransactionBuilder): void
}

export interface HoldOptions {
  /** Its purpose: the id of an operation. */
  readonly source: string
  /** How long to wait for another holder. Default 0: it is refused at once. */
  readonly waitMs?: number
}

export interface LockService {
  /**
   * Runs `work` while this thread holds the lock. Rejects with the error of `work`, or with `conflict`, which names the holder, if another
   * holder keeps the lock for longer than the wait.
   */
  hold<T>(resource: string, options: HoldOptions, work: (lease: Lease) => Promise<T>): Promise<T>
  /** Oldest first. */
  list(): Promise<Lock[]>
  /**
   * Releases these locks regardless of their holder: holders stop before their next commit. Resolves with those that were held. With `uid`
   * only that lease: throws `conflict` if another holder has the lock by now.
   */
  release(resources: readonly string[], uid?: string): Promise<Lock[]>
  /** Tells how long each lock was waited for in this thread, also in vain, until the function that it returns is called. */
  watchWaits(listener: (resource: string, waitedMs: number) => void): () => void
}

declare module 'svc/kernel' {
  interface Services {
    locks: LockService
  }
}
