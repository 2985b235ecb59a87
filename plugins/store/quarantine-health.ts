import type { HealthState } from 'svc/plugins/health/api'

/** The node stays healthy, so that one damaged document does not make all others unavailable. */
export function checkQuarantine(counts: Readonly<Record<string, number>>): HealthState {
  const count = Object.values(counts).reduce((sum, one) => sum + one, 0)
  if (count === 0) return { ok: true }
  return { ok: true, detail: `degraded: ${count} ${count === 1 ? 'document' : 'documents'} cannot be read` }
}
