/** What scrapes tell of redundancy and healing, of storage that says what it says to everybody. */
import type { RedundancyService, RedundantStorage } from 'svc/plugins/erasure/api'
import metrics from 'svc/plugins/metrics/index'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { registerFamilies } from '../metrics.ts'

t.test('amounts by set and bucket, and counts of healing', async t => {
  const kernel = await startKernel({ plugins: [metrics] })
  t.teardown(() => kernel.stop())
  const counts = { healed: 0, failed: 0, scrubbed: 0, damaged: 0 }
  const amount = (records: number, bytes: number) => ({ records, bytes })
  let total = amount(3, 300)
  let below = amount(1, 100)
  const amounts = async () => ({ total, below })
  const storage = {
    counts,
    failingCount: 0,
    amounts,
    sets: [{ pool: 0, set: 1, redundant: { amounts } }],
    below: async () => below,
    belowIn: async () => below,
  } as unknown as RedundantStorage
  const redundancy = { storage: () => storage } as unknown as RedundancyService
  const objects = { listBuckets: async () => ({ buckets: [], next: undefined }) } as never
  const jobs = { countByState: () => ({ running: 0, completed: 0, failed: 0, canceled: 0 }) }
  const { onPass } = registerFamilies({ metrics: kernel.services.metrics, redundancy, objects, jobs, log: kernel.log })
  const value = async (name: string) => {
    const text = await kernel.services.metrics.scrape()
    return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1])
  }
  t.equal(await value('svc_redundancy_bytes'), 300)
  t.equal(await value('svc_redundancy_below_target_bytes'), 100)
  total = amount(4, 450)
  below = amount(2, 250)
  t.equal(await value('svc_redundancy_bytes'), 450)
  t.equal(await value('svc_redundancy_below_target_bytes'), 250)
  for (const [name, count] of [
    ['svc_heal_failed_total', 'failed'],
    ['svc_heal_scrubbed_total', 'scrubbed'],
    ['svc_heal_scrub_damaged_total', 'damaged'],
  ] as const) {
    t.equal(await value(name), 0, name)
    counts[count] = 7
    t.equal(await value(name), 7, name)
    counts[count] = 9
    t.equal(await value(name), 9, `${name} is that of the storage, not a sum of sums`)
  }
  t.equal(await value('svc_heal_scrub_passes_total'), 0)
  onPass()
  t.equal(await value('svc_heal_scrub_passes_total'), 1)
})
