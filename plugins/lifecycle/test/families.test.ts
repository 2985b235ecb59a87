/** The lag and the failures of the worker that applies lifecycle rules. */
import metrics from 'svc/plugins/metrics/index'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { registerFamilies } from '../metrics.ts'
import type { LifecycleWorker } from '../worker.ts'

t.test('failures are counted and passed on, and the lag is that of the worker', async t => {
  const kernel = await startKernel({ plugins: [metrics] })
  t.teardown(() => kernel.stop())
  let lagMs = 0
  let fails = true
  const worker = {
    name: 'lifecycle',
    lagMs: () => lagMs,
    async work() {
      if (fails) throw new Error('the drive is away')
      return 'idle'
    },
  } as unknown as LifecycleWorker
  const watched = registerFamilies(kernel.services.metrics, true).watch(worker)
  const value = async (name: string) =>
    Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(await kernel.services.metrics.scrape())?.[1])
  t.equal(await value('svc_ilm_errors_total'), 0)
  t.equal(await value('svc_ilm_lag_seconds'), 0)
  await t.rejects(Promise.resolve(watched.work(new AbortController().signal)), /the drive is away/)
  t.equal(await value('svc_ilm_errors_total'), 1)
  fails = false
  lagMs = 90_000
  t.equal(await watched.work(new AbortController().signal), 'idle')
  t.equal(await value('svc_ilm_errors_total'), 1)
  t.equal(await value('svc_ilm_lag_seconds'), 90)
})
