/** Metrics of a queue over its whole life: what waits, what was sent, what failed, what will never be taken. */
import metrics from 'svc/plugins/metrics/index'
import { startKernel, until } from 'svc/testing'
import t from 'tap'
import type { QueuePlace } from '../keys.ts'
import { registerMetrics } from '../metrics.ts'
import { entry, newFolder, startQueue } from './start.ts'

t.test('entries that wait, are sent, fail, and are dead', async t => {
  const { news, kernel, stop } = await startQueue(await newFolder(t))
  t.teardown(stop)
  const value = async (name: string) => {
    const text = await kernel.services.metrics.scrape()
    const line = new RegExp(`^svc_queue_${name}\\{family="news",kind="web"[^}]*\\} (\\S+)$`, 'm').exec(text)
    return Number(line?.[1] ?? 0)
  }
  await news.push('web:a', [entry('k', '12345'), entry('other', 'bad')], 10)
  t.equal(await value('pending_bytes'), 8)
  let isAway = true
  const delivery = news.deliver('web:a', {
    async send(entries) {
      if (isAway) throw new Error('away')
      if (entries.some(({ payload }) => payload.toString() === 'bad'))
        throw Object.assign(new Error('malformed'), { name: 'PermanentDeliveryError' })
    },
  })
  await until(async () => (await value('failed_attempts_total')) > 0)
  t.equal(await value('sent_total'), 0)
  isAway = false
  delivery.retryNow()
  await until(async () => (await news.status('web:a')).pending === 0)
  t.equal(await value('sent_total'), 1)
  t.equal(await value('dead_letters'), 1)
  t.equal(await value('pending_bytes'), 0)
  await delivery.stop()
})

t.test('dead letters that newer ones replace are counted', async t => {
  const kernel = await startKernel({ plugins: [metrics] })
  t.teardown(() => kernel.stop())
  const { of } = registerMetrics(kernel.services.metrics, true)
  const counters = of({ topic: 'news', queue: 'web:a' } as QueuePlace)
  for (const count of [3, 4]) counters.onDropped(count)
  t.match(
    await kernel.services.metrics.scrape(),
    /^svc_queue_dead_letters_dropped_total\{family="news",kind="web"[^}]*\} 7$/m,
  )
})
