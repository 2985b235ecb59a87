/** The queue of one webhook, over a queue in memory: what is owed when there is no room. */
import type { QueueTopic } from 'svc/plugins/queue/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import type { PurgeCall, PurgeOperation } from '../api.ts'
import { createLane, laneLimit, owedEntry, owedQueue } from '../lane.ts'

const name = 'generic:site/edge'
const owed = owedQueue(name)
const invalidation = {
  id: '',
  distribution: 'site',
  kind: 'path',
  items: ['/a'],
  isCaseInsensitive: false,
  isSoft: false,
} as const

/** A lane whose queue has so many entries; `onCall` is called for each call that is sent. */
async function setUp(onCall: (call: PurgeCall, queues: Map<string, number>) => void) {
  const queues = new Map<string, number>([[name, 1]])
  let send: ((entries: readonly never[], signal: AbortSignal) => Promise<void>) | undefined
  const topic = {
    status: async (queue: string) => ({ pending: queues.get(queue) ?? 0 }),
    push: async (queue: string, entries: readonly unknown[], limit: number) => {
      queues.set(queue, Math.min(limit, (queues.get(queue) ?? 0) + entries.length))
    },
    clear: async (queue: string) => void queues.delete(queue),
    deliver: (_queue: string, delivery: { send: typeof send }) => {
      send = delivery.send
      return { stop: async () => {} }
    },
  } as unknown as QueueTopic
  const sent: PurgeCall[] = []
  const site = { id: 'site', aliases: ['www.example.test'], defaultBehavior: {}, behaviors: [], origin: {} }
  const clock = createFakeClock()
  const lane = createLane({
    name,
    webhook: {
      plan: (operations: readonly PurgeOperation[]) => ({
        calls: operations.map(({ kind }) => ({ kind }) as unknown as PurgeCall),
        widened: [],
      }),
      async send(call: PurgeCall) {
        sent.push(call)
        onCall(call, queues)
        return {}
      },
      close: async () => {},
    } as never,
    limits: { batchMax: 100, perSecond: 1000, burst: 1000 } as never,
    domains: [],
    distribution: async () => site as never,
    naming: async () => () => true,
    topic,
    clock,
    log: { warn() {} } as never,
    count() {},
  })
  const deliver = async () => {
    const entry = { key: '', payload: Buffer.from(JSON.stringify(invalidation)), queuedMs: clock.now() }
    const done = send!([entry] as never, new AbortController().signal)
    let isDone = false
    void done.then(() => {
      isDone = true
    })
    // The lane waits for more before the next batch.
    for (let turn = 0; turn < 200 && !isDone; turn++) await clock.advance(100)
    await done
  }
  return { lane, queues, deliver, sent, owe: () => topic.push(owed, [owedEntry], 1) }
}

const kinds = (sent: readonly PurgeCall[]) => sent.map(call => (call as unknown as { kind: string }).kind)

t.test('what is owed is settled by a purge of everything', async t => {
  const { lane, queues, deliver, sent, owe } = await setUp(() => {})
  await owe()
  await deliver()
  t.equal(kinds(sent).at(-1), 'all')
  t.notOk(queues.has(owed))
  await lane.stop()
})

t.test('what finds no room while everything is purged is still owed', async t => {
  const { lane, queues, deliver, sent, owe } = await setUp((call, waiting) => {
    // Changes go on during the call, and fill the queue: the last of them is given up, and owed.
    if ((call as unknown as { kind: string }).kind !== 'all' || waiting.get('filled') === 1) return
    waiting.set('filled', 1)
    waiting.set(name, laneLimit)
    waiting.set(owed, 1)
  })
  await owe()
  await deliver()
  t.same(kinds(sent).filter(kind => kind === 'all').length, 1)
  t.equal(queues.get(owed), 1, 'the call began before it was given up')
  await deliver()
  t.notOk(queues.has(owed), 'and the next one settles it')
  t.equal(kinds(sent).filter(kind => kind === 'all').length, 2)
  t.notOk(queues.has(name), 'what waits is covered by it')
  await lane.stop()
})
