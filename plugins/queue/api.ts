/**
 * Queue: the one persistent, bounded, retrying queue, for whatever has to be told to somebody who may be away (events, audit
 * records, purges). Entries are records of `storage`: what was put is durable when its commit is, survives a crash, and is
 * delivered at least once, in the order of its commits among entries with the same key. A *family* belongs to a plugin and has any
 * number of *lanes*, one per destination. Names of lanes have 1 to 200 bytes of UTF-8 without 00; metrics show what stands before a
 * colon. Everything throws or rejects with RangeError for what is over a bound.
 *
 * The order, exactly: no attempt with an entry begins before every earlier entry with the same key, which is not the empty one, was
 * taken, became a dead letter or was cleared; or they are in the same batch, earlier entries first. After a crash or a stop what was
 * taken may come again, from some entry on and in the same order. Dead letters that are revived come behind what waits.
 */
import type { MaybePromise } from 'svc/kernel'
import type { Transaction } from 'svc/plugins/storage/api'

export { PermanentDeliveryError } from './errors.ts'
export { registerTargetFamilies, type TargetFamilies, type TargetFamilyState } from './target-families.ts'

export interface NewEntry {
  /** Entries with the same key are delivered one after the other. Empty: the order does not matter. At most 2000 bytes of UTF-8. */
  readonly key: string
  /** At most 1 MiB. */
  readonly payload: Uint8Array
}

export interface QueueEntry extends NewEntry {
  /** Unique in its lane, for ever, and increasing: 20 hexadecimal digits. A revived entry has a new one. */
  readonly id: string
  readonly payload: Buffer
  /** When it was first put: milliseconds since 1970. */
  readonly queuedMs: number
}

export interface DeadLetter extends QueueEntry {
  /** Why it was given up: a sentence without secrets. */
  readonly reason: string
  /** Failed ones since its delivery began: a restart counts anew. */
  readonly attempts: number
  readonly givenUpMs: number
}

/** Exact, from the counters of storage. */
export interface LaneStatus {
  readonly pending: number
  readonly pendingBytes: number
  readonly deadLetters: number
}

export interface DeliveryOptions {
  /** Entries that are sent together, at most. Default 1. */
  readonly batchMax?: number
  /** Batches under way at once. No key is in two of them. Default 1. */
  readonly concurrency?: number
  /**
   * Of one attempt, after which `signal` is aborted and the attempt counts as failed. Default 30 s. A `send` that goes on all the same
   * may still be at it when its entries are tried again.
   */
  readonly timeoutMs?: number
  /**
   * Pauses between attempts double from the first (default 1 s) up to the longest (default 1 min), each varied by ±20 %. After a failure
   * the whole lane pauses, and then tries one batch at a time until one succeeds, beginning with what has failed least.
   */
  readonly retryFirstMs?: number
  readonly retryMaxMs?: number
  /**
   * Resolves when the destination has all of them for good. A rejection is tried again, for ever; one with `PermanentDeliveryError`
   * makes dead letters of the entries (of one that fails for a batch of several, each entry is first tried alone). An entry that
   * failed holds back those with its key; others pass as far as they are among the thousand entries and 8 MiB that are in memory.
   * Entries that have failed go in batches of half the size each time, so that one that always fails comes to be alone.
   */
  send(entries: readonly QueueEntry[], signal: AbortSignal): Promise<void>
}

export interface DeliveryState {
  /** False after a failed attempt until one succeeds. */
  readonly online: boolean
  /** Empty when online: a sentence without secrets. */
  readonly lastError: string
  readonly lastSuccessMs: number | undefined
  /** Since the start. */
  readonly sent: number
  readonly failedAttempts: number
}

export interface Delivery {
  state(): DeliveryState
  /** Tries at once what waits for its next attempt. */
  retryNow(): void
  /** Begins nothing more, and resolves when what is under way has ended or, after 3 s, was aborted. Idempotent. */
  stop(): Promise<void>
}

export interface QueueFamily {
  /**
   * Within a commit, in a procedure. False when the lane has `limit` entries that wait, dead letters not counted: nothing is put then,
   * and who asks says so to people (`refused` counts it, too). A commit puts at most 65 536 entries of all lanes.
   */
  put(tx: Transaction, lane: string, entry: NewEntry, limit: number): boolean
  /**
   * In a commit of its own, from any thread. Resolves with how many of them there was room for, the first ones. At most 1000, and 16 MiB
   * of payloads together.
   */
  push(lane: string, entries: readonly NewEntry[], limit: number): Promise<number>
  /** Begins to deliver a lane, in the main thread, not before the start. Throws while another delivery of it has not stopped. */
  deliver(lane: string, options: DeliveryOptions): Delivery
  status(lane: string): MaybePromise<LaneStatus>
  /** Entries that found their lane full since the start, in the main thread. */
  refused(lane: string): number
  /** Lanes that have entries or dead letters. */
  lanes(): MaybePromise<readonly string[]>
  /**
   * Oldest first, those after the id `startAfter` (empty: all): at most `limit` and 1000, and as many as 8 MiB of payloads have room
   * for, but one. The end is an empty answer. A lane keeps 10 000: the oldest goes for one more.
   */
  deadLetters(
    lane: string,
    request: { readonly startAfter: string; readonly limit: number },
  ): MaybePromise<readonly DeadLetter[]>
  /**
   * Puts the dead letters that there are, or those of them with these ids (at most 1000), back behind what waits, whatever limit that
   * has. Resolves with how many.
   */
  revive(lane: string, ids?: readonly string[]): Promise<number>
  /** Deletes the dead letters that there are, or those of them with these ids (at most 1000). Resolves with how many. */
  discard(lane: string, ids?: readonly string[]): Promise<number>
  /** Deletes what waits, and the dead letters; what is under way may still arrive. Resolves with how many. */
  clear(lane: string): Promise<number>
}

export interface QueueService {
  /** Declares a family, in every thread, by the plugin's name. Only during set-up. */
  family(name: string): QueueFamily
}

declare module 'svc/kernel' {
  interface Services {
    queue: QueueService
  }
}
