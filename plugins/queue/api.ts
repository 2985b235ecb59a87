/**
 * Queue: persistent, bounded, retrying queues for messages to destinations that may be down (events, audit records, purges). Entries
 * are records of `storage`: an entry is durable when its commit is, survives a crash, and is delivered at least once. A *topic* belongs
 * to a plugin and has any number of *queues*, one per destination. Names of queues have 1 to 200 bytes of UTF-8 without 00; metrics
 * show the name up to a colon. Everything throws or rejects with RangeError when a bound is exceeded.
 *
 * Order: entries with the same non-empty key are delivered in the order of their commits. An attempt with an entry begins only after
 * every earlier entry with that key was delivered, became a dead letter or was cleared, or in one batch with it, earlier entries first.
 * After a crash or a stop, delivered entries may be sent again, from some entry on and in the same order. Dead letters that are queued
 * again come behind the waiting entries.
 */
import type { MaybePromise } from 'svc/kernel'
import type { Transaction } from 'svc/plugins/storage/api'

export { PermanentDeliveryError, sentenceOf } from './errors.ts'

export interface NewEntry {
  /** Entries with the same key are delivered one after the other. Empty: in any order. At most 2000 bytes of UTF-8. */
  readonly key: string
  /** At most 1 MiB. */
  readonly payload: Uint8Array
}

export interface QueueEntry extends NewEntry {
  /** Unique in its queue, for ever, and increasing: 20 hexadecimal digits. A dead letter that is queued again gets a new one. */
  readonly id: string
  readonly payload: Buffer
  /** When it was first put: milliseconds since 1970. */
  readonly queuedMs: number
}

export interface DeadLetter extends QueueEntry {
  /** Why the last attempt failed: a sentence without secrets. */
  readonly reason: string
  /** Failed attempts since its delivery began: a restart starts at 0. */
  readonly attempts: number
  readonly givenUpMs: number
}

/** Empty: all that there are now. */
export interface DeadLetterSelection {
  /** At most 1000. */
  readonly ids?: readonly string[] | undefined
  /** An id. What was given up after this dead letter is left out. */
  readonly through?: string | undefined
}

export interface DeadLetterCount {
  readonly count: number
  /** The largest id; empty if there is none. Whatever is given up later has a larger one. */
  readonly newest: string
}

/** Exact, from the counters of storage. */
export interface QueueStatus {
  readonly pending: number
  readonly pendingBytes: number
  readonly deadLetters: number
}

export interface DeliveryOptions {
  /** Entries per batch, at most. Default 1. */
  readonly batchMax?: number
  /** Batches under way at once. No key is in two of them. Default 1. */
  readonly concurrency?: number
  /**
   * Maximum time of one attempt. After it `signal` is aborted and the attempt counts as failed. Default 30 s. A `send` that ignores the
   * signal may still run when its entries are sent again.
   */
  readonly timeoutMs?: number
  /**
   * Pauses between attempts double from the first (default 1 s) up to the longest (default 1 min), each varied by ±20 %. After a
   * temporary failure the whole queue pauses. Then it sends one batch at a time until a batch succeeds, beginning with the entries that
   * have the fewest failures.
   */
  readonly retryFirstMs?: number
  readonly retryMaxMs?: number
  /**
   * Resolves when the destination has all entries for good. A rejection is tried again without end, except `PermanentDeliveryError`,
   * which turns the entries into dead letters (each entry of a batch is first tried alone). An entry that failed delays entries with
   * the same key; others overtake it as far as they are among the thousand entries and 8 MiB in memory. Entries that have failed go in
   * batches of half the size each time, so that an entry that always fails ends up alone.
   */
  send(entries: readonly QueueEntry[], signal: AbortSignal): Promise<void>
  /** After each batch that the destination took. */
  onSent?(count: number): void
  /** After each failed attempt, with a sentence without secrets. Not for attempts that `stop` ends. */
  onFailed?(reason: string): void
}

export interface Delivery {
  /** Ends the pauses after failures. */
  retryNow(): void
  /** Starts no further attempt. Resolves when all attempts have ended; those that still run after 3 s are aborted. Idempotent. */
  stop(): Promise<void>
}

export interface QueueTopic {
  /**
   * Within a commit, in a procedure. False when `limit` entries wait in the queue (dead letters not counted): then nothing is put, and
   * the caller reports it. A commit puts at most 65 536 entries into all queues together.
   */
  put(tx: Transaction, queue: string, entry: NewEntry, limit: number): boolean
  /**
   * Puts entries in a commit of its own, from any thread. Resolves with how many had room: the first ones. At most 1000 entries, and
   * 16 MiB of payloads together.
   */
  push(queue: string, entries: readonly NewEntry[], limit: number): Promise<number>
  /** Starts to deliver a queue, in the main thread, after set-up. Throws while another delivery of the queue has not stopped. */
  deliver(queue: string, options: DeliveryOptions): Delivery
  status(queue: string): MaybePromise<QueueStatus>
  /** Queues that have entries or dead letters. */
  queues(): MaybePromise<readonly string[]>
  /**
   * In the order in which they were given up, after the id `startAfter` (empty: from the beginning): at most `limit` and 1000, and at
   * most 8 MiB of payloads, the last one not counted. An empty answer is the end. A queue keeps 10 000 dead letters; a new one replaces the oldest.
   */
  deadLetters(
    queue: string,
    request: { readonly startAfter: string; readonly limit: number },
  ): MaybePromise<readonly DeadLetter[]>
  countDeadLetters(queue: string): MaybePromise<DeadLetterCount>
  /** Queues dead letters again, regardless of the limit. Resolves with how many. */
  retryDeadLetters(queue: string, which?: DeadLetterSelection): Promise<number>
  /** Deletes dead letters. Resolves with how many. */
  discardDeadLetters(queue: string, which?: DeadLetterSelection): Promise<number>
  /** Deletes all entries and dead letters; attempts under way may still arrive. Resolves with how many. */
  clear(queue: string): Promise<number>
}

export interface QueueService {
  /** Declares a topic, in every thread, during set-up. Its name is that of the plugin. */
  topic(name: string): QueueTopic
}

declare module 'svc/kernel' {
  interface Services {
    queue: QueueService
  }
}
