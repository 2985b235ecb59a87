/** Fake clock and seeded randomness: replacements for ports that a test cannot control. */
import type { Clock, Random } from '../ports.ts'

export interface FakeClock extends Clock {
  /** Advances the time and runs due timers in order, including those that callbacks set within the span. */
  advance(milliseconds: number): Promise<void>
  /** How many timers wait. */
  pending(): number
}

interface Timer {
  readonly atMs: number
  readonly callback: () => void
}

/** A clock that moves only by `advance`. Default start: 2026-01-01T00:00:00Z. */
export function createFakeClock(startMs = Date.UTC(2026, 0, 1)): FakeClock {
  let nowMs = startMs
  const timers = new Set<Timer>()
  const nextUntil = (limitMs: number) => {
    let next: Timer | undefined
    // Strictly less: of timers due at the same time the one that was set first runs first.
    for (const timer of timers) if (timer.atMs <= limitMs && (!next || timer.atMs < next.atMs)) next = timer
    return next
  }
  // Everything that was waiting on promises and the event loop's next turn gets its chance between two timers.
  const settle = () => new Promise<void>(resolve => setImmediate(resolve))
  return {
    now: () => nowMs,
    monotonicNs: () => BigInt(Math.round((nowMs - startMs) * 1e6)),
    after(delayMs, callback) {
      const timer = { atMs: nowMs + delayMs, callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    async advance(milliseconds) {
      const limitMs = nowMs + milliseconds
      await settle()
      for (let timer = nextUntil(limitMs); timer !== undefined; timer = nextUntil(limitMs)) {
        timers.delete(timer)
        nowMs = timer.atMs
        timer.callback()
        await settle()
      }
      nowMs = limitMs
    },
    pending: () => timers.size,
  }
}

export interface SeededRandom extends Random {
  readonly seed: number
  /** An integer in [0, limit). */
  integer(limit: number): number
  /** One of the items; throws RangeError for none. */
  pick<T>(items: readonly T[]): T
}

/** Randomness that the seed (32 bits) decides: splitmix32. Not for anything secret. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0
    let z = state ^ (state >>> 16)
    z = Math.imul(z, 0x21f0aaad)
    z ^= z >>> 15
    z = Math.imul(z, 0x735a2d97)
    return (z ^ (z >>> 15)) >>> 0
  }
  const float = () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53
  return {
    seed,
    float,
    integer: limit => Math.floor(float() * limit),
    pick(items) {
      if (items.length === 0) throw new RangeError('there is nothing to pick from')
      return items[Math.floor(float() * items.length)]
    },
    bytes(size) {
      const bytes = Buffer.allocUnsafe(size)
      for (let i = 0; i < size; i++) bytes[i] = next() >>> 24
      return bytes
    },
  }
}
