/** The metrics of S3 requests, from the records of the dispatcher. */
import { defineErrors } from 'svc/kernel'
import metrics from 'svc/plugins/metrics/index'
import type { Bucket } from 'svc/plugins/objects/api'
import { startKernel } from 'svc/testing'
import t from 'tap'
import type { S3RequestRecord } from '../api.ts'
import { createRequestFamilies } from '../families.ts'

const getBucket = (): never => {
  throw new Error('no question expected')
}

t.test('requests are counted by operation and status, with their bytes and times', async t => {
  const kernel = await startKernel({ plugins: [metrics] })
  const count = createRequestFamilies(kernel.services.metrics, { getBucket })
  const usual = { operation: 'GetObject', status: 200, durationMs: 3, receivedBytes: 0, sentBytes: 0, bucket: '' }
  const observe = (record: Partial<S3RequestRecord>): void => count({ ...usual, ...record } as S3RequestRecord)
  observe({ receivedBytes: 10, sentBytes: 4096, durationMs: 0.7 })
  observe({ sentBytes: 100, durationMs: 40 })
  observe({ status: 404 })
  observe({ operation: 'PutObject', status: 503 })
  for (let index = 0; index < 600; index++) observe({ operation: `Made${index}Up` })
  const lines = (await kernel.services.metrics.scrape()).split('\n')
  const value = (name: string): number =>
    Number(
      lines
        .find(line => line.startsWith(name))
        ?.split(' ')
        .at(-1),
    )
  const expected: [string, number][] = [
    ['svc_s3_requests_total{api="GetObject",status="200"', 2],
    ['svc_s3_requests_total{api="GetObject",status="404"', 1],
    ['svc_s3_requests_4xx_errors_total{api="GetObject"', 1],
    ['svc_s3_requests_5xx_errors_total{api="PutObject"', 1],
    ['svc_s3_request_duration_seconds_bucket{le="0.001",api="GetObject"', 1],
    ['svc_s3_request_duration_seconds_bucket{le="0.005",api="GetObject"', 2],
    ['svc_s3_request_duration_seconds_count{api="GetObject"', 3],
    ['svc_s3_traffic_received_bytes_total', 10],
    ['svc_s3_traffic_sent_bytes_total', 4196],
  ]
  for (const [name, number] of expected) t.equal(value(name), number, name)
  t.ok(value('svc_s3_requests_total{api="_other"') >= 100, 'names without end share one label')
  await kernel.stop()
})

t.test('buckets have series of their own, at most a thousand', async t => {
  const kernel = await startKernel({ plugins: [metrics] })
  const gone = new Set<string>()
  const { NoSuchBucket } = defineErrors({ NoSuchBucket: { status: 404, title: 'gone' } })
  const count = createRequestFamilies(kernel.services.metrics, {
    getBucket(name) {
      if (gone.has(name)) throw NoSuchBucket()
      return { name } as Bucket
    },
  })
  const usual = { operation: 'PutObject', status: 200, durationMs: 1, receivedBytes: 10, sentBytes: 1 }
  const observe = (bucket: string, record: Partial<S3RequestRecord> = {}) =>
    count({ ...usual, bucket, ...record } as S3RequestRecord)
  const scrape = async () => {
    const text = await kernel.services.metrics.scrape('bucket')
    return (line: string) => Number(new RegExp(`^svc_bucket_${line} (\\d+)$`, 'm').exec(text)?.[1])
  }
  observe('made-up', { status: 404 })
  observe('made-up', { status: 403, sentBytes: 100 })
  for (let index = 0; index < 1000; index++) observe(`b${index}`)
  observe('b7', { status: 503 })
  observe('b7', { operation: 'GetObject', sentBytes: 4096, receivedBytes: 0 })
  observe('late')
  const first = await scrape()
  t.equal(first('requests_total{bucket="b7",api="PutObject",status_class="2xx"}'), 1)
  t.equal(first('requests_total{bucket="b7",api="PutObject",status_class="5xx"}'), 1)
  t.equal(first('requests_total{bucket="b7",api="GetObject",status_class="2xx"}'), 1)
  t.equal(first('traffic_received_bytes_total{bucket="b7"}'), 20)
  t.equal(first('traffic_sent_bytes_total{bucket="b7"}'), 4098)
  t.equal(first('requests_total{bucket="_other",api="PutObject",status_class="4xx"}'), 2, 'no bucket, no series')
  t.equal(first('requests_total{bucket="_other",api="PutObject",status_class="2xx"}'), 1, 'the thousand and first')
  t.equal(first('traffic_sent_bytes_total{bucket="_other"}'), 102)
  gone.add('b1')
  observe('later')
  t.equal((await scrape())('requests_total{bucket="_other",api="PutObject",status_class="2xx"}'), 3, 'with that of b1')
  observe('later')
  const last = await scrape()
  t.equal(last('requests_total{bucket="later",api="PutObject",status_class="2xx"}'), 1, 'in the room of a deleted one')
  t.ok(Number.isNaN(last('traffic_sent_bytes_total{bucket="b1"}')))
  await kernel.stop()
})
