/** Work that goes on when the server is there again. */
import { Problem } from './problem.ts'

const pausesMs = [1000, 2000, 4000, 8000]

/**
 * Tries again what the server could not do just now, a few times, and what did not reach it, until it does; not once the signal is aborted.
 * `onUnreachable` is called each time before the pause, and ends it all by throwing.
 */
export async function withRetries<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  onUnreachable: () => Promise<void>,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      if (error.status === 0) await onUnreachable()
      else if (!isPassing(error) || tries >= pausesMs.length) throw error
      if (!signal.aborted) await pause(pausesMs[Math.min(tries, pausesMs.length - 1)]!, signal)
      if (signal.aborted) throw error
    }
  }
}

/** What the server does not have (501) it will not have in a few seconds. */
const isPassing = ({ status }: Problem): boolean => status === 429 || (status >= 500 && status !== 501)

/** Shorter where the browser notices that it has a connection again, and where the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const ended = new AbortController()
    const end = () => {
      ended.abort()
      resolve()
    }
    const timer = setTimeout(end, ms)
    ended.signal.addEventListener('abort', () => clearTimeout(timer))
    signal.addEventListener('abort', end, { signal: ended.signal })
    addEventListener('online', end, { signal: ended.signal })
  })
}
