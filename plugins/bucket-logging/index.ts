import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import { createLossLog } from 'svc/plugins/delivery/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/auth-sigv4/api'
import 'svc/plugins/iam/api'
import 'svc/plugins/s3/api'
import { bucketDocument } from 'svc/plugins/store/api'
import { createCollector } from './collector.ts'
import { BucketLoggingConfig } from './config.ts'
import { createDeliverer } from './deliverer.ts'
import { LoggingStatus } from './logging-status.ts'
import getBucketLogging from './s3/get-bucket-logging.ts'
import putBucketLogging from './s3/put-bucket-logging.ts'

export default definePlugin({
  name: 'bucket-logging',
  description: 'Access logs of buckets, as objects in a target bucket.',
  requires: ['authSigv4', 'iam', 'objects', 'queue', 'store'],
  optional: ['metrics'],
  internal: ['bucketLogging'],
  contributes: { 's3.operation': [getBucketLogging, putBucketLogging] },
  config: BucketLoggingConfig,
  setup({ config: { intervalMs }, services, ports, contribute, background, log }) {
    const { authSigv4, iam, objects, queue, store, metrics = noMetrics } = services
    const { clock } = ports
    const { region } = authSigv4
    const documents = bucketDocument(store, { name: 'bucket-logging', schema: LoggingStatus })
    contribute('archive.section', documents.name, { documents }, { optional: true })
    const ready = documents.compiled(({ value }) => value)
    const topic = queue.topic('bucket-logging')
    const losses = createLossLog({
      counter: metrics.counter({
        name: 'svc_bucket_logging_dropped_total',
        help: 'Lines of access logs that were lost because they came faster than they could be queued, by target bucket.',
        labels: ['target'],
      }),
      clock,
      log,
      message: 'lines of access logs are lost: they came faster than they could be queued',
    })
    const collector = createCollector({
      statusOf: ready.get,
      topic,
      ownerId: iam.owner.ownerId,
      clock,
      log,
      onLost: losses.add,
    })
    contribute('s3.observer', 'bucket-logging', collector.observe)
    const deliverer = createDeliverer({ objects, topic, region, intervalMs, ports, log })
    background(deliverer.worker)
    return { internal: { bucketLogging: documents }, drain: deliverer.stop, stop: collector.stop }
  },
})
