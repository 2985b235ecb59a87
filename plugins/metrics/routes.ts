import type { FastifyPluginCallback } from 'fastify'
import { metricsErrors } from './errors.ts'
import type { MetricsRegistry } from './registry.ts'

/** `/svc/metrics/v1/…`. `authorize` rejects with `access_denied`. */
export function createMetricsRoutes(
  registry: MetricsRegistry,
  authorize: (authorization: string | undefined) => Promise<void>,
): FastifyPluginCallback {
  return (fastify, _options, done) => {
    fastify.addHook('onRequest', request => authorize(request.headers.authorization))
    fastify.get('/svc/metrics/v1/node', { config: { operation: 'MetricsNode' } }, async (_request, reply) => {
      reply.type(registry.contentType)
      return registry.scrape()
    })
    for (const [kind, operation] of [
      ['cluster', 'MetricsCluster'],
      ['bucket', 'MetricsBucket'],
    ]) {
      fastify.get(`/svc/metrics/v1/${kind}`, { config: { operation } }, async () => {
        throw metricsErrors.not_implemented()
      })
    }
    done()
  }
}
