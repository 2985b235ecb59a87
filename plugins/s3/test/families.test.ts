/** The families of S3 requests, counted from the records that the dispatcher writes. */
import metrics from 'svc/plugins/metrics/index'
import { startKernel } from 'svc/testing'
import t from 'tap'
import type { S3RequestRecord } from '../api.ts'
import { createRequestFamilies } from '../families.ts'

t.test('requests are counted by operation and status, their bytes and times beside them', async t => {
  const kernel = await startKernel({ plugins: [metrics] })
  const count = createRequestFamilies(kernel.services.metrics)
  const usual = { operation: 'GetObject', status: 200, durationMs: 3, receivedBytes: 0, sentBytes: 0 }
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
