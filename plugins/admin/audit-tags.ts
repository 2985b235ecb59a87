/** Tags of the audit record of a request. */
import type { FastifyRequest } from 'fastify'

/** Of a request that changes nothing although its method may: `searchAudit` leaves it out of the changes. */
export const changedNothing = { changes: 'none' } as const

export function note(request: FastifyRequest, tags: Readonly<Record<string, string>>): void {
  request.facts = { ...request.facts, tags: { ...request.facts?.tags, ...tags } }
}
