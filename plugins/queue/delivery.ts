/**
 * Delivers one lane: what waits comes into the window, goes out in batches, and is deleted when the destination has it. A batch that
 * fails goes back into the window, so a crash anywhere only sends again what was not deleted.
 *
 * Pauses are those of the lane: any failure makes the whole lane wait, because most failures mean that the destination is away. Then
 * one batch at a time probes, with the entries that have failed least; the first success ends that. Besides, an entry that
 * failed waits for itself, so that one which always fails costs the others one pause each time that it has its turn.
 */
import { isCatalogError, type Logger, type Ports } from 'svc/kernel'
import type { StorageService } from 'svc/plugins/storage/api'
import { createAcknowledger } from './acknowledger.ts'
import type { Delivery, DeliveryOptions, DeliveryState, QueueEntry } from './api.ts'
import { isPermanent, PermanentDeliveryError, sentenceOf } from './errors.ts'
import type { LanePlace } from './keys.ts'
import { createReader } from './reader.ts'
import { type Held, Window } from './window.ts'

/** How long `stop` lets what is under way end by itself. */
export const stopGraceMs = 3000
/** Pause after the storage could not be read. */
const readRetryMs = 1000

export interface LaneDelivery extends Delivery {
  /** An entry was put, in a commit that is not settled yet. */
  note(key: Buffer): void
  /** Entries with ids below this one have been deleted. */
  discard(below: string): void
}

export interface LaneDeliveryOptions {
  readonly storage: StorageService
  readonly ports: Ports
  readonly log: Logger
  readonly place: LanePlace
  readonly delivery: DeliveryOptions
  /** Makes a dead letter of an entry; resolves when that is durable. */
  bury(entry: Held, reason: string): Promise<void>
  onSent(count: number): void
  onFailedAttempt(): void
  onStopped(): void
}

interface Attempt {
  readonly abort: AbortController
  /** Failures of attempts that began in the same round make one pause. */
  readonly round: number
}

export function createLaneDelivery(options: LaneDeliveryOptions): LaneDelivery {
  const { storage, ports, log, place, bury, onSent, onFailedAttempt, onStopped } = options
  const { clock, random } = ports
  const { send, batchMax, concurrency, timeoutMs, retryFirstMs, retryMaxMs } = withDefaults(options.delivery)
  const window = new Window()
  const reader = createReader(storage, place, window)
  const underWay = new Set<Attempt>()
  let isStopping = false
  let stopped: Promise<void> | undefined
  let onIdle: (() => void) | undefined
  let isReading = false
  let discardedBelow = ''
  /** Failed rounds since the last success, and when the next one may begin. */
  let failures = 0
  let round = 0
  let resumeAtMs = 0
  let cancelTimer: (() => void) | undefined
  let timerAtMs = Number.POSITIVE_INFINITY
  let readResumeAtMs = 0
  const state = { online: true, lastError: '', lastSuccessMs: undefined as number | undefined, sent: 0, failed: 0 }

  const monotonicMs = () => Number(clock.monotonicNs()) / 1e6

  const pauseMs = (attempts: number) =>
    Math.min(retryFirstMs * 2 ** Math.min(attempts - 1, 30), retryMaxMs) * (0.8 + 0.4 * random.float())

  const acknowledger = createAcknowledger({
    storage,
    clock,
    onGone(entries) {
      window.forget(entries)
      pump()
    },
    onFailure(error, retryInMs) {
      log.warn({ err: error, lane: place.lane, retryInMs }, 'delivered entries could not be deleted')
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

  /** Begins whatever may begin now. */
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
      // An entry that always fails must not be the only one that probes.
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
      // What was put in the same turn is read together.
      await new Promise(resolve => setImmediate(resolve))
      while (!isStopping && (await reader.read())) pump()
    } catch (error) {
      if (!isStopping) log.warn({ err: error, lane: place.lane }, 'what waits in a queue could not be read')
      readResumeAtMs = monotonicMs() + readRetryMs
    } finally {
      isReading = false
    }
    pump()
  }

  async function attempt(taken: readonly Held[]): Promise<void> {
    const current: Attempt = { abort: new AbortController(), round }
    underWay.add(current)
    let batch = taken
    try {
      const entries: QueueEntry[] = []
      const present: Held[] = []
      for (const held of taken) {
        const payload = held.payload ?? (await readPayload(storage, held))
        if (payload === undefined) continue
        const { id, key, queuedMs } = held
        entries.push({ id, key, payload, queuedMs })
        present.push(held)
      }
      if (present.length < taken.length) {
        // Deleted meanwhile.
        const gone = taken.filter(held => !present.includes(held))
        window.release(gone.filter(({ key }) => !present.some(held => held.key === key)))
        window.forget(gone)
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
      const settle = (end: () => void) => {
        cancel()
        signal.removeEventListener('abort', onAbort)
        end()
      }
      const onAbort = () => settle(() => reject(signal.reason))
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort)
      // A throw of `send` itself is a rejection, too.
      Promise.resolve()
        .then(() => send(entries, signal))
        .then(
          () => settle(resolve),
          error => settle(() => reject(error)),
        )
    })

  function onSuccess(batch: readonly Held[]): void {
    failures = 0
    resumeAtMs = 0
    state.online = true
    state.lastError = ''
    state.lastSuccessMs = clock.now()
    state.sent += batch.length
    onSent(batch.length)
    window.release(batch)
    acknowledger.add(batch)
  }

  async function onFailure(batch: readonly Held[], { round: begun }: Attempt, error: unknown): Promise<void> {
    // It goes out again when the lane is delivered again.
    if (isStopping) return
    state.failed++
    state.online = false
    state.lastError = sentenceOf(error)
    onFailedAttempt()
    for (const held of batch) held.attempts++
    if (isPermanent(error)) {
      if (batch.length === 1) {
        await giveUp(batch[0]!, state.lastError)
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

  async function giveUp(held: Held, reason: string): Promise<void> {
    try {
      await bury(held, reason)
      window.release([held])
      window.forget([held])
    } catch (error) {
      log.warn({ err: error, lane: place.lane }, 'an entry could not be made a dead letter')
      held.notBeforeMs = monotonicMs() + pauseMs(held.attempts)
      putBack([held])
    }
  }

  function putBack(batch: readonly Held[]): void {
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

  // Begins when control has returned to the caller, who may not be ready for `send` yet.
  setImmediate(pump)

  return {
    note(key) {
      reader.note(key)
      // Nothing else from here: it runs under the commit lock.
      if (!isReading && !isStopping && reader.isWanted && monotonicMs() >= readResumeAtMs) void read()
    },
    discard(below) {
      discardedBelow = below
      window.discard(below)
      pump()
    },
    state(): DeliveryState {
      const { online, lastError, lastSuccessMs, sent, failed } = state
      return { online, lastError, lastSuccessMs, sent, failedAttempts: failed }
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

/** Undefined where the entry has been deleted. */
async function readPayload(storage: StorageService, { recordKey }: Held): Promise<Buffer | undefined> {
  // Got again: after a while the body may lie elsewhere.
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
  return { ...options, batchMax, concurrency, timeoutMs, retryFirstMs, retryMaxMs, send: options.send.bind(options) }
}
