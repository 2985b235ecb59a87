/**
 * Requests and traffic by bucket. A request costs one lookup in a map; names and labels are built when the metrics are read.
 *
 * A bucket gets series with its first successful request, so that invented names get none. Beyond `bucketLabelsMax`, further buckets are
 * counted as `_other`; then the next read of the metrics moves the counts of deleted buckets to `_other` to make room.
 */
import { isCatalogError } from 'svc/kernel'
import { bucketLabelsMax, type MetricsService, otherBuckets } from 'svc/plugins/metrics/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { S3RequestRecord } from './api.ts'

/** Counts of one operation. */
export interface BucketCounts {
  count(record: Pick<S3RequestRecord, 'bucket' | 'status' | 'receivedBytes' | 'sentBytes'>): void
}

const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** Counts of one bucket and operation. */
interface Row {
  /** By class of status. */
  readonly counts: [number, number, number, number, number]
  receivedBytes: number
  sentBytes: number
}

export function createBucketCounts(metrics: MetricsService, objects: Pick<ObjectsService, 'getBucket'>) {
  const operations = new Map<string, Map<string, Row>>()
  const known = new Set<string>()
  let isFull = false

  async function makeRoom(): Promise<void> {
    isFull = false
    for (const bucket of known) {
      if (await exists(bucket)) continue
      known.delete(bucket)
      for (const rows of operations.values()) {
        const row = rows.get(bucket)
        if (row === undefined) continue
        rows.delete(bucket)
        add(rowOf(rows, otherBuckets), row)
      }
    }
  }

  async function exists(bucket: string): Promise<boolean> {
    try {
      await objects.getBucket(bucket)
      return true
    } catch (error) {
      // If storage does not answer, the bucket is assumed to exist.
      return !(isCatalogError(error) && error.code === 'NoSuchBucket')
    }
  }

  metrics.counter({
    name: 'svc_bucket_requests_total',
    help: 'S3 requests by bucket, operation and class of status; at most 1000 buckets, the others as _other.',
    labels: ['bucket', 'api', 'status_class'],
    scope: 'bucket',
    async collect(counter) {
      if (isFull) await makeRoom()
      counter.reset()
      for (const [api, rows] of operations) {
        for (const [bucket, { counts }] of rows) {
          for (const [index, count] of counts.entries()) {
            if (count > 0) counter.inc({ bucket, api, status_class: classes[index] }, count)
          }
        }
      }
    },
  })
  const traffic = (name: string, help: string, of: (row: Row) => number) =>
    metrics.counter({
      name,
      help,
      labels: ['bucket'],
      scope: 'bucket',
      collect(counter) {
        counter.reset()
        for (const rows of operations.values()) {
          for (const [bucket, row] of rows) counter.inc({ bucket }, of(row))
        }
      },
    })
  traffic(
    'svc_bucket_traffic_received_bytes_total',
    'Body bytes received by S3 requests for the bucket.',
    ({ receivedBytes }) => receivedBytes,
  )
  traffic(
    'svc_bucket_traffic_sent_bytes_total',
    'Body bytes sent by S3 answers of the bucket.',
    ({ sentBytes }) => sentBytes,
  )

  return {
    of(api: string): BucketCounts {
      const rows = new Map<string, Row>()
      operations.set(api, rows)
      const admit = (bucket: string, status: number): Row => {
        if (!known.has(bucket)) {
          const isWelcome = status < 400 && known.size < bucketLabelsMax
          if (status < 400 && !isWelcome) isFull = true
          if (!isWelcome) return rowOf(rows, otherBuckets)
          known.add(bucket)
        }
        return rowOf(rows, bucket)
      }
      return {
        count({ bucket, status, receivedBytes, sentBytes }) {
          const row = rows.get(bucket) ?? admit(bucket, status)
          row.counts[Math.floor(status / 100) - 1]++
          row.receivedBytes += receivedBytes
          row.sentBytes += sentBytes
        },
      }
    },
  }
}

function rowOf(rows: Map<string, Row>, bucket: string): Row {
  let row = rows.get(bucket)
  if (row === undefined) {
    row = { counts: [0, 0, 0, 0, 0], receivedBytes: 0, sentBytes: 0 }
    rows.set(bucket, row)
  }
  return row
}

function add(to: Row, { counts, receivedBytes, sentBytes }: Row): void {
  for (const [index, count] of counts.entries()) to.counts[index]! += count
  to.receivedBytes += receivedBytes
  to.sentBytes += sentBytes
}
