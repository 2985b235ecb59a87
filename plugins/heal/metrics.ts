/** Metrics of redundancy and healing. Read at each scrape, in the main thread, which has the open sets. */
import type { Gauge } from 'prom-client'
import type { Logger } from 'svc/kernel'
import type { HealCounts, RedundancyAmount, RedundancyService, RedundantStorage } from 'svc/plugins/erasure/api'
import { bucketLabelsMax, createRestingReader, type MetricsService, otherBuckets } from 'svc/plugins/metrics/api'
import { type ObjectsService, recordRanges } from 'svc/plugins/objects/api'
import type { HealJobs } from './jobs.ts'

export interface FamiliesOptions {
  readonly metrics: MetricsService
  readonly redundancy: RedundancyService
  readonly objects: Pick<ObjectsService, 'listBuckets'>
  readonly jobs: Pick<HealJobs, 'countByState'>
  readonly log: Logger
}

const amounts = [
  ['svc_redundancy_records', 'Versions and parts that are stored as shards.', 'total', 'records'],
  ['svc_redundancy_bytes', 'Bytes of their data, without parity.', 'total', 'bytes'],
  [
    'svc_redundancy_below_target_records',
    'Versions and parts that lack a shard, or have one on an offline drive.',
    'below',
    'records',
  ],
  ['svc_redundancy_below_target_bytes', 'Bytes of their data, without parity.', 'below', 'bytes'],
] as const

const bucketAmounts = [
  [
    'svc_redundancy_bucket_below_target_records',
    'Versions and parts of a bucket that lack a shard, or have one on an offline drive; at most 1000 buckets, the others as _other.',
    'records',
  ],
  ['svc_redundancy_bucket_below_target_bytes', 'Bytes of their data, without parity.', 'bytes'],
] as const

const counted: readonly (readonly [name: string, help: string, count: keyof HealCounts])[] = [
  ['svc_mrf_queue_healed_total', 'Versions and parts that got shards that they lacked.', 'healed'],
  ['svc_heal_failed_total', 'Attempts to heal a version or part that failed. They are repeated.', 'failed'],
  ['svc_heal_scrubbed_total', 'Versions and parts all of whose shards were read and verified.', 'scrubbed'],
  [
    'svc_heal_scrub_damaged_total',
    'Versions and parts that had a missing or corrupt shard when they were scrubbed.',
    'damaged',
  ],
]

/** `onPass` counts a complete scrub. */
export function registerFamilies({ metrics, redundancy, objects, jobs, log }: FamiliesOptions): { onPass(): void } {
  const gauge = (
    name: string,
    help: string,
    labels: string[],
    set: (gauge: Gauge, open: RedundantStorage) => unknown,
  ) =>
    metrics.gauge({
      name,
      help,
      labels,
      async collect(gauge: Gauge) {
        gauge.reset()
        const open = redundancy.storage()
        if (open === undefined) return
        try {
          await set(gauge, open)
        } catch (error) {
          // Without a leading drive nothing can be counted; the other families must still be reported.
          log.debug({ err: error, family: name }, 'redundancy cannot be read for metrics')
        }
      },
    })
  for (const [name, help, which, what] of amounts) {
    gauge(name, help, ['pool', 'set'], async (gauge, open) => {
      for (const { pool, set, redundant } of open.sets) {
        gauge.set({ pool: String(pool), set: String(set) }, (await redundant.amounts())[which][what])
      }
    })
  }
  const belowByBucket = createRestingReader(async () => {
    const open = redundancy.storage()
    return open === undefined ? new Map<string, RedundancyAmount>() : readBuckets(open, objects)
  })
  for (const [name, help, what] of bucketAmounts) {
    gauge(name, help, ['bucket'], async gauge => {
      for (const [bucket, below] of await belowByBucket()) gauge.set({ bucket }, below[what])
    })
  }
  gauge('svc_mrf_queue_pending', 'Versions and parts that wait to be healed.', [], async (gauge, open) => {
    gauge.set((await open.amounts()).below.records)
  })
  gauge(
    'svc_redundancy_failing_records',
    'Versions and parts below their redundancy whose last attempt to heal failed: some may be lost.',
    [],
    (gauge, open) => gauge.set(open.failingCount),
  )
  metrics.gauge({
    name: 'svc_heal_jobs',
    help: 'Heal jobs that are listed, by state.',
    labels: ['state'],
    collect(gauge: Gauge) {
      gauge.reset()
      for (const [state, count] of Object.entries(jobs.countByState())) gauge.set({ state }, count)
    },
  })
  registerCounts(metrics, redundancy)
  const passes = metrics.counter({
    name: 'svc_heal_scrub_passes_total',
    help: 'Complete scrubs, in each of which every shard was read.',
  })
  return { onPass: () => passes.inc() }
}

/** The sets count since the start; adds the increase since the last scrape. */
function registerCounts(metrics: MetricsService, redundancy: RedundancyService): void {
  for (const [name, help, count] of counted) {
    let seen: RedundantStorage | undefined
    let value = 0
    metrics.counter({
      name,
      help,
      collect(counter) {
        const open = redundancy.storage()
        if (open !== seen) value = 0
        seen = open
        if (open === undefined) return
        counter.inc(open.counts[count] - value)
        value = open.counts[count]
      },
    })
  }
}

/** Versions and parts below their redundancy, by bucket. */
async function readBuckets(
  set: RedundantStorage,
  { listBuckets }: FamiliesOptions['objects'],
): Promise<ReadonlyMap<string, RedundancyAmount>> {
  const buckets = new Map<string, RedundancyAmount>()
  const others = { records: 0, bytes: 0 }
  let startAfter: string | undefined = ''
  while (startAfter !== undefined) {
    const page: Awaited<ReturnType<typeof listBuckets>> = await listBuckets({ prefix: '', startAfter, limit: 1000 })
    for (const { name } of page.buckets) {
      const { below } = await set.amounts(recordRanges(name, '').map(([start]) => start))
      if (buckets.size < bucketLabelsMax) {
        buckets.set(name, below)
        continue
      }
      others.records += below.records
      others.bytes += below.bytes
      buckets.set(otherBuckets, others)
    }
    startAfter = page.next
  }
  return buckets
}
