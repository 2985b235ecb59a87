/** The progress of the rebuild of a drive, for operators. */
import metrics from 'svc/plugins/metrics/index'
import type { DriveStatus, RebuildProgress } from 'svc/plugins/storage/api'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { registerRebuildFamilies } from '../rebuild-families.ts'

t.test('the rebuild of a drive is shown while it goes on', async t => {
  const kernel = await startKernel({ plugins: [metrics] })
  let rebuild: RebuildProgress | undefined
  let isAway = false
  const drives = async () => {
    if (isAway) throw new Error('no leader')
    return ['/d1', '/d2'].map(path => ({ path, place: path === '/d2' ? { rebuild } : undefined }) as DriveStatus)
  }
  registerRebuildFamilies(kernel.services.metrics, { drives }, kernel.log)
  const values = async () => {
    const text = await kernel.services.metrics.scrape()
    const lines = [...text.matchAll(/^svc_heal_drive_(\w+)\{drive="([^"]+)",server="[^"]+"\} (\S+)$/gm)]
    return Object.fromEntries(lines.map(([, name, drive, value]) => [`${name} ${drive}`, Number(value)]))
  }
  t.same(await values(), {})
  const counts = { healed: 3, healedBytes: 300, failed: 2, failedBytes: 20, retried: 1 }
  rebuild = { startedMs: 5000, updatedMs: 6000, record: undefined, ...counts }
  t.same(await values(), {
    'started_timestamp_seconds /d2': 5,
    'healed_records /d2': 3,
    'healed_bytes /d2': 300,
    'failed_records /d2': 2,
    'failed_bytes /d2': 20,
    'retried_records /d2': 1,
  })
  isAway = true
  t.same(await values(), {}, 'nothing is known')
  await kernel.stop()
})
