/**
 * The way of records to one target, in the main thread.
 *
 * | Way | What a record does | Until |
 * |---|---|---|
 * | direct | waits in memory for at most `directMs`, and goes from there | the target fails, is slow, or memory fills |
 * | queued | goes into the queue at once, and from there to the target | the queue is empty, `queuedMsMin` after a failure |
 *
 * Invariants:
 *
 * 1. Records reach the target in the order in which they came: there is a direct way only while the queue is empty.
 * 2. A record leaves memory when the target has it, or when it is in the queue for good; else it is dropped and counted.
 * 3. What a crash can lose has been in memory for about a second: `directMs` of waiting, and the attempt that followed.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { Delivery, QueueEntry, QueueFamily } from 'svc/plugins/queue/api'
import type { AuditMessage, AuditTarget } from './api.ts'

/** How long a record may wait for the direct way, and how long an attempt may take there. */
export const directMs = 500
/** How long records go by the queue after a target has failed or was slow, at least. */
const queuedMsMin = 10_000
/** In memory. Beyond, the newest are dropped. */
export const memoryRecordsMax = 4000
const memoryBytesMax = 16 * 1024 * 1024
/** What the queue takes in one entry, less its request id. */
const recordBytesMax = 1024 * 1024 - 256
const pushRecords = 500
const pushBytes = 8 * 1024 * 1024
/** Pause after the queue could not be written. */
const pushRetryMs = 1000
/** Records of one lane go out in order: all have the same key. */
const entryKey = 'audit'

export interface DeliveryOptions {
  /** Of the lane, the label of metrics: `audit_webhook:_`. */
  readonly id: string
  readonly family: QueueFamily
  readonly clock: Clock
  readonly log: Logger
  /** First part of the keys of messages. */
  readonly node: string
  onSent(count: number): void
  onFailed(): void
  onDropped(count: number): void
}

export interface Connection {
  readonly target: AuditTarget
  readonly queueLimit: number
  /** Of one attempt from the queue. */
  readonly timeoutMs: number
}

export interface TargetDelivery {
  /** Takes them into memory. */
  add(records: readonly AuditMessage[]): void
  /** Delivers from now on. Nothing may be connected. */
  connect(connection: Connection): void
  /** Ends delivery and closes the target. Records may still be added: they wait in memory. */
  disconnect(): Promise<void>
  /** What is in memory goes into the queue, as far as it takes it. While nothing is connected. */
  spill(queueLimit: number): Promise<void>
  readonly isOnline: boolean
  /** In memory and in the queue. */
  pending(): Promise<number>
}

interface Kept extends AuditMessage {
  readonly atMs: number
}

export function createTargetDelivery(options: DeliveryOptions): TargetDelivery {
  const { id, family, clock, log, node, onSent, onFailed, onDropped } = options
  /** Oldest first. */
  const memory: Kept[] = []
  let memoryBytes = 0
  let connection: Connection | undefined
  let queueDelivery: Delivery | undefined
  let running: Promise<void> | undefined
  let isPaused = true
  let isDirect = false
  let directAfterMs = 0
  let isOnline = true
  let endAttempt: (() => void) | undefined
  let endPause: (() => void) | undefined

  const nowMs = () => Number(clock.monotonicNs()) / 1e6

  function noteSuccess(count: number): void {
    onSent(count)
    if (!isOnline) log.info({ target: id }, 'an audit target takes records again')
    isOnline = true
  }

  function noteFailure(error: unknown): void {
    onFailed()
    if (isOnline)
      log.warn({ target: id, reason: sentenceOf(error) }, 'an audit target takes no records: they are queued')
    isOnline = false
  }

  function forget(count: number): void {
    for (const { body } of memory.splice(0, count)) memoryBytes -= body.length
  }

  function goByQueue(): void {
    isDirect = false
    directAfterMs = nowMs() + queuedMsMin
  }

  /** From the queue. */
  async function sendQueued(entries: readonly QueueEntry[], signal: AbortSignal): Promise<void> {
    try {
      await connection!.target.send(
        entries.map(({ payload }) => decodeMessage(payload, node)),
        signal,
      )
    } catch (error) {
      noteFailure(error)
      throw error
    }
    noteSuccess(entries.length)
  }

  /** Resolves when the attempt is over; what was not sent stays in memory. */
  async function sendDirectly({ target }: Connection): Promise<void> {
    const batch = memory.slice(0, target.batchMax ?? 1)
    const controller = new AbortController()
    const { signal } = controller
    const ended = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    endAttempt = () => controller.abort(new Error('The attempt was given up.'))
    const cancel = clock.after(directMs, endAttempt)
    try {
      await Promise.race([target.send(batch, signal), ended])
      forget(batch.length)
      noteSuccess(batch.length)
      const [oldest] = memory
      if (oldest !== undefined && nowMs() - oldest.atMs > directMs) goByQueue()
    } catch (error) {
      // A slow target has not failed; by the queue it has more time.
      if (!signal.aborted) noteFailure(error)
      goByQueue()
    } finally {
      cancel()
      endAttempt = undefined
    }
  }

  /** False when the queue could not be written. */
  async function queueUp(limit: number): Promise<boolean> {
    let count = 0
    for (let bytes = 0; count < memory.length && count < pushRecords && bytes < pushBytes; count++) {
      bytes += memory[count]!.body.length
    }
    const entries = memory.slice(0, count).map(message => ({ key: entryKey, payload: encodeMessage(message) }))
    try {
      const taken = await family.push(id, entries, limit)
      forget(count)
      if (taken < count) onDropped(count - taken)
      return true
    } catch (error) {
      log.warn({ err: error, target: id }, 'audit records could not be queued')
      return false
    }
  }

  async function run(): Promise<void> {
    while (memory.length > 0 && !isPaused) {
      if (!isDirect && nowMs() >= directAfterMs) isDirect = (await family.status(id)).pending === 0
      if (isPaused) return
      if (isDirect) await sendDirectly(connection!)
      else if (!(await queueUp(connection!.queueLimit))) await pause(pushRetryMs)
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
    if (running !== undefined || isPaused || memory.length === 0) return
    running = run()
      .catch(error => {
        log.error({ err: error, target: id }, 'delivery of audit records failed')
        goByQueue()
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
      if (dropped > 0) onDropped(dropped)
      // More than half: the target is slower than what comes.
      if (isDirect && (memory.length > memoryRecordsMax / 2 || memoryBytes > memoryBytesMax / 2)) goByQueue()
      wake()
    },
    connect(made) {
      connection = made
      const { batchMax = 1 } = made.target
      queueDelivery = family.deliver(id, { batchMax, timeoutMs: made.timeoutMs, send: sendQueued })
      isPaused = false
      isDirect = false
      directAfterMs = 0
      isOnline = true
      wake()
    },
    async disconnect() {
      isPaused = true
      endAttempt?.()
      endPause?.()
      await running
      await queueDelivery?.stop()
      queueDelivery = undefined
      const target = connection?.target
      connection = undefined
      await target?.close()
    },
    async spill(queueLimit) {
      while (memory.length > 0) {
        if (await queueUp(queueLimit)) continue
        onDropped(memory.length)
        forget(memory.length)
      }
    },
    get isOnline() {
      return isOnline
    },
    pending: async () => memory.length + (await family.status(id)).pending,
  }
}

/** An entry of the queue: the request id, a newline, the record. */
function encodeMessage({ key, body }: AuditMessage): Buffer {
  return Buffer.concat([Buffer.from(`${key.slice(key.indexOf('/') + 1)}\n`), body])
}

function decodeMessage(payload: Buffer, node: string): AuditMessage {
  const end = payload.indexOf(10)
  return { key: `${node}/${payload.toString('utf8', 0, end)}`, body: payload.subarray(end + 1) }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : 'The delivery failed.'
}
