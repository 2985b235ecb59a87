/**
 * Tells the operator why keys cannot be had. Clients learn only to try again later, so each reason is in the log; but not with each
 * request, of which there may be thousands.
 */
import type { CatalogError, Clock } from 'svc/kernel'

const intervalMs = 60_000
/** Reasons name keys, and those in sealed keys may be anything. */
const reasonsMax = 64

export interface UnavailableLogOptions {
  readonly clock: Clock
  warn(reason: string): void
}

/** Each reason once a minute. Of more reasons in a minute than are remembered, the first ones. */
export function createUnavailableLog({ clock, warn }: UnavailableLogOptions): (error: CatalogError) => void {
  const toldMs = new Map<string, number>()
  return ({ message }) => {
    const nowMs = clock.now()
    const told = toldMs.get(message)
    if (told !== undefined && nowMs - told < intervalMs) return
    if (told === undefined && toldMs.size >= reasonsMax) {
      for (const [reason, atMs] of toldMs) if (nowMs - atMs >= intervalMs) toldMs.delete(reason)
      if (toldMs.size >= reasonsMax) return
    }
    toldMs.set(message, nowMs)
    warn(message)
  }
}
