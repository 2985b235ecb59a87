/** When a failed request is sent again: one policy for S3 and the Admin API. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpAnswer } from './messages.ts'

export interface RetryOptions {
  /** Attempts of a request, those during a restart of the server not counted. */
  readonly attemptCountMax: number
  /** After the attempt of this number; from 1. */
  pauseMsAfter(attemptNumber: number): number
}

/** A failed attempt. */
export interface Failure {
  /** Thrown where the request is not sent again. */
  readonly error: unknown
  /** Whether another attempt is safe, and may do better. */
  readonly mayRetry: boolean
  /** The server is stopping or starting, so that only time helps. */
  readonly isRestart: boolean
  /** The shortest pause that the server asks for. */
  readonly pauseMsMin?: number
}

/** Retries of all connections to one server. */
export interface Retries {
  /** A request has been answered before: the server was there. */
  readonly hasAnswered: boolean
  /** The server has answered a request, or begun to; `isRestart`: that it stops or starts. */
  answered(isRestart?: boolean): void
  /** Begins one request. The function resolves when it may be sent again, and throws its error otherwise. */
  begin(): (failure: Failure, signal?: AbortSignal) => Promise<void>
}

/** A stop may take 30 s (SVC_STOP_TIMEOUT), and a start follows it. */
const restartMsMax = 60_000
const restartPauseMsFirst = 100
const restartPauseMsMax = 1000

export function createRetries({ attemptCountMax, pauseMsAfter }: RetryOptions): Retries {
  let hasAnswered = false
  /** When the first request failed because of a restart; until the server answers. Thus many requests do not wait one after the other. */
  let restartSinceMs: number | undefined
  return {
    get hasAnswered() {
      return hasAnswered
    },
    answered(isRestart = false) {
      hasAnswered = true
      if (!isRestart) restartSinceMs = undefined
    },
    begin() {
      let attemptCount = 0
      let restartCount = 0
      /** First failure of this request: others may be answered while a stopping server refuses new ones. */
      let ownSinceMs: number | undefined
      return async ({ error, mayRetry, isRestart, pauseMsMin = 0 }, signal) => {
        if (!mayRetry) throw error
        let backOffMs: number
        if (isRestart) {
          const nowMs = performance.now()
          restartSinceMs ??= nowMs
          ownSinceMs ??= nowMs
          if (nowMs - Math.min(restartSinceMs, ownSinceMs) >= restartMsMax) throw error
          backOffMs = Math.min(restartPauseMsFirst * 2 ** restartCount++, restartPauseMsMax)
        } else {
          if (++attemptCount >= attemptCountMax) throw error
          backOffMs = pauseMsAfter(attemptCount)
        }
        // Clients that failed together do not come back together.
        await sleep(Math.max(pauseMsMin, backOffMs * (0.5 + Math.random() / 2)), undefined, { signal })
      }
    },
  }
}

/** Whether svc answers that it stops or starts. An answer to HEAD has no body, but closes the connection. */
export function tellsRestart({ status, headers, body }: HttpAnswer, message: string): boolean {
  if (status !== 503) return false
  return body.length === 0
    ? headers.connection?.toLowerCase() === 'close'
    : /^The server is (stopping|starting)\b/.test(message)
}
