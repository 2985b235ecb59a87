import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import { createLossLog } from 'svc/plugins/delivery/api'
import { createLogObjects } from 'svc/plugins/log-objects/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/auth-sigv4/api'
import 'svc/plugins/iam/api'
import 'svc/plugins/s3/api'
import { bucketDocument } from 'svc/plugins/store/api'
import { BucketLoggingConfig } from './config.ts'
import { account } from './log-line.ts'
import { dayOf, keyOfLog, type LogDestination, LoggingStatus, portable } from './logging-status.ts'
import { createObserver } from './observer.ts'
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
    const archived = {
      ...documents,
      async read<U>(bucket: string, unreadable: (problem: string) => U) {
        const found = await documents.read(bucket, problem => ({ problem }))
        if (found === undefined) return undefined
        return 'problem' in found ? unreadable(found.problem) : portable(found)
      },
    }
    contribute('archive.section', documents.name, { documents: archived }, { optional: true })
    const destinations = documents.compiled(({ id, value }): LogDestination => ({ source: id, status: value }))
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
    const objectsOfLogs = createLogObjects<LogDestination>({
      objects,
      topic,
      intervalMs,
      ports,
      log,
      partOf: dayOf,
      keyOf: ({ source, status }, times) =>
        keyOfLog({ status, account, region, source, ...times, random: ports.random }),
      // The next bucket of that name is perhaps of somebody else.
      async isMeant(target, { status: { targetCreatedMs } }) {
        return targetCreatedMs === undefined || (await objects.getBucket(target)).createdMs === targetCreatedMs
      },
      system: { contentType: 'text/plain' },
      onLost: losses.add,
    })
    const observe = createObserver({
      destinationOf: destinations.get,
      add: objectsOfLogs.add,
      ownerId: iam.owner.ownerId,
      log,
    })
    contribute('s3.observer', 'bucket-logging', observe)
    background(objectsOfLogs.worker)
    return { internal: { bucketLogging: documents }, drain: objectsOfLogs.drain, stop: objectsOfLogs.stop }
  },
})
