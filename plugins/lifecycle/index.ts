import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { keyNormalizer } from 'svc/plugins/objects/api'
import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import 'svc/plugins/s3/api'
import { Type } from 'typebox'
import getBucketLifecycle from './admin/get-bucket-lifecycle.ts'
import putBucketLifecycle from './admin/put-bucket-lifecycle.ts'
import runBucketLifecycle from './admin/run-bucket-lifecycle.ts'
import { createLifecycleDay } from './day.ts'
import { expirationHeader } from './expiration-header.ts'
import { createLifecycle } from './lifecycle.ts'
import { registerFamilies } from './metrics.ts'
import { indexDayMs } from './ready-rules.ts'
import deleteBucketLifecycle from './s3/delete-bucket-lifecycle.ts'
import getBucketLifecycleConfiguration from './s3/get-bucket-lifecycle-configuration.ts'
import putBucketLifecycleConfiguration from './s3/put-bucket-lifecycle-configuration.ts'

const operations = [deleteBucketLifecycle, getBucketLifecycleConfiguration, putBucketLifecycleConfiguration]
const adminOperations = [getBucketLifecycle, putBucketLifecycle, runBucketLifecycle]

export default definePlugin({
  name: 'lifecycle',
  description: 'Rules of buckets by which objects expire and uploads are aborted.',
  requires: ['locks', 'objects', 'scanner', 'store'],
  optional: ['metrics'],
  provides: ['lifecycle'],
  contributes: { 's3.operation': operations, 'admin.operation': adminOperations },
  config: Type.Object({
    keyNormalization: keyNormalizationSetting,
    dayMs: Type.Optional(
      Type.Integer({
        format: 'duration',
        minimum: 1000,
        maximum: indexDayMs,
        variable: 'SVC_LIFECYCLE_DAY',
        environmentOnly: true,
        description:
          'Length of a day of lifecycle rules, to test rules: with 10s, objects that expire after 30 days are removed after five minutes. For tests only: a new deployment keeps the length for ever, and a deployment with buckets refuses it.',
      }),
    ),
  }),
  setup({ config, services, ports, threads, contribute, background, log }) {
    const { locks, objects, store, metrics = noMetrics, scanner } = services
    const families = registerFamilies(metrics, threads.isMain)
    const { onAction, onRound } = families
    const intervalMs = async () => (await scanner.settings.get()).cycle
    const day = createLifecycleDay({ store, objects, threads, log, wantedMs: config.dayMs })
    const lifecycle = createLifecycle({
      objects,
      store,
      locks,
      ports,
      threads,
      dayMs: day.ms,
      normalizeKey: keyNormalizer(config.keyNormalization),
      intervalMs,
      onAction,
      onRound,
    })
    const { service, worker } = lifecycle
    contribute('archive.section', lifecycle.section.documents.name, lifecycle.section, { optional: true })
    contribute('s3.attribute', 'expiration', expirationHeader(service))
    // In the main thread only, so that the rules of a bucket are never applied twice at the same time.
    background(scanner.atSpeed(families.watch(worker)))
    return {
      services: { lifecycle: service },
      async start() {
        await day.start()
        await lifecycle.start()
      },
      stop: lifecycle.stop,
    }
  },
})
