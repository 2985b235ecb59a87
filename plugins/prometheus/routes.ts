import type { FastifyPluginCallback, FastifyRequest } from 'fastify'
import type { Identity } from 'svc/plugins/iam/api'
import type { MetricsService } from 'svc/plugins/metrics/api'

const operations = [
  ['node', 'MetricsNode'],
  ['cluster', 'MetricsCluster'],
  ['bucket', 'MetricsBucket'],
] as const

/** `/svc/metrics/v1/…`. `authorize` rejects with `access_denied`. */
export function createMetricsRoutes(
  metrics: MetricsService,
  authorize: (request: FastifyRequest) => Promise<Identity | undefined>,
): FastifyPluginCallback {
  return (fastify, _options, done) => {
    fastify.addHook('onRequest', async request => {
      request.identity = await authorize(request)
    })
    for (const [scope, operation] of operations) {
      fastify.get(`/svc/metrics/v1/${scope}`, { config: { operation } }, async (_request, reply) => {
        reply.type(metrics.contentType)
        return metrics.scrape(scope)
      })
    }
    done()
  }
}
