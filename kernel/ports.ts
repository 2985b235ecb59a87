/**
 * Time and randomness, which a test must control. Code takes these from its context; only the
 * implementations behind them touch `Date` and the randomness of `node:crypto`.
 */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Nanoseconds on a clock that never goes back. */
  monotonicNs(): bigint
  /** Calls once after `delayMs`; the timer does not keep the process alive. Returns the cancel function. */
  after(delayMs: number, callback: () => void): () => void
}

export interface Random {
  bytes(size: number): Buffer
  /** A float in [0, 1). */
  float(): number
}

export interface Ports {
  readonly clock: Clock
  readonly random: Random
}
