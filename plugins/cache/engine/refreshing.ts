/** Reads expired answers again in the background: one refresh of an entry at a time, after failures with pauses from 1 s to 30 s. */
import type { Clock, Logger } from 'svc/kernel'
import { Sieve } from '../memory/sieve.ts'

const retryDelayMs = { min: 1000, max: 30_000 } as const
const retriesMax = 4096

/** `read` resolves with whether the answer was read. */
export type Refresh = (id: string, read: () => Promise<boolean>) => void

export function createRefresh(clock: Clock, log: Logger): Refresh {
  const running = new Set<string>()
  /** Answers whose last refresh failed, with the time before which they are not refreshed again. */
  const retries = new Sieve<{ readonly atMs: number; readonly delayMs: number }>({ budgetBytes: retriesMax })
  return (id, read) => {
    if (running.has(id) || (retries.get(id)?.atMs ?? 0) > clock.now()) return
    running.add(id)
    const failed = () => {
      const doubledMs = 2 * (retries.get(id)?.delayMs ?? 0)
      const delayMs = Math.min(Math.max(doubledMs, retryDelayMs.min), retryDelayMs.max)
      retries.set(id, { atMs: clock.now() + delayMs, delayMs }, 1)
    }
    read()
      .then(isRead => {
        if (isRead) retries.delete(id)
        else failed()
      })
      .catch((error: unknown) => {
        failed()
        log.debug({ err: error }, 'an expired answer could not be read again')
      })
      .finally(() => running.delete(id))
  }
}
