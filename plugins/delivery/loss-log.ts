/** Counts messages that a target loses, in a metric and in the log: for each target at most once a minute. */
import type { Clock, Logger } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'

const everyMs = 60_000

export interface LossLog {
  add(target: string, count: number): void
  /** Since the start, in this thread. */
  count(target: string): number
}

export interface LossLogOptions {
  /** With the label `target`. */
  readonly counter: ReturnType<MetricsService['counter']>
  readonly clock: Clock
  readonly log: Logger
  /** Message of the log line. */
  readonly message: string
}

export function createLossLog({ counter, clock, log, message }: LossLogOptions): LossLog {
  const losses = new Map<string, { count: number; loggedCount: number; loggedMs: number }>()
  return {
    add(target, count) {
      counter.inc({ target }, count)
      const nowMs = Number(clock.monotonicNs()) / 1e6
      const loss = losses.get(target) ?? { count: 0, loggedCount: 0, loggedMs: Number.NEGATIVE_INFINITY }
      losses.set(target, loss)
      loss.count += count
      if (nowMs - loss.loggedMs < everyMs) return
      log.warn({ target, count: loss.count - loss.loggedCount }, message)
      loss.loggedCount = loss.count
      loss.loggedMs = nowMs
    },
    count: target => losses.get(target)?.count ?? 0,
  }
}
