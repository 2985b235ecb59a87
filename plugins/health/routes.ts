import type { FastifyPluginCallback, FastifyReply } from 'fastify'
import type { LiveBody, Probes } from './probes.ts'

/** `/svc/health/…` for GET and HEAD, without authentication. */
export function createHealthRoutes(probes: Probes): FastifyPluginCallback {
  const answer = (reply: FastifyReply, body: LiveBody): FastifyReply =>
    reply
      .code(body.ok ? 200 : 503)
      .header('cache-control', 'no-store')
      .send(body)
  return (fastify, _options, done) => {
    fastify.get('/svc/health/live', { config: { operation: 'HealthLive' } }, async (_request, reply) =>
      answer(reply, await probes.live()),
    )
    fastify.get('/svc/health/ready', { config: { operation: 'HealthReady' } }, async (_request, reply) =>
      answer(reply, await probes.ready()),
    )
    fastify.get('/svc/health/cluster', { config: { operation: 'HealthCluster' } }, async (_request, reply) =>
      answer(reply, await probes.cluster()),
    )
    done()
  }
}
