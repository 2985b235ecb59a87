/** Lines on their way to the queue: which go together, what is kept while it is full, and what is lost and counted. */
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { createCollector } from '../collector.ts'

interface Destination {
  readonly name: string
}

function collect(room = Number.POSITIVE_INFINITY) {
  const clock = createFakeClock()
  const queued: { queue: string; name: string; eventMs: number; lines: string }[] = []
  const lost = new Map<string, number>()
  const collector = createCollector<Destination>({
    topic: {
      async push(queue, entries) {
        const taken = entries.slice(0, Math.max(0, room - queued.length))
        for (const { payload } of taken) queued.push({ queue, ...JSON.parse(Buffer.from(payload).toString()) })
        return taken.length
      },
    },
    clock,
    log: { warn() {} } as never,
    partOf: (_destination, eventMs) => String(Math.floor(eventMs / 1000)),
    onLost: (target, count) => void lost.set(target, (lost.get(target) ?? 0) + count),
  })
  return { collector, queued, lost }
}

t.test('lines of one destination and part go together, in order, with the time of the first', async t => {
  const { collector, queued } = collect()
  const [a, b] = [{ name: 'a' }, { name: 'b' }]
  collector.add('logs', a, 'one', 100)
  collector.add('logs', b, 'other', 150)
  collector.add('logs', a, 'two', 200)
  collector.add('logs', a, 'next part', 1000)
  collector.add('elsewhere', { name: 'c' }, 'three', 5)
  await collector.stop()
  t.same(
    queued.toSorted((one, two) => (one.name < two.name ? -1 : 1)),
    [
      { queue: 'bucket:logs', name: 'a', eventMs: 100, lines: 'one\ntwo\n' },
      { queue: 'bucket:logs', name: 'a', eventMs: 1000, lines: 'next part\n' },
      { queue: 'bucket:logs', name: 'b', eventMs: 150, lines: 'other\n' },
      { queue: 'bucket:elsewhere', name: 'c', eventMs: 5, lines: 'three\n' },
    ],
  )
})

t.test('lines that find a full queue, or full memory, are lost and counted, and none is kept', async t => {
  const full = collect(0)
  const destination = { name: 'a' }
  for (let index = 0; index < 10; index++) full.collector.add('logs', destination, 'x', 0)
  await full.collector.stop()
  t.equal(full.lost.get('logs'), 10)

  const fast = collect()
  const line = 'x'.repeat(1023)
  const count = 10_000
  for (let index = 0; index < count; index++) fast.collector.add('logs', destination, line, 0)
  await fast.collector.stop()
  const kept = fast.queued.reduce((sum, { lines }) => sum + lines.length / 1024, 0)
  t.equal(kept, 8192, '8 MiB of lines wait in memory')
  t.equal(fast.lost.get('logs'), count - kept)
  fast.collector.add('logs', destination, line, 0)
  t.equal(fast.lost.get('logs'), count - kept, 'after the end nothing is taken')
})
