/** Purge webhooks: caches in front of the server are told what to forget. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/cache/api'
import 'svc/plugins/cluster-archive/api'
import 'svc/plugins/distributions/api'
import 'svc/plugins/http-client/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { keyNormalizer } from 'svc/plugins/objects/api'
import 'svc/plugins/queue/api'
import { noSecretReferences } from 'svc/plugins/secret-references/api'
import listDistributionWebhooks from './admin/list-distribution-webhooks.ts'
import testDistributionWebhook from './admin/test-distribution-webhook.ts'
import { createArchivePart } from './archive-part.ts'
import { PurgeConfig } from './config.ts'
import { declareWebhooks, secretsOf } from './documents.ts'
import { createKinds, type Kinds } from './kinds.ts'
import { createLanes } from './lanes.ts'
import { createOutgoing } from './outgoing.ts'
import { purgePoints } from './points.ts'
import { createService } from './service.ts'
import { createSubscriber } from './subscriber.ts'
import { createWebhooks } from './webhooks.ts'

const tidyPauseMs = 60_000

export default definePlugin({
  name: 'purge',
  description: 'Webhooks that tell caches in front of distributions what to forget.',
  requires: ['distributions', 'httpClient', 'queue', 'store'],
  optional: ['cache', 'metrics', 'secretReferences'],
  provides: ['purge'],
  points: purgePoints,
  contributes: { 'admin.operation': [listDistributionWebhooks, testDistributionWebhook] },
  config: PurgeConfig,
  setup({ config, services, ports, threads, log, point, contribute, background }) {
    const { cache, distributions, httpClient, queue, store, metrics = noMetrics } = services
    const { secretReferences = noSecretReferences } = services
    const { clock, random } = ports
    const collection = declareWebhooks(store)
    const topic = queue.topic('purge')
    const outgoing = createOutgoing(httpClient, config.webhookAllow)
    const calls = metrics.counter({
      name: 'svc_cache_webhook_calls_total',
      help: 'Calls of purge webhooks, by their kind.',
      labels: ['type', 'result'],
    })
    let kinds: Kinds
    const lanes = threads.isMain
      ? createLanes({
          ...{ collection, distributions, cache, kinds: () => kinds, outgoing, topic, clock, random, log },
          resolveSecret: secretReferences.resolve,
          normalizeKey: keyNormalizer(config.keyNormalization),
          count: (type, result) => calls.inc({ type, result }),
        })
      : undefined
    const webhooks = createWebhooks({ collection, kinds: () => kinds, urlProblem: outgoing.urlProblem })
    const archivePart = createArchivePart({
      collection,
      distributions,
      kinds: () => kinds,
      urlProblem: outgoing.urlProblem,
    })
    contribute('archive.part', 'purge-webhooks', archivePart, { optional: true })
    const subscriber = createSubscriber({ collection, topic })
    contribute('cache.invalidation', 'purge', subscriber, { optional: true })
    if (lanes !== undefined) {
      background({
        name: 'lanes',
        pauseMs: tidyPauseMs,
        async work() {
          await lanes.tidy()
          return 'idle'
        },
      })
    }
    const purge = createService({ threads, webhooks, lanes, kinds: () => kinds, topic, clock, subscriber })
    contribute('cache.webhook', 'purge', purge, { optional: true })
    contribute('secretReferences.user', 'purge', { references: () => secretsOf(collection) }, { optional: true })
    return {
      services: { purge },
      async start() {
        kinds = createKinds(point('purge.webhook').list())
        await lanes?.start()
      },
      async stop() {
        await lanes?.stop()
        await outgoing.close()
      },
    }
  },
})
