import type { HealthState } from 'svc/plugins/health/api'

/** The node goes on serving: nobody is helped when one damaged document takes all of them away. */
export function checkQuarantine(counts: Readonly<Record<string, number>>): HealthState {
  const count = Object.values(counts).reduce((sum, one) => sum + one, 0)
  if (count === 0) return { ok: true }
  return { ok: true, detail: `degraded: ${count} ${count === 1 ? 'document' : 'documents'} cannot be read` }
}
