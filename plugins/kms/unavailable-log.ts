/**
 * Logs why keys are unavailable. Clients are told only to retry, so the log is where the operator finds the reason. Each reason is logged
 * at most once a minute, because thousands of requests may fail for the same one.
 */
import type { CatalogError, Clock } from 'svc/kernel'

const intervalMs = 60_000
/** Bounds the memory: reasons have key ids, and those in corrupt wrapped keys are arbitrary. */
const reasonsMax = 64

export interface UnavailableLogOptions {
  readonly clock: Clock
  warn(reason: string): void
}

/** Logs each reason at most once a minute, and at most `reasonsMax` reasons a minute. */
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
