/** A token bucket: so many calls per second on average, and so many at once. */
import type { Clock } from 'svc/kernel'
import type { PurgeBudget } from './api.ts'

export interface TokenBucket {
  /** Resolves when a call may be sent; rejects when `signal` is aborted. */
  take(signal: AbortSignal): Promise<void>
  /** No call before this is over. */
  holdFor(delayMs: number): void
}

export function createTokenBucket({ perSecond, burst }: PurgeBudget, clock: Clock): TokenBucket {
  const nowMs = () => Number(clock.monotonicNs()) / 1e6
  let tokens = burst
  let countedMs = nowMs()
  let heldUntilMs = 0

  /** 0: now. */
  function waitMs(): number {
    const now = nowMs()
    tokens = Math.min(burst, tokens + ((now - countedMs) * perSecond) / 1000)
    countedMs = now
    const forToken = tokens >= 1 ? 0 : ((1 - tokens) / perSecond) * 1000
    return Math.max(forToken, heldUntilMs - now)
  }

  return {
    async take(signal) {
      for (;;) {
        signal.throwIfAborted()
        const delayMs = waitMs()
        if (delayMs <= 0) break
        await pause(clock, Math.ceil(delayMs), signal)
      }
      tokens -= 1
    },
    holdFor(delayMs) {
      heldUntilMs = Math.max(heldUntilMs, nowMs() + delayMs)
    },
  }
}

/** Rejects with the reason of `signal`. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const end = () => {
      cancel()
      reject(signal.reason)
    }
    const cancel = clock.after(delayMs, () => {
      signal.removeEventListener('abort', end)
      resolve()
    })
    signal.addEventListener('abort', end, { once: true })
  })
}
