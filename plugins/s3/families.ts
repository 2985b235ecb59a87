/** The metrics of S3 requests, from the records that the dispatcher writes at the end of each request. */
import type { Counter } from 'prom-client'
import { throttledFamily } from 'svc/plugins/http/api'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { S3RequestRecord } from './api.ts'
import { type BucketCounts, createBucketCounts } from './bucket-families.ts'

const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
/** Operation names come from declarations. Still, the map is bounded, as its keys come with requests. */
const operationsMax = 500

interface Incrementer {
  inc(value?: number): void
}

interface OperationFamilies {
  readonly statuses: Map<number, Incrementer>
  readonly duration: { observe(value: number): void }
  readonly clientErrors: Incrementer
  readonly serverErrors: Incrementer
  readonly buckets: BucketCounts
}

/** Returns the observer. Children are cached: finding them by label again costs more than counting. */
export function createRequestFamilies(
  metrics: MetricsService,
  objects: Pick<ObjectsService, 'getBucket'>,
): (record: S3RequestRecord) => void {
  const requests = metrics.counter({
    name: 'svc_s3_requests_total',
    help: 'S3 requests by operation and status.',
    labels: ['api', 'status'],
  })
  const clientErrors = metrics.counter({
    name: 'svc_s3_requests_4xx_errors_total',
    help: 'S3 requests answered with a 4xx status.',
    labels: ['api'],
  })
  const serverErrors = metrics.counter({
    name: 'svc_s3_requests_5xx_errors_total',
    help: 'S3 requests answered with a 5xx status.',
    labels: ['api'],
  })
  const duration = metrics.histogram({
    name: 'svc_s3_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labels: ['api'],
    buckets: secondsBuckets,
  })
  const received: Counter = metrics.counter({
    name: 'svc_s3_traffic_received_bytes_total',
    help: 'Body bytes received by S3 requests.',
  })
  const sent: Counter = metrics.counter({
    name: 'svc_s3_traffic_sent_bytes_total',
    help: 'Body bytes sent by S3 answers.',
  })
  const throttled: Counter = metrics.counter(throttledFamily)
  const buckets = createBucketCounts(metrics, objects)
  const operations = new Map<string, OperationFamilies>()

  function familiesOf(api: string): OperationFamilies {
    const families = {
      statuses: new Map<number, Incrementer>(),
      duration: duration.labels(api),
      clientErrors: clientErrors.labels(api),
      serverErrors: serverErrors.labels(api),
      buckets: buckets.of(api),
    }
    operations.set(api, families)
    return families
  }

  return record => {
    const { operation, status } = record
    const api = operations.has(operation) || operations.size < operationsMax ? operation : '_other'
    const families = operations.get(api) ?? familiesOf(api)
    let count = families.statuses.get(status)
    if (count === undefined) {
      count = requests.labels(api, String(status))
      families.statuses.set(status, count)
    }
    count.inc(1)
    families.duration.observe(record.durationMs / 1000)
    if (record.receivedBytes > 0) received.inc(record.receivedBytes)
    if (record.sentBytes > 0) sent.inc(record.sentBytes)
    if (record.tags?.throttled !== undefined) throttled.inc({ api: 's3', kind: record.tags.throttled })
    if (status >= 400) (status < 500 ? families.clientErrors : families.serverErrors).inc(1)
    if (record.bucket !== '') families.buckets.count(record)
  }
}
