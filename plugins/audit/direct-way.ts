/**
 * Sends audit records to one target. While the target keeps up, they go directly from memory; otherwise they go through the target's
 * queue. The code runs in the main thread. Before `open` and after `close`, records stay in memory. The two ways:
 *
 * | Way | Path of a record | Ends when |
 * |---|---|---|
 * | direct | stays in memory until it is sent from there | an attempt fails or takes longer than `directMs`, a record has waited longer than `directMs`, or memory is half full |
 * | queued | is put into the queue at once | the queue is empty, and `queuedMsMin` have passed since the direct way last ended |
 *
 * Invariants:
 *
 * 1. Records reach the target in their original order: the direct way begins only if the queue is empty. The records of an attempt that
 *    was ended may reach the target twice, the second time through the queue.
 * 2. A record leaves memory only after the target has accepted it, the queue has stored it, or it was dropped. Every dropped record is
 *    counted. A record is dropped if memory or the queue is full, if the record is too large, or if `moveToQueue` cannot store it.
 * 3. A crash loses the records in memory. A record stays there for at most about one second: `directMs` of waiting, then one attempt of
 *    at most `directMs`. It stays longer if the queue cannot store records, and before `open`.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { DirectWay, TargetDelivery } from 'svc/plugins/delivery/api'
import { type QueueEntry, type QueueTopic, sentenceOf } from 'svc/plugins/queue/api'
import type { AuditMessage, AuditTarget } from './api.ts'

/** Maximum time for which a record waits in memory on the direct way, and maximum time of one attempt on it. */
export const directMs = 500
/** Minimum time for which records go through the queue after the target failed or was slow. */
const queuedMsMin = 10_000
/** Maximum number of records in memory. Records that arrive when it is reached are dropped. */
export const memoryRecordsMax = 4000
const memoryBytesMax = 16 * 1024 * 1024
/** Maximum size of a record: the maximum size of a queue entry, minus room for the request id. */
const recordBytesMax = 1024 * 1024 - 256
const pushRecords = 500
const pushBytes = 8 * 1024 * 1024
/** Pause after a failed write to the queue. */
const pushRetryMs = 1000
/** All records of a queue have the same key, so they are delivered in order. */
const entryKey = 'audit'

export interface DirectWayOptions {
  readonly topic: QueueTopic
  readonly clock: Clock
  readonly log: Logger
  onDropped(target: string, count: number): void
}

export interface AuditDirectWay extends DirectWay {
  /** Takes records into memory. */
  add(records: readonly AuditMessage[]): void
}

interface Kept extends AuditMessage {
  readonly atMs: number
}

export function createDirectWay(delivery: TargetDelivery<AuditTarget>, options: DirectWayOptions): AuditDirectWay {
  const { id } = delivery
  const { topic, clock, log, onDropped } = options
  /** Oldest first. */
  const memory: Kept[] = []
  let memoryBytes = 0
  let running: Promise<void> | undefined
  let isOpen = false
  let isDirect = false
  let directAfterMs = 0
  let endAttempt: (() => void) | undefined
  let endPause: (() => void) | undefined

  const nowMs = () => Number(clock.monotonicNs()) / 1e6

  function forget(count: number): void {
    for (const { body } of memory.splice(0, count)) memoryBytes -= body.length
  }

  function useQueue(): void {
    isDirect = false
    directAfterMs = nowMs() + queuedMsMin
  }

  /** Resolves when the attempt is over. Records that were not sent stay in memory. */
  async function sendDirectly(target: AuditTarget): Promise<void> {
    const batch = memory.slice(0, target.batchMax ?? 1)
    const controller = new AbortController()
    const { signal } = controller
    const ended = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    endAttempt = () => controller.abort(new Error('The attempt was ended.'))
    const cancel = clock.after(directMs, endAttempt)
    try {
      await Promise.race([target.send(batch, signal), ended])
      forget(batch.length)
      delivery.onSent(batch.length)
      const [oldest] = memory
      if (oldest !== undefined && nowMs() - oldest.atMs > directMs) useQueue()
    } catch (error) {
      // A slow target has not failed. The queue gives it more time for each attempt.
      if (!signal.aborted) delivery.onFailed(sentenceOf(error))
      useQueue()
    } finally {
      cancel()
      endAttempt = undefined
    }
  }

  /** Moves the oldest records into the queue. Returns false if that failed. */
  async function push(): Promise<boolean> {
    let count = 0
    for (let bytes = 0; count < memory.length && count < pushRecords && bytes < pushBytes; count++) {
      bytes += memory[count]!.body.length
    }
    const entries = memory.slice(0, count).map(message => ({ key: entryKey, payload: encodeMessage(message) }))
    try {
      const taken = await topic.push(id, entries, delivery.queueLimit)
      forget(count)
      if (taken < count) onDropped(id, count - taken)
      return true
    } catch (error) {
      log.warn({ err: error, target: id }, 'audit records could not be queued')
      return false
    }
  }

  async function run(): Promise<void> {
    while (memory.length > 0 && isOpen) {
      if (!isDirect && nowMs() >= directAfterMs) isDirect = (await topic.status(id)).pending === 0
      if (!isOpen) return
      if (isDirect) await sendDirectly(delivery.target!)
      else if (!(await push())) await pause(pushRetryMs)
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const cancel = clock.after(ms, resolve)
      endPause = () => {
        cancel()
        resolve()
      }
    })
  }

  function wake(): void {
    if (running !== undefined || !isOpen || memory.length === 0) return
    running = run()
      .catch(error => {
        log.error({ err: error, target: id }, 'the delivery of audit records failed')
        useQueue()
      })
      .finally(() => {
        running = undefined
        wake()
      })
  }

  return {
    add(records) {
      const atMs = nowMs()
      let dropped = 0
      for (const { key, body } of records) {
        const isTooMuch = memory.length >= memoryRecordsMax || memoryBytes + body.length > memoryBytesMax
        if (isTooMuch || body.length > recordBytesMax) dropped++
        else {
          memory.push({ key, body, atMs })
          memoryBytes += body.length
        }
      }
      if (dropped > 0) onDropped(id, dropped)
      // Memory is half full: the target is too slow for these records.
      if (isDirect && (memory.length > memoryRecordsMax / 2 || memoryBytes > memoryBytesMax / 2)) useQueue()
      wake()
    },
    open() {
      isOpen = true
      isDirect = false
      directAfterMs = 0
      wake()
    },
    async close() {
      isOpen = false
      endAttempt?.()
      endPause?.()
      await running
    },
    async moveToQueue() {
      while (memory.length > 0) {
        if (await push()) continue
        onDropped(id, memory.length)
        forget(memory.length)
      }
    },
    get pending() {
      return memory.length
    },
  }
}

/** An entry of the queue: the request id, a newline, the record. */
function encodeMessage({ key, body }: AuditMessage): Buffer {
  return Buffer.concat([Buffer.from(`${key.slice(key.indexOf('/') + 1)}\n`), body])
}

export function decodeMessage({ payload }: QueueEntry, node: string): AuditMessage {
  const end = payload.indexOf(10)
  return { key: `${node}/${payload.toString('utf8', 0, end)}`, body: payload.subarray(end + 1) }
}
