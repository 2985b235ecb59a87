/** Reads expired answers again in the background: one refresh of an entry at a time, after failures with pauses from 1 s to 30 s. */
import type { Clock, Logger } from 'svc/kernel'
import type { Variant } from './variant.ts'

const retryDelayMs = { min: 1000, max: 30_000 } as const

/** `read` resolves with whether it was read. */
export type Refresh = (id: string, variant: Variant, read: () => Promise<boolean>) => void

export function createRefresh(clock: Clock, log: Logger): Refresh {
  const running = new Set<string>()
  /** Of answers whose last refresh has failed: no refresh before the time. */
  const retries = new WeakMap<Variant, { readonly atMs: number; readonly delayMs: number }>()
  return (id, variant, read) => {
    if (running.has(id) || (retries.get(variant)?.atMs ?? 0) > clock.now()) return
    running.add(id)
    const failed = () => {
      const doubledMs = 2 * (retries.get(variant)?.delayMs ?? 0)
      const delayMs = Math.min(Math.max(doubledMs, retryDelayMs.min), retryDelayMs.max)
      retries.set(variant, { atMs: clock.now() + delayMs, delayMs })
    }
    read()
      .then(isRead => {
        if (!isRead) failed()
      })
      .catch((error: unknown) => {
        failed()
        log.debug({ err: error }, 'an expired answer could not be read again')
      })
      .finally(() => running.delete(id))
  }
}
