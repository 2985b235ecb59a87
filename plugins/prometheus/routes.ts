import type { FastifyPluginCallback } from 'fastify'
import type { Identity } from 'svc/plugins/iam/api'
import type { MetricsService } from 'svc/plugins/metrics/api'
import { prometheusErrors } from './errors.ts'

/** `/svc/metrics/v1/…`. `authorize` rejects with `access_denied`. */
export function createMetricsRoutes(
  metrics: MetricsService,
  authorize: (authorization: string | undefined) => Promise<Identity | undefined>,
): FastifyPluginCallback {
  return (fastify, _options, done) => {
    fastify.addHook('onRequest', async request => {
      request.identity = await authorize(request.headers.authorization)
    })
    fastify.get('/svc/metrics/v1/node', { config: { operation: 'MetricsNode' } }, async (_request, reply) => {
      reply.type(metrics.contentType)
      return metrics.scrape()
    })
    for (const [kind, operation] of [
      ['cluster', 'MetricsCluster'],
      ['bucket', 'MetricsBucket'],
    ]) {
      fastify.get(`/svc/metrics/v1/${kind}`, { config: { operation } }, async () => {
        throw prometheusErrors.not_implemented()
      })
    }
    done()
  }
}
