/**
 * Background workers: the mechanism for repeated work beside requests. A worker does one unit of work at a time,
 * reports whether there is more, pauses if there is not, and backs off after failures. The kernel lists all of them.
 */
import type { Logger } from './log.ts'
import type { Clock } from './ports.ts'

export interface BackgroundWorker {
  /** Unique within its plugin, kebab-case. */
  readonly name: string
  /** Default `main`: one thread does it for all. */
  readonly runsIn?: 'main' | 'every-thread'
  /** Pause after a unit of work that found nothing to do. */
  readonly pauseMs: number
  /** Longest pause after failures, which begin at one second and double. Default one minute. */
  readonly backoffMsMax?: number
  /**
   * One unit of work, short enough that a stop can wait for it; a longer one watches the signal. Resolves with `more` to be
   * called again at once, `idle` to pause, `done` to end for good. A throw is logged and retried after a growing pause.
   */
  work(signal: AbortSignal): Promise<'more' | 'idle' | 'done'>
  /** One line for the operator: progress, backlog. */
  status?(): string
}

export interface WorkerStatus {
  readonly plugin: string
  readonly name: string
  readonly state: 'working' | 'pausing' | 'failing' | 'done' | 'stopped'
  readonly units: number
  readonly failures: number
  /** Message of the last failure, if the last unit failed. */
  readonly error: string | undefined
  readonly status: string | undefined
}

export interface RunningWorker {
  status(): WorkerStatus
  /** Ends the pause at once, or asks the unit at work to end; resolves when it has. Idempotent. */
  stop(): Promise<void>
}

const FIRST_BACKOFF_MS = 1000

/** Starts a worker: the first unit of work begins after control has returned to the event loop. */
export function runWorker(worker: BackgroundWorker, plugin: string, clock: Clock, log: Logger): RunningWorker {
  const abort = new AbortController()
  let state: WorkerStatus['state'] = 'pausing'
  let units = 0
  let failures = 0
  let error: string | undefined
  let backoffMs = FIRST_BACKOFF_MS

  const pause = (delayMs: number) =>
    new Promise<void>(resolve => {
      if (abort.signal.aborted) return resolve()
      const cancel = clock.after(delayMs, finish)
      function finish() {
        abort.signal.removeEventListener('abort', finish)
        cancel()
        resolve()
      }
      abort.signal.addEventListener('abort', finish)
    })

  const loop = async () => {
    await new Promise(resolve => setImmediate(resolve))
    while (!abort.signal.aborted) {
      let delayMs = 0
      try {
        state = 'working'
        const result = await worker.work(abort.signal)
        units++
        error = undefined
        backoffMs = FIRST_BACKOFF_MS
        if (result === 'done') {
          state = 'done'
          return
        }
        if (result === 'idle') delayMs = worker.pauseMs
        state = 'pausing'
      } catch (cause) {
        if (abort.signal.aborted) break
        failures++
        error = cause instanceof Error ? cause.message : String(cause)
        state = 'failing'
        delayMs = backoffMs
        backoffMs = Math.min(backoffMs * 2, worker.backoffMsMax ?? 60_000)
        log.warn({ worker: worker.name, err: cause, retryInMs: delayMs }, 'background worker failed')
      }
      // Even a worker that always has more leaves room for requests between two units.
      if (delayMs === 0) await new Promise(resolve => setImmediate(resolve))
      else await pause(delayMs)
    }
    state = 'stopped'
  }
  const ended = loop()

  return {
    status: () => ({ plugin, name: worker.name, state, units, failures, error, status: worker.status?.() }),
    stop() {
      abort.abort()
      return ended
    },
  }
}
