/** Lines of the access log: what a client sends cannot put a credential into them. */
import metrics from 'svc/plugins/metrics/index'
import type { QueueService } from 'svc/plugins/queue/api'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { type AccessRecord, accessFields, combinedLine } from '../access-log.ts'
import { createBucketLogs } from '../bucket-logs.ts'

const record = (url: string, referer?: string) =>
  ({
    visit: {
      distribution: { id: 'site' },
      tags: {},
      sentBytes: 1,
      exchange: {
        clientAddress: '192.0.2.1',
        request: { method: 'GET', url, httpVersion: '1.1', headers: { referer } },
      },
    },
    status: 200,
    timeMs: 0,
    durationMs: 1,
  }) as unknown as AccessRecord

t.test('neither the query nor the referer shows a signature', async t => {
  const signed = 'Policy=abc&Signature=s3cret-one&Key-Pair-Id=K1'
  const told = record(`/a?${signed}`, `https://www.example.test/films/?page=2&${signed}`)
  for (const text of [JSON.stringify(accessFields(told)), combinedLine(told)]) {
    t.notMatch(text, /s3cret-one|=abc|=K1/)
    t.match(text, 'https://www.example.test/films/?page=2&Policy=')
  }
  t.equal(accessFields(record('/a', 'https://www.example.test/b')).referer, 'https://www.example.test/b')
  t.equal(accessFields(record('/a')).referer, '')
  t.match(combinedLine(record('/a')), / "-" "-"$/)
})

t.test(
  'lines for buckets that come faster than they can be queued are counted, and none waits without bound',
  async t => {
    const kernel = await startKernel({ plugins: [metrics] })
    t.teardown(() => kernel.stop())
    let queued = 0
    const topic = {
      async push(_queue: string, entries: readonly object[]) {
        queued += entries.length
        return entries.length
      },
    }
    const logs = createBucketLogs({
      objects: { putObject: () => Promise.reject(new Error('none is written here')) },
      queue: { topic: () => topic } as unknown as QueueService,
      metrics: kernel.services.metrics,
      mayLog: () => true,
      intervalMs: 60_000,
      ports: kernel.ports,
      log: kernel.log,
    })
    const destination = { distribution: 'site', prefix: 'site/' }
    const line = 'x'.repeat(8191)
    // 8 MiB have room.
    for (let count = 0; count < 1024 + 5; count++) logs.add('logs', destination, line, 0)
    await logs.stop()
    t.ok(queued > 0)
    t.match(await kernel.services.metrics.scrape(), /^svc_distribution_log_dropped_total\{target="logs"[^}]*\} 5$/m)
  },
)
