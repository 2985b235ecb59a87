/** The targets of a plugin over the real settings and the real queue: reconnects, states, the direct way. */
import { definePlugin } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import type { QueueTopic } from 'svc/plugins/queue/api'
import standard from 'svc/plugins/standard'
import { startKernel, temporaryFolder, until } from 'svc/testing'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { type AnyTargetKind, createLossLog, createTargets, type DirectWay, type Target, type Targets } from '../api.ts'

type NewsTarget = Target<string>

/** Connections, in order: each with its address and the messages that it was sent. */
interface Connection {
  readonly address: string
  readonly got: string[]
  isClosed: boolean
}

async function start(t: Test, createDirectWay?: () => DirectWay) {
  const connections: Connection[] = []
  const state = { failure: undefined as string | undefined }
  const kind: AnyTargetKind<NewsTarget> = {
    description: 'A target of the test.',
    settings: Type.Object({ address: Type.String({ default: '', description: 'Its address.' }) }),
    endpoint: ({ address }) => address,
    connect({ address }) {
      const connection: Connection = { address, got: [], isClosed: false }
      connections.push(connection)
      return {
        batchMax: 10,
        async send(messages) {
          if (state.failure !== undefined) throw new Error(state.failure)
          connection.got.push(...messages)
        },
        async close() {
          connection.isClosed = true
        },
      }
    },
  }
  let targets: Targets<NewsTarget> | undefined
  let topic: QueueTopic | undefined
  const plugin = definePlugin({
    name: 'news',
    requires: ['queue', 'settings'],
    setup({ services: { queue, settings }, threads, ports: { clock }, log }) {
      topic = queue.topic('news')
      const created = createTargets<string, NewsTarget>({
        threads,
        settings,
        metrics: noMetrics,
        topic,
        clock,
        log,
        messages: 'news',
        subsystemPrefix: 'news_',
        idPrefix: '',
        about: { enable: 'On.', queueLimit: 'Limit.', what: 'news' },
        measuresDisabled: true,
        roundTripsMax: 2,
        decode: ({ payload }) => payload.toString(),
        createDirectWay,
      })
      targets = created
      return { start: () => created.start([{ id: 'fake', plugin: 'news', value: kind }]), stop: created.stop }
    },
  })
  const kernel = await startKernel({
    plugins: [...standard, plugin],
    config: {
      storage: { endpoints: [temporaryFolder(t)] },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser: 'rootaccess', rootPassword: 'root password' },
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
    },
  })
  t.teardown(() => kernel.stop())
  const { administration } = kernel.services.settings
  return {
    connections,
    state,
    targets: targets!,
    topic: topic!,
    kernel,
    set: (settings: Readonly<Record<string, string>>) => administration.update('news_fake', settings),
    remove: () => administration.reset('news_fake'),
    push: (...texts: readonly string[]) =>
      topic!.push(
        'fake:_',
        texts.map(text => ({ key: 'k', payload: Buffer.from(text) })),
        100,
      ),
    messages: () => kernel.logs.filter(({ plugin }) => plugin === 'news').map(({ msg }) => msg),
  }
}

t.test('a target is connected while it is enabled, and reconnected when its settings change', async t => {
  const { connections, set, remove, push, targets, topic } = await start(t)
  await push('before')
  await set({ address: 'a' })
  t.match(await targets.states(), [{ id: 'fake:_', endpoint: 'a', isOnline: false, pending: 1 }])
  await set({ enable: 'on' })
  await until(() => connections[0]?.got.length === 1)
  t.match(await targets.states(), [{ isOnline: true, failedTotal: 0, lastError: '' }])
  await set({ enable: 'on' })
  await set({ address: 'b' })
  await until(() => connections.length === 2)
  t.same(
    connections.map(({ address, isClosed }) => [address, isClosed]),
    [
      ['a', true],
      ['b', false],
    ],
    'settings that were stored without a change keep the connection',
  )
  await push('second')
  await until(() => connections[1]!.got.length === 1)
  await remove()
  await until(() => connections[1]!.isClosed)
  await push('kept')
  t.same(await targets.states(), [])
  t.equal((await topic.status('fake:_')).pending, 1, 'the queue of a removed target keeps its entries')
})

t.test('a failure is logged once, shown until a success, and counted', async t => {
  const { state, set, push, targets, connections, messages } = await start(t)
  state.failure = 'it is down'
  await set({ enable: 'on' })
  await push('1', '2')
  const shown = async () => (await targets.states())[0]!
  await until(async () => (await shown()).failedTotal >= 2)
  t.match(await shown(), { isOnline: false, lastError: 'it is down', lastErrorMs: Number, lastSuccessMs: undefined })
  state.failure = undefined
  const { failedTotal } = await shown()
  targets.deliveryOf(await shown()).retryNow()
  await until(() => connections[0]!.got.length === 2)
  t.match(await shown(), { isOnline: true, lastError: '', lastErrorMs: undefined, failedTotal, lastSuccessMs: Number })
  t.same(messages(), [
    'a target of news is enabled',
    'a target takes no news: they are queued',
    'a target takes news again',
  ])
})

t.test('a use of the connected target, such as a test, is an attempt: its state says how that ended', async t => {
  const { state, set, targets } = await start(t)
  await set({ enable: 'on' })
  const shown = async () => (await targets.states())[0]!
  await until(async () => (await shown()).isOnline)
  const use = async () => {
    const [target] = await targets.configured()
    // Settings that are read twice may be two objects.
    await targets
      .deliveryOf(target!)
      .use({ ...target!.values }, connected => connected.send(['test'], AbortSignal.timeout(90_000)))
  }
  state.failure = 'nobody listens'
  await t.rejects(use(), { message: 'nobody listens' })
  t.match(await shown(), { isOnline: false, lastError: 'nobody listens' })
  state.failure = undefined
  await use()
  t.match(await shown(), { isOnline: true, lastError: '' })
})

t.test('settings that are not in force connect a target for one use', async t => {
  const { set, targets, connections } = await start(t)
  await set({ address: 'a' })
  const [target] = await targets.configured()
  await targets.deliveryOf(target!).use(target!.values, async connected => {
    await connected.send(['test'], AbortSignal.timeout(90_000))
  })
  t.same(connections, [{ address: 'a', got: ['test'], isClosed: true }])
})

t.test(
  'the direct way is closed before its target, and its messages move to the queue when the target is disabled',
  async t => {
    const steps: string[] = []
    const { set, connections, targets } = await start(t, () => ({
      pending: 3,
      open: () => void steps.push('open'),
      async close() {
        steps.push(`close, the target is ${connections.some(({ isClosed }) => !isClosed) ? 'open' : 'closed'}`)
      },
      async moveToQueue() {
        steps.push(`move to a queue of ${targets.enabled().length} enabled targets`)
      },
    }))
    await set({ enable: 'on', queue_limit: '7' })
    await until(() => steps.length === 2)
    t.same(steps.splice(0), ['close, the target is closed', 'open'])
    const [delivery] = targets.enabled()
    t.equal((await targets.states())[0]!.pending, 3)
    await set({ enable: 'off' })
    await until(() => steps.length === 2)
    t.same(steps, ['close, the target is open', 'move to a queue of 0 enabled targets'])
    t.equal(delivery!.queueLimit, 7, 'with the limit of its last connection')
  },
)

t.test('losses are counted for each target and logged once a minute', t => {
  const logged: unknown[] = []
  const counted: unknown[] = []
  let nowMs = 0
  const losses = createLossLog({
    counter: { inc: (labels: object, count: number) => counted.push({ ...labels, count }) } as never,
    clock: { monotonicNs: () => BigInt(nowMs) * 1_000_000n } as never,
    log: { warn: (fields: object) => logged.push(fields) } as never,
    message: 'lost',
  })
  for (const count of [1, 2]) losses.add('a', count)
  losses.add('b', 5)
  nowMs = 60_000
  losses.add('a', 4)
  t.same(logged, [
    { target: 'a', count: 1 },
    { target: 'b', count: 5 },
    { target: 'a', count: 6 },
  ])
  t.same([losses.count('a'), losses.count('b'), losses.count('c')], [7, 5, 0])
  t.equal(counted.length, 4)
  t.end()
})
