/** The limits of requests to an authority: kept with the account, so that neither a restart nor a changed certificate resets them. */
import { type AccountDocument, ordersMax } from './documents.ts'

const hourMs = 3_600_000
const ordersWindowMs = 3 * hourMs
const failuresPerHourMax = 4

/** When an order for these names may be made, milliseconds since 1970; in the past: now. */
export function allowedMs({ orderedMs, failures }: AccountDocument, domains: readonly string[], nowMs: number): number {
  let untilMs = 0
  const recent = orderedMs.filter(atMs => atMs > nowMs - ordersWindowMs)
  if (recent.length >= ordersMax) untilMs = recent[0]! + ordersWindowMs
  for (const domain of domains) {
    const failed = failures.filter(each => each.domain === domain && each.atMs > nowMs - hourMs)
    if (failed.length >= failuresPerHourMax) untilMs = Math.max(untilMs, failed.at(-failuresPerHourMax)!.atMs + hourMs)
  }
  return untilMs
}

export function withOrder(account: AccountDocument, nowMs: number): AccountDocument {
  const recent = account.orderedMs.filter(atMs => atMs > nowMs - ordersWindowMs)
  return { ...account, orderedMs: [...recent, nowMs].slice(-ordersMax) }
}

export function withFailures(account: AccountDocument, domains: readonly string[], nowMs: number): AccountDocument {
  const recent = account.failures.filter(({ atMs }) => atMs > nowMs - hourMs)
  return { ...account, failures: [...recent, ...domains.map(domain => ({ domain, atMs: nowMs }))].slice(-2000) }
}

const minuteMs = 60_000
const pausesMs = [2, 10, 30, 60, 120, 240, 360, 1440].map(minutes => minutes * minuteMs)

/** The pause after so many failures in a row, 1 and more, a fifth more or less; `chance` is in [0, 1). */
export function pauseMs(attempts: number, chance: number): number {
  const base = pausesMs[Math.min(attempts, pausesMs.length) - 1] ?? pausesMs[0]!
  return Math.round(base * (0.8 + 0.4 * chance))
}
