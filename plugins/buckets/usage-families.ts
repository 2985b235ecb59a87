/** What is stored, by bucket and in all: from the exact counters of the buckets. One walk serves every family of a scrape. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Gauge } from 'prom-client'
import type { Logger } from 'svc/kernel'
import { bucketLabelsMax, createRestingReader, type MetricsService, otherBuckets } from 'svc/plugins/metrics/api'
import type { BucketUsage, ObjectsService } from 'svc/plugins/objects/api'

type Amounts = Omit<BucketUsage, 'uploads' | 'uploadBytes'>

interface Usage {
  readonly buckets: ReadonlyMap<string, Amounts>
  readonly bucketCount: number
  readonly total: Amounts
}

const bucketFamilies = [
  ['svc_bucket_usage_total_bytes', 'Bytes of all versions', 'sizeBytes'],
  ['svc_bucket_objects', 'Objects: keys whose current version is no delete marker', 'objects'],
  ['svc_bucket_versions', 'Versions, current ones included', 'versions'],
  ['svc_bucket_delete_markers', 'Delete markers', 'deleteMarkers'],
] as const

export interface UsageFamiliesOptions {
  readonly metrics: MetricsService
  readonly objects: Pick<ObjectsService, 'listBuckets' | 'usage'>
  readonly log: Logger
}

/** Call it in one thread only: the values describe the deployment. */
export function registerUsageFamilies({ metrics, objects, log }: UsageFamiliesOptions): void {
  const read = createRestingReader(() => walk(objects))
  const gauge = (
    name: string,
    help: string,
    scope: 'bucket' | 'cluster',
    labels: readonly string[],
    set: (gauge: Gauge, usage: Usage) => void,
  ) =>
    metrics.gauge({
      name,
      help,
      scope,
      labels,
      async collect(gauge: Gauge) {
        gauge.reset()
        try {
          set(gauge, await read())
        } catch (error) {
          // Neither old figures nor the other families must go with a storage that does not answer.
          gauge.remove()
          log.debug({ err: error, family: name }, 'usage cannot be read for metrics')
        }
      },
    })
  for (const [name, what, field] of bucketFamilies) {
    gauge(name, `${what}; at most 1000 buckets, the others as _other.`, 'bucket', ['bucket'], (gauge, usage) => {
      for (const [bucket, amounts] of usage.buckets) gauge.set({ bucket }, amounts[field])
    })
  }
  const total = (name: string, help: string, of: (usage: Usage) => number) =>
    gauge(name, help, 'cluster', [], (gauge, usage) => gauge.set(of(usage)))
  total('svc_cluster_buckets', 'Buckets.', ({ bucketCount }) => bucketCount)
  total('svc_cluster_objects', 'Objects in all buckets.', usage => usage.total.objects)
  total('svc_cluster_usage_bytes', 'Bytes of all versions in all buckets.', usage => usage.total.sizeBytes)
}

async function walk({ listBuckets, usage }: UsageFamiliesOptions['objects']): Promise<Usage> {
  const buckets = new Map<string, Amounts>()
  const total = empty()
  const others = empty()
  let bucketCount = 0
  let startAfter: string | undefined = ''
  while (startAfter !== undefined) {
    const page: Awaited<ReturnType<typeof listBuckets>> = await listBuckets({ prefix: '', startAfter, limit: 1000 })
    for (const { name } of page.buckets) {
      const amounts = await usage(name)
      add(total, amounts)
      if (++bucketCount <= bucketLabelsMax) buckets.set(name, amounts)
      else add(others, amounts)
    }
    startAfter = page.next
    // Requests come first.
    if (startAfter !== undefined) await nextTurn()
  }
  if (bucketCount > bucketLabelsMax) buckets.set(otherBuckets, others)
  return { buckets, bucketCount, total }
}

type MutableAmounts = { -readonly [Field in keyof Amounts]: number }

const empty = (): MutableAmounts => ({ objects: 0, versions: 0, deleteMarkers: 0, sizeBytes: 0 })

function add(to: MutableAmounts, amounts: Amounts): void {
  for (const field of ['objects', 'versions', 'deleteMarkers', 'sizeBytes'] as const) to[field] += amounts[field]
}
