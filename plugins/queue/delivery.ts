/**
 * Delivers one queue. It loads waiting entries into memory (window.ts), sends them in batches, and deletes them after the destination has
 * accepted them. Entries with the same key are sent in order. After a temporary failure the entries of the batch go back to the window.
 * After a permanent failure a batch of one entry becomes a dead letter, and each entry of a larger batch is sent again in a batch of its
 * own. After a crash the entries that were not deleted are sent again, so the destination may get an entry twice.
 *
 * A temporary failure pauses the whole queue, because it usually means that the destination is down. After the pause, one batch at a time
 * is sent as a probe, until a batch succeeds. The probe has the entries with the fewest failures, because an entry that always fails must
 * not be the only probe. Each entry that failed also waits on its own, with a growing pause, so that an entry that always fails delays the
 * others once for each of its attempts.
 */
import { isCatalogError, type Logger, type Ports } from 'svc/kernel'
import type { StorageService } from 'svc/plugins/storage/api'
import { createAcknowledger } from './acknowledger.ts'
import type { Delivery, DeliveryOptions, QueueEntry } from './api.ts'
import { isPermanent, PermanentDeliveryError, sentenceOf } from './errors.ts'
import type { QueuePlace } from './keys.ts'
import type { QueueCounters } from './metrics.ts'
import { createReader } from './reader.ts'
import { type LoadedEntry, Window } from './window.ts'

/** How long `stop` waits for attempts to end by themselves. */
export const stopGraceMs = 3000
/** Pause after a failed read of the storage. */
const readRetryMs = 1000

export interface QueueDelivery extends Delivery {
  /** An entry was put by a commit that is not durable yet. */
  onPut(key: Buffer): void
  /** Entries with ids below this one have been deleted. */
  discard(below: string): void
}

export interface QueueDeliveryOptions {
  readonly storage: StorageService
  readonly ports: Ports
  readonly log: Logger
  readonly place: QueuePlace
  readonly delivery: DeliveryOptions
  /** Turns an entry into a dead letter. Resolves when that is durable. */
  deadLetter(entry: LoadedEntry, reason: string): Promise<void>
  readonly counters: Pick<QueueCounters, 'onSent' | 'onFailedAttempt'>
  onStopped(): void
}

interface Attempt {
  readonly abort: AbortController
  /** Attempts that began in the same round and failed cause one pause, not one each. */
  readonly round: number
}

export function createQueueDelivery(options: QueueDeliveryOptions): QueueDelivery {
  const { storage, ports, log, place, deadLetter, counters, onStopped } = options
  const { clock, random } = ports
  const { send, onSent, onFailed, batchMax, concurrency, timeoutMs, retryFirstMs, retryMaxMs } = withDefaults(
    options.delivery,
  )
  const window = new Window()
  const reader = createReader(storage, place, window)
  const underWay = new Set<Attempt>()
  let isStopping = false
  let stopped: Promise<void> | undefined
  let onIdle: (() => void) | undefined
  let isReading = false
  let discardedBelow = ''
  /** Failed rounds since the last success. */
  let failures = 0
  /** Number of the current round. */
  let round = 0
  /** When the next round may begin. */
  let resumeAtMs = 0
  let cancelTimer: (() => void) | undefined
  let timerAtMs = Number.POSITIVE_INFINITY
  let readResumeAtMs = 0

  const monotonicMs = () => Number(clock.monotonicNs()) / 1e6

  const pauseMs = (attempts: number) =>
    Math.min(retryFirstMs * 2 ** Math.min(attempts - 1, 30), retryMaxMs) * (0.8 + 0.4 * random.float())

  const acknowledger = createAcknowledger({
    storage,
    clock,
    onDeleted(entries) {
      window.forget(entries)
      pump()
    },
    onFailure(error, retryInMs) {
      log.warn({ err: error, queue: place.queue, retryInMs }, 'delivered entries could not be deleted')
    },
  })

  const wakeAt = (atMs: number, nowMs: number): void => {
    if (atMs >= timerAtMs) return
    cancelTimer?.()
    timerAtMs = atMs
    cancelTimer = clock.after(Math.max(1, Math.ceil(atMs - nowMs)), () => {
      timerAtMs = Number.POSITIVE_INFINITY
      cancelTimer = undefined
      pump()
    })
  }

  /** Starts every read and attempt that may start now. */
  function pump(): void {
    if (isStopping) return
    const nowMs = monotonicMs()
    if (!isReading && reader.isWanted) {
      if (nowMs >= readResumeAtMs) void read()
      else wakeAt(readResumeAtMs, nowMs)
    }
    if (!window.hasWaiting) return
    if (nowMs < resumeAtMs) {
      wakeAt(resumeAtMs, nowMs)
      return
    }
    while (underWay.size < (failures > 0 ? 1 : concurrency)) {
      // An entry that always fails must not be the only probe.
      const attemptsMax = failures > 0 ? window.fewestAttempts(nowMs) : undefined
      const batch = window.take(nowMs, batchMax, attemptsMax)
      if (batch.length === 0) {
        const nextMs = window.nextMs(nowMs)
        if (nextMs !== Number.POSITIVE_INFINITY) wakeAt(nextMs, nowMs)
        return
      }
      void attempt(batch)
    }
  }

  async function read(): Promise<void> {
    isReading = true
    try {
      // Entries that were put in the same turn are read together.
      await new Promise(resolve => setImmediate(resolve))
      while (!isStopping && (await reader.read())) pump()
    } catch (error) {
      if (!isStopping) log.warn({ err: error, queue: place.queue }, 'the entries of a queue could not be read')
      readResumeAtMs = monotonicMs() + readRetryMs
    } finally {
      isReading = false
    }
    pump()
  }

  async function attempt(taken: readonly LoadedEntry[]): Promise<void> {
    const current: Attempt = { abort: new AbortController(), round }
    underWay.add(current)
    let batch = taken
    try {
      const entries: QueueEntry[] = []
      const present: LoadedEntry[] = []
      for (const held of taken) {
        const payload = held.payload ?? (await readPayload(storage, held))
        if (payload === undefined) continue
        const { id, key, queuedMs } = held
        entries.push({ id, key, payload, queuedMs })
        present.push(held)
      }
      if (present.length < taken.length) {
        const deleted = taken.filter(held => !present.includes(held))
        window.release(deleted.filter(({ key }) => !present.some(held => held.key === key)))
        window.forget(deleted)
        batch = present
      }
      if (batch.length > 0) {
        await sendInTime(entries, current.abort)
        onSuccess(batch)
      }
    } catch (error) {
      await onFailure(batch, current, error)
    } finally {
      underWay.delete(current)
    }
    if (underWay.size === 0) onIdle?.()
    pump()
  }

  const sendInTime = (entries: readonly QueueEntry[], abort: AbortController): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      const { signal } = abort
      const cancel = clock.after(timeoutMs, () => {
        abort.abort(new Error(`There was no answer within ${timeoutMs} ms.`))
      })
      const barrier = (end: () => void) => {
        cancel()
        signal.removeEventListener('abort', onAbort)
        end()
      }
      const onAbort = () => barrier(() => reject(signal.reason))
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort)
      // If `send` throws instead of rejecting, that counts as a rejection.
      Promise.resolve()
        .then(() => send(entries, signal))
        .then(
          () => barrier(resolve),
          error => barrier(() => reject(error)),
        )
    })

  function onSuccess(batch: readonly LoadedEntry[]): void {
    failures = 0
    resumeAtMs = 0
    counters.onSent(batch.length)
    onSent(batch.length)
    window.release(batch)
    acknowledger.add(batch)
  }

  async function onFailure(batch: readonly LoadedEntry[], { round: begun }: Attempt, error: unknown): Promise<void> {
    // The entries stay in the queue; its next delivery sends them again.
    if (isStopping) return
    const reason = sentenceOf(error)
    counters.onFailedAttempt()
    onFailed(reason)
    for (const held of batch) held.attempts++
    if (isPermanent(error)) {
      if (batch.length === 1) {
        await moveToDeadLetters(batch[0]!, reason)
        return
      }
      for (const held of batch) held.isAlone = true
    } else {
      const nowMs = monotonicMs()
      if (begun === round) {
        round++
        failures++
        resumeAtMs = nowMs + pauseMs(failures)
      }
      for (const held of batch) held.notBeforeMs = Math.max(resumeAtMs, nowMs + pauseMs(held.attempts))
    }
    putBack(batch)
  }

  async function moveToDeadLetters(held: LoadedEntry, reason: string): Promise<void> {
    try {
      await deadLetter(held, reason)
      window.release([held])
      window.forget([held])
    } catch (error) {
      log.warn({ err: error, queue: place.queue }, 'an entry could not be made a dead letter')
      held.notBeforeMs = monotonicMs() + pauseMs(held.attempts)
      putBack([held])
    }
  }

  function putBack(batch: readonly LoadedEntry[]): void {
    window.putBack(batch)
    if (discardedBelow !== '') window.discard(discardedBelow)
  }

  const stop = async (): Promise<void> => {
    isStopping = true
    cancelTimer?.()
    if (underWay.size > 0) {
      const idle = new Promise<void>(resolve => {
        onIdle = resolve
      })
      const cancel = clock.after(stopGraceMs, () => {
        for (const { abort } of underWay) abort.abort(new Error('The delivery was stopped.'))
      })
      await idle
      cancel()
    }
    await acknowledger.stop()
    onStopped()
  }

  // The delivery starts in a later turn of the event loop, because the caller's `send` may not be ready yet.
  setImmediate(pump)

  return {
    onPut(key) {
      reader.onPut(key)
      // Only the reader is started here, because `onPut` runs under the commit lock.
      if (!isReading && !isStopping && reader.isWanted && monotonicMs() >= readResumeAtMs) void read()
    },
    discard(below) {
      discardedBelow = below
      window.discard(below)
      pump()
    },
    retryNow() {
      resumeAtMs = 0
      window.makeReady()
      pump()
    },
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

/** Returns undefined if the entry was deleted. */
async function readPayload(storage: StorageService, { recordKey }: LoadedEntry): Promise<Buffer | undefined> {
  // Reads the record again, because compaction may have moved its body.
  const record = await storage.get(recordKey)
  if (record?.body === undefined) return undefined
  try {
    return await storage.readBody(record.body)
  } catch (error) {
    if (!isCatalogError(error) || error.code !== 'corrupt') throw error
    throw new PermanentDeliveryError('The stored payload is damaged.', { cause: error })
  }
}

function withDefaults(options: DeliveryOptions): Required<DeliveryOptions> {
  const { batchMax = 1, concurrency = 1, timeoutMs = 30_000, retryFirstMs = 1000, retryMaxMs = 60_000 } = options
  for (const [name, value] of Object.entries({ batchMax, concurrency, timeoutMs, retryFirstMs, retryMaxMs })) {
    if (!Number.isInteger(value) || value < 1) throw new RangeError(`queue: ${name} is a whole number from 1 on`)
  }
  const { onSent = () => undefined, onFailed = () => undefined } = options
  const send = options.send.bind(options)
  return { send, onSent, onFailed, batchMax, concurrency, timeoutMs, retryFirstMs, retryMaxMs }
}
