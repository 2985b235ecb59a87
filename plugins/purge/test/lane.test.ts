/** The queue of one webhook, over a queue in memory: what is owed, and when it is tried again. */
import type { QueueTopic } from 'svc/plugins/queue/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { CallFailure, type PurgeCall, type PurgeOperation } from '../api.ts'
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

/** A lane whose queue has so many entries; `onCall` is called for each call that is sent. `problemOf`: why an operation is not possible. */
async function setUp(
  onCall: (call: PurgeCall, queues: Map<string, number>) => void,
  problemOf: (kind: PurgeOperation['kind']) => string | undefined = () => undefined,
  held?: string,
) {
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
  const counted: string[] = []
  const site = { id: 'site', aliases: ['www.example.test'], defaultBehavior: {}, behaviors: [], origin: {} }
  const clock = createFakeClock()
  const lane = createLane({
    name,
    webhook: {
      plan: (operations: readonly PurgeOperation[]) => ({
        calls: operations.map(({ kind }) => ({ kind, problem: problemOf(kind) }) as unknown as PurgeCall),
        widened: [],
      }),
      async send(call: PurgeCall) {
        sent.push(call)
        onCall(call, queues)
        return {}
      },
      close: async () => {},
    } as never,
    lastStatus: () => 200,
    held,
    limits: { batchMax: 100, perSecond: 1000, burst: 1000 } as never,
    domains: [],
    distribution: async () => site as never,
    naming: async () => () => true,
    topic,
    clock,
    log: { warn() {} } as never,
    count: result => void counted.push(result),
  })
  const deliver = async (...asked: readonly object[]) => {
    const given = asked.length === 0 ? [invalidation] : asked
    const entries = given.map(each => ({ key: '', payload: Buffer.from(JSON.stringify(each)), queuedMs: clock.now() }))
    await deliverEntries(entries)
  }
  const deliverEntries = async (entries: readonly object[]) => {
    const done = send!(entries as never, new AbortController().signal)
    let isDone = false
    const end = () => {
      isDone = true
    }
    done.then(end, end)
    // The lane waits for more before the next batch.
    for (let turn = 0; turn < 200 && !isDone; turn++) await clock.advance(100)
    await done
  }
  /** What the lane puts into its queue to settle what is owed. */
  const deliverSettling = () => deliverEntries([{ key: '', payload: Buffer.alloc(0), queuedMs: clock.now() }])
  return {
    lane,
    queues,
    clock,
    deliver,
    deliverEntries,
    deliverSettling,
    sent,
    counted,
    owe: () => topic.push(owed, [owedEntry], 1),
  }
}

const kinds = (sent: readonly PurgeCall[]) => sent.map(call => (call as unknown as { kind: string }).kind)

t.test('what is owed is settled by a purge of everything', async t => {
  const { lane, queues, deliver, deliverSettling, sent, owe } = await setUp(() => {})
  await owe()
  const before = queues.get(name)!
  await deliver()
  t.same(kinds(sent), ['url'])
  t.equal(queues.get(name), before + 1, 'with a batch after it')
  await deliverSettling()
  t.same(kinds(sent), ['url', 'all'])
  t.notOk(queues.has(owed))
  await deliver()
  t.equal(queues.get(name), before + 1, 'nothing is owed any more')
  await lane.stop()
})

t.test('what finds no room while everything is purged is still owed', async t => {
  const { lane, queues, deliver, deliverSettling, sent, owe } = await setUp((call, waiting) => {
    // Changes go on during the call, and fill the queue: the last of them is given up, and owed.
    const filled = waiting.get('filled') ?? 0
    if ((call as unknown as { kind: string }).kind !== 'all' || filled === 2) return
    waiting.set('filled', filled + 1)
    waiting.set(name, laneLimit)
    waiting.set(owed, 1)
  })
  await owe()
  await deliver()
  await deliverSettling()
  t.same(kinds(sent), ['url', 'all', 'all'], 'what came during the first one is covered by the second one')
  t.equal(queues.get(owed), 1, 'the call began before it was given up')
  await deliver()
  t.notOk(queues.has(owed), 'and the next one settles it')
  t.same(kinds(sent).slice(3), ['all', 'all'])
  t.notOk(queues.has(name), 'what waits is covered by it')
  await lane.stop()
})

const prefix = { ...invalidation, kind: 'prefix', items: ['/img/'] }
const refusal = new CallFailure('the right to purge everything is missing', { isPermanent: true, status: 403 })
const isAll = (call: PurgeCall) => kinds([call])[0] === 'all'

t.test(
  'what the settings do not allow is given up alone, and everything that is owed is not tried after each batch',
  async t => {
    const problem = 'only URLs can be purged: set the code'
    let isSet = false
    const { lane, queues, deliver, deliverSettling, sent } = await setUp(
      () => {},
      kind => (isSet || kind === 'url' ? undefined : problem),
    )
    await deliver(invalidation, prefix, { ...invalidation, items: ['/b'] })
    t.same(kinds(sent), ['url', 'url'], 'the others of the batch are sent')
    await deliverSettling()
    t.match(lane.state(), { deliveredTotal: 2, failedTotal: 1, lastError: problem })
    await deliver()
    await deliver({ ...invalidation, kind: 'all', items: [] }, { ...invalidation, items: ['/c'] })
    t.same(kinds(sent), ['url', 'url', 'url', 'url'], 'what is not possible covers nothing')
    await deliverSettling()
    t.match(lane.state(), { isOnline: true, deliveredTotal: 4, failedTotal: 2, lastError: problem })
    t.equal(queues.get(owed), 1, 'it is still shown')
    isSet = true
    await lane.sendNow(
      [{ kind: 'url', host: 'www.example.test', path: '/', isSoft: false }],
      new AbortController().signal,
    )
    await deliverSettling()
    t.same(kinds(sent).slice(4), ['url', 'all'], 'it is tried again after a test')
    t.notOk(queues.has(owed))
    t.match(lane.state(), { deliveredTotal: 4, lastError: '' })
    await lane.stop()
  },
)

t.test('everything that is refused repeats no delivered batch, until more is given up', async t => {
  let isRefused = true
  const { lane, queues, deliver, deliverSettling, sent, owe } = await setUp(call => {
    if (isRefused && isAll(call)) throw refusal
  })
  await owe()
  await deliver()
  await deliverSettling()
  for (let batch = 0; batch < 2; batch++) await deliver()
  t.same(kinds(sent), ['url', 'all', 'url', 'url'])
  t.match(lane.state(), { isOnline: true, deliveredTotal: 3, lastError: refusal.message })
  t.equal(queues.get(owed), 1)
  isRefused = false
  await deliver({ ...invalidation, kind: 'all', items: [] })
  t.notOk(queues.has(owed), 'everything was purged by hand')
  t.match(lane.state(), { lastError: '' })
  await lane.stop()
})

t.test('everything that was refused is tried again after an hour, whatever else is purged', async t => {
  let isRefused = true
  const { lane, queues, clock, deliver, deliverSettling, sent, owe } = await setUp(call => {
    if (isRefused && isAll(call)) throw refusal
  })
  const settling = () => queues.get(name)!
  await owe()
  await deliver()
  await deliverSettling()
  isRefused = false
  const before = settling()
  await clock.advance(3_500_000)
  await deliver()
  t.same(kinds(sent), ['url', 'all', 'url'])
  t.equal(settling(), before, 'not yet')
  t.match(lane.state(), { lastError: refusal.message })
  await clock.advance(100_000)
  t.equal(settling(), before + 1)
  await deliverSettling()
  t.same(kinds(sent), ['url', 'all', 'url', 'all'])
  t.notOk(queues.has(owed))
  t.match(lane.state(), { lastError: '' })
  await lane.stop()
})

t.test('a batch that is refused does not end the attempts to purge everything', async t => {
  let isRefused = true
  const { lane, queues, clock, deliver, deliverSettling, sent, owe } = await setUp(() => {
    if (isRefused) throw refusal
  })
  // Everything, then a batch, and nothing more for a while.
  await owe()
  await deliverSettling()
  await deliver()
  t.same(kinds(sent), ['all', 'url'])
  isRefused = false
  let before = queues.get(name)!
  await clock.advance(3_600_000)
  t.equal(queues.get(name), before + 1, 'tried again after an hour')
  await deliverSettling()
  t.notOk(queues.has(owed))

  // A batch alone: the next one that is taken is followed by everything.
  isRefused = true
  await deliver()
  isRefused = false
  before = queues.get(name)!
  await deliver()
  t.equal(queues.get(name), before + 1)
  await deliverSettling()
  t.same(kinds(sent), ['all', 'url', 'all', 'url', 'url', 'all'])
  t.notOk(queues.has(owed))
  await lane.stop()
})

t.test('everything that fails for now is tried again with pauses of its own', async t => {
  let isFailing = true
  const { lane, queues, clock, deliver, deliverSettling, sent, owe } = await setUp(call => {
    if (isFailing && isAll(call)) throw new CallFailure('busy')
  })
  await owe()
  await deliver()
  await deliverSettling()
  t.match(lane.state(), { isOnline: false, deliveredTotal: 1, lastError: 'busy' })
  // The pause after the batch is as long as the first one, so this is the second failure.
  await deliverSettling()
  const before = queues.get(name)!
  await deliver()
  t.same(kinds(sent), ['url', 'all', 'all', 'url'], 'no batch is sent twice, or waits')
  await clock.advance(2000)
  t.equal(queues.get(name), before + 1, 'it is queued behind what waits')
  isFailing = false
  await deliverSettling()
  t.notOk(queues.has(owed))
  t.match(lane.state(), { isOnline: true, deliveredTotal: 2, failedTotal: 0, lastError: '' })
  await lane.stop()
})

t.test('a full queue is sent as it is where everything cannot be purged', async t => {
  const { lane, queues, deliver, sent, owe } = await setUp(
    () => {},
    kind => (kind === 'all' ? 'set the code' : undefined),
  )
  queues.set(name, laneLimit)
  await owe()
  await deliver()
  t.same(kinds(sent), ['url'])
  t.equal(queues.get(name), laneLimit, 'nothing that waits is dropped')
  await lane.stop()
})

t.test('a full queue is emptied only where everything is taken', async t => {
  let isRefused = true
  const { lane, queues, deliver, sent, owe } = await setUp(call => {
    if (isRefused && isAll(call)) throw refusal
  })
  queues.set(name, laneLimit)
  await owe()
  await deliver()
  t.same(kinds(sent), ['all', 'url'], 'what waits is sent as it is')
  t.equal(queues.get(name), laneLimit)
  t.equal(queues.get(owed), 1)
  t.match(lane.state(), { deliveredTotal: 1, lastError: refusal.message })
  isRefused = false
  await lane.sendNow([], new AbortController().signal)
  await deliver()
  t.same(kinds(sent).slice(2), ['all', 'all'])
  t.notOk(queues.has(name))
  t.notOk(queues.has(owed))
  await lane.stop()
})

t.test('everything is purged before the calls of its batch: it covers them, or they go on without it', async t => {
  let isFailing = true
  const { lane, queues, clock, deliverEntries, sent, owe } = await setUp(call => {
    if (isFailing && isAll(call)) throw new CallFailure('busy')
  })
  const settling = { key: '', payload: Buffer.alloc(0), queuedMs: clock.now() }
  const purge = { ...settling, payload: Buffer.from(JSON.stringify(invalidation)) }
  await owe()
  await deliverEntries([purge, settling])
  t.same(kinds(sent), ['all', 'url'])
  t.match(lane.state(), { isOnline: true, deliveredTotal: 1 })
  isFailing = false
  await clock.advance(2000)
  await deliverEntries([settling, purge])
  t.same(kinds(sent).slice(2), ['all'])
  t.match(lane.state(), { deliveredTotal: 2 })
  t.notOk(queues.has(owed))
  await lane.stop()
})

t.test('only calls that were made are counted', async t => {
  const url = { kind: 'url', host: 'www.example.test', path: '/', isSoft: false } as const
  const { signal } = new AbortController()
  const possible = await setUp(
    call => {
      if (kinds([call])[0] === 'tag') throw refusal
    },
    kind => (kind === 'all' ? 'set the code' : undefined),
  )
  await possible.lane.sendNow([url], signal)
  await t.rejects(possible.lane.sendNow([{ kind: 'all', isSoft: false }], signal), { message: 'set the code' })
  await t.rejects(possible.lane.sendNow([{ kind: 'tag', tag: 'a', isSoft: false }], signal), refusal)
  t.same(possible.counted, ['success', 'failure'])
  await possible.lane.stop()

  const waiting = await setUp(
    () => {},
    () => undefined,
    'Set domains.',
  )
  await t.rejects(waiting.lane.sendNow([url], signal), { message: 'Set domains.' })
  await t.rejects(waiting.deliver(), { message: 'Set domains.' }, 'it waits')
  t.same(waiting.counted, [])
  t.match(waiting.lane.state(), { isOnline: false, lastError: 'Set domains.', lastAttemptMs: undefined })
  await waiting.lane.stop()
})

t.test('what is not possible is not given up where something possible of its batch covers it', async t => {
  const glob = { ...invalidation, kind: 'glob', items: ['/img/*.png'] }
  const { lane, queues, deliver, sent } = await setUp(
    () => {},
    kind => (kind === 'pattern' || kind === 'tag' ? 'set the code' : undefined),
  )
  const tag = { ...invalidation, kind: 'tag', items: ['a'] }
  await deliver(glob, prefix, tag)
  t.same(kinds(sent), ['prefix'])
  t.match(lane.state(), { deliveredTotal: 2, failedTotal: 1 }, 'only the tag')
  queues.delete(owed)
  await deliver({ ...glob, items: ['/img/*.png', '/img/b*'] }, prefix, glob)
  t.notOk(queues.has(owed))
  await deliver({ ...glob, items: ['/other/*.png'] }, { ...prefix, isSoft: true }, glob)
  t.match(lane.state(), { deliveredTotal: 6, failedTotal: 3 }, 'a soft purge covers no hard one')
  t.equal(queues.get(owed), 1)
  await lane.stop()
})
