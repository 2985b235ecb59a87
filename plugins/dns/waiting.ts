/** Pauses and deadlines on the clock of the ports, which a signal ends. */
import type { Clock } from 'svc/kernel'

/** Resolves after `delayMs`; rejects with the reason of the signal when that is aborted first. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const end = () => {
      cancel()
      signal.removeEventListener('abort', end)
      if (signal.aborted) reject(signal.reason)
      else resolve()
    }
    const cancel = clock.after(delayMs, end)
    signal.addEventListener('abort', end, { once: true })
  })
}

/** How long work that was told to end may still take. */
const endingMs = 2000

/**
 * Settles as `work` does. After `timeoutMs`, or when `signal` is aborted, the signal of the work is aborted; work that does not end then is
 * left alone after two seconds.
 */
export async function withDeadline<T>(
  { clock, timeoutMs, signal, what }: { clock: Clock; timeoutMs: number; signal: AbortSignal; what: string },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const controller = new AbortController()
  const { promise: left, reject: leave } = Promise.withResolvers<never>()
  left.catch(() => {})
  let cancelEnding = () => {}
  const end = (reason: unknown) => {
    controller.abort(reason)
    cancelEnding = clock.after(endingMs, () => leave(reason))
  }
  const abort = () => end(signal.reason)
  const cancel = clock.after(timeoutMs, () => end(new Error(`${what} did not answer within ${timeoutMs / 1000} s`)))
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work(controller.signal), left])
  } catch (error) {
    // The reason of the abort says more than the error of the aborted work.
    throw controller.signal.aborted ? controller.signal.reason : error
  } finally {
    cancel()
    cancelEnding()
    signal.removeEventListener('abort', abort)
  }
}
