/** The life of plugins: order, failure, deadlines, degrading, stopping; and what tests of plugins build on. */
import type { AnyPlugin, KernelState, PluginContext, PluginParts } from 'svc/kernel'
import { contractSuite, createFakeClock, createSeededRandom, openPoints, seeded, startKernel } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import { createKernel } from '../kernel.ts'
import { createSingleThread } from '../threads/calls.ts'

type Phase = 'start' | 'serve' | 'drain' | 'stop'

interface PluginOptions extends Partial<Omit<AnyPlugin, 'setup'>> {
  readonly on?: Partial<Record<Phase, () => Promise<void> | void>>
  readonly setup?: (context: PluginContext<never, never, never>) => PluginParts<never> | undefined
}

/** A plugin that writes down what happens to it. */
function tracer(trace: string[], name: string, { on = {}, setup, ...rest }: PluginOptions = {}): AnyPlugin {
  const phase = (which: Phase) => () => {
    trace.push(`${which} ${name}`)
    return on[which]?.()
  }
  return {
    name,
    ...rest,
    setup(context: PluginContext<never, never, never>) {
      trace.push(`setup ${name}`)
      const services = Object.fromEntries((rest.provides ?? []).map((service: string) => [service, { service }]))
      const parts = { start: phase('start'), serve: phase('serve'), drain: phase('drain'), stop: phase('stop') }
      return { services, ...parts, ...setup?.(context) }
    },
  } as unknown as AnyPlugin
}

const never = () => new Promise<void>(() => {})
const fail = (message: string) => () => {
  throw new Error(message)
}
const failLater = (message: string) => async () => {
  throw new Error(message)
}

t.test('plugins live in dependency order and end in reverse; a stop happens once', async t => {
  const trace: string[] = []
  const kernel = await startKernel({
    plugins: [
      tracer(trace, 'a', { requires: ['x'] }),
      tracer(trace, 'b'),
      tracer(trace, 'c', { provides: ['x'] }),
    ] as AnyPlugin[],
  })
  const forward = (phase: string) => ['c', 'a', 'b'].map(name => `${phase} ${name}`)
  t.same(trace.splice(0), ['setup', 'start', 'serve'].flatMap(forward))
  const backward = (phase: string) => forward(phase).reverse()
  t.same(await Promise.all([kernel.stop(), kernel.stop()]), [[], []])
  t.same(trace.splice(0), ['drain', 'stop'].flatMap(backward))
  t.same(await kernel.stop(), [])
  t.same(trace, [])
})

t.test('a failed start stops what had started, in reverse, and names the plugin', async t => {
  for (const start of [fail('no room'), failLater('no room')]) {
    const trace: string[] = []
    const plugins = [
      tracer(trace, 'a'),
      tracer(trace, 'b', { on: { stop: fail('stuck') } }),
      tracer(trace, 'c', { on: { start } }),
      tracer(trace, 'd'),
    ]
    await t.rejects(startKernel({ plugins }), {
      name: 'PluginError',
      plugin: 'c',
      message: 'plugin "c": start: no room',
    })
    t.same(trace.slice(4), ['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a'])
  }
})

t.test('a failed serve names the plugin and everything is drained and stopped', async t => {
  const trace: string[] = []
  const plugins = [tracer(trace, 'a'), tracer(trace, 'b', { on: { serve: failLater('port taken') } })]
  await t.rejects(startKernel({ plugins }), { message: 'plugin "b": serve: port taken' })
  t.same(trace.slice(6), ['drain b', 'drain a', 'stop b', 'stop a'])
})

t.test('each phase has a deadline; a plugin that misses it in drain or stop does not delay the others', async t => {
  const clock = createFakeClock()
  const trace: string[] = []
  const starting = startKernel({
    plugins: [tracer(trace, 'a'), tracer(trace, 'slow', { on: { start: never } })],
    ports: { clock },
  })
  const outcome = t.rejects(starting, { message: 'plugin "slow": start: not done after 60000 ms' })
  await clock.advance(59_999)
  t.notOk(trace.includes('stop a'))
  await clock.advance(1)
  await outcome
  t.same(trace.slice(-2), ['stop slow', 'stop a'])

  const own = startKernel({
    plugins: [tracer([], 'quick', { startTimeoutMs: 5, on: { start: never } })],
    ports: { clock },
  })
  const ownOutcome = t.rejects(own, { message: 'plugin "quick": start: not done after 5 ms' })
  await clock.advance(5)
  await ownOutcome

  trace.length = 0
  const kernel = await startKernel({
    plugins: [
      tracer(trace, 'a'),
      tracer(trace, 'b', { on: { drain: never } }),
      tracer(trace, 'c', { on: { stop: never }, stopTimeoutMs: 7 }),
    ],
    ports: { clock },
  })
  const stopped = kernel.stop()
  await clock.advance(30_000)
  t.same(trace.slice(-2), ['drain a', 'stop c'])
  await clock.advance(7)
  t.match(await stopped, [
    { message: 'plugin "b": drain: not done after 30000 ms' },
    { message: 'plugin "c": stop: not done after 7 ms' },
  ])
  t.same(trace.slice(-6), ['drain c', 'drain b', 'drain a', 'stop c', 'stop b', 'stop a'])
  t.match(
    kernel.logs.filter(({ level }) => level === 'error').map(({ plugin, msg }) => [plugin, msg]),
    [
      ['b', 'drain failed'],
      ['c', 'stop failed'],
    ],
  )
  t.equal(clock.pending(), 0, 'no deadline is left running')
})

t.test('a slow start names the plugin that it waits for, at growing intervals', async t => {
  const clock = createFakeClock()
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const { promise: bound, resolve: bind } = Promise.withResolvers<void>()
  const starting = startKernel({
    plugins: [tracer([], 'quick'), tracer([], 'slow', { on: { start: () => opened, serve: () => bound } })],
    ports: { clock },
  })
  for (const ms of [1999, 1, 3999, 1, 7999]) await clock.advance(ms)
  open()
  await clock.advance(1)
  await clock.advance(2000)
  bind()
  const kernel = await starting
  t.same(
    kernel.logs
      .filter(({ msg }) => msg === 'still starting')
      .map(({ plugin, phase, elapsedMs }) => [plugin, phase, elapsedMs]),
    [
      ['slow', 'start', 2000],
      ['slow', 'start', 6000],
      ['slow', 'serve', 2000],
    ],
  )
  t.equal(clock.pending(), 0)
  await kernel.stop()
})

t.test('a failed plugin that may degrade is left out, with the degradable plugins that require it', async t => {
  const trace: string[] = []
  const degradable = { onStartFailure: 'degrade' } as const
  const plugins = [
    tracer(trace, 'a', { ...degradable, provides: ['x'], on: { start: failLater('broker is away') } } as PluginOptions),
    tracer(trace, 'b', { ...degradable, requires: ['x'] } as PluginOptions),
    tracer(trace, 'c'),
  ]
  const kernel = await startKernel({ plugins })
  t.equal(kernel.kernel.state(), 'ready')
  t.same(kernel.kernel.degraded(), [
    { plugin: 'a', error: 'plugin "a": start: broker is away' },
    { plugin: 'b', error: 'plugin "b": start: it requires "x" of "a", which failed' },
  ])
  t.same(await kernel.stop(), [])
  t.same(trace.slice(3), ['start a', 'stop a', 'start c', 'serve c', 'drain c', 'stop c'])
  const needy = tracer(trace, 'needy', { requires: ['x'] } as PluginOptions)
  await t.rejects(startKernel({ plugins: [...plugins, needy] }), {
    message: 'plugin "needy": start: it requires "x" of "a", which failed',
  })
})

t.test('the time that each start took is known once it has ended, and logged', async t => {
  const started: unknown[] = []
  const watcher = tracer([], 'watcher', {
    requires: ['kernel'],
    setup(context: { services: { kernel: import('svc/kernel').KernelService } }) {
      const times = () => context.services.kernel.plugins().map(({ startMs }) => typeof startMs)
      return { start: () => started.push(times()), serve: () => started.push(times()) }
    },
  } as never)
  const plugins = [tracer([], 'first'), watcher, tracer([], 'last')]
  const kernel = await startKernel({ plugins })
  t.same(started, [
    ['number', 'undefined', 'undefined'],
    ['number', 'number', 'number'],
  ])
  const { startMs } = kernel.logs.find(({ msg }) => msg === 'plugins have started') as { startMs: object }
  t.same(Object.keys(startMs), ['first', 'watcher', 'last'])
  await kernel.stop()
})

t.test('a stop while plugins begin to serve waits for one, and the others do not begin', async t => {
  const trace: string[] = []
  let go = () => {}
  const opened = new Promise<void>(resolve => {
    go = resolve
  })
  const { ports, log } = await startKernel({ plugins: [], until: 'set-up' })
  const kernel = createKernel({
    plugins: [tracer(trace, 'a', { on: { serve: () => opened } }), tracer(trace, 'b')],
    config: {},
    threads: createSingleThread(log),
    ports,
    log,
  })
  kernel.setup()
  await kernel.start()
  trace.length = 0
  const serving = kernel.serve()
  const nextTurn = () => new Promise(resolve => setImmediate(resolve))
  await nextTurn()
  const stopped = kernel.stop()
  await nextTurn()
  t.same(trace.splice(0), ['serve a'])
  go()
  await serving
  t.same(await stopped, [])
  t.same(trace, ['drain b', 'drain a', 'stop b', 'stop a'])
})

t.test('a stop without a start starts nothing', async t => {
  const trace: string[] = []
  const kernel = await startKernel({ plugins: [tracer(trace, 'a')], until: 'set-up' })
  t.same(await kernel.stop(), [])
  t.same(trace, ['setup a'])
})

t.test('a stop during the start waits for the plugin that is starting and goes no further', async t => {
  const trace: string[] = []
  let go = () => {}
  const opened = new Promise<void>(resolve => {
    go = resolve
  })
  const { ports, log } = await startKernel({ plugins: [], until: 'set-up' })
  const kernel = createKernel({
    plugins: [tracer(trace, 'a', { on: { start: () => opened } }), tracer(trace, 'b')],
    config: {},
    threads: createSingleThread(log),
    ports,
    log,
  })
  kernel.setup()
  const started = t.rejects(kernel.start(), /stopped while starting/)
  await new Promise(resolve => setImmediate(resolve))
  const stopped = kernel.stop()
  await new Promise(resolve => setImmediate(resolve))
  t.same(trace.slice(2), ['start a'])
  go()
  await started
  t.same(await stopped, [])
  t.same(trace.slice(2), ['start a', 'stop a'])
  t.equal(kernel.service.state(), 'stopped')
})

t.test('an optional service is handed over where its plugin is loaded, and its plugin lives first', async t => {
  const trace: string[] = []
  const seen: unknown[] = []
  const user = tracer(trace, 'user', {
    optional: ['x'],
    setup: context => {
      seen.push(context.services)
      return undefined
    },
  } as PluginOptions)
  const provider = tracer(trace, 'provider', { provides: ['x'] } as PluginOptions)
  const alone = await startKernel({ plugins: [user] })
  t.same(seen.splice(0), [{}])
  t.match(alone.kernel.plugins(), [{ name: 'user', version: '0.0.0-test', dependsOn: [] }])
  t.same(await alone.stop(), [])
  trace.length = 0

  const both = await startKernel({ plugins: [user, provider] })
  t.same(seen, [{ x: { service: 'x' } }])
  t.ok(Object.isFrozen(seen[0]))
  t.same(
    trace,
    ['setup', 'start', 'serve'].flatMap(phase => [`${phase} provider`, `${phase} user`]),
  )
  t.match(both.kernel.plugins(), [{ name: 'provider' }, { name: 'user', dependsOn: ['provider'] }])
  t.same(await both.stop(), [])
})

t.test('a plugin that holds an optional service of a failed plugin does not start either', async t => {
  const failing = tracer([], 'a', {
    onStartFailure: 'degrade',
    provides: ['x'],
    on: { start: fail('away') },
  } as PluginOptions)
  const user = tracer([], 'user', { optional: ['x'] } as PluginOptions)
  await t.rejects(startKernel({ plugins: [failing, user] }), {
    message: 'plugin "user": start: it requires "x" of "a", which failed',
  })
})

t.test('an optional contribution to a point without an owner is dropped, one to an owned point is kept', async t => {
  const giver = tracer([], 'giver', {
    setup: context => {
      context.contribute('p.q' as never, 'one', 1 as never, { optional: true })
      return undefined
    },
  } as PluginOptions)
  const alone = await startKernel({ plugins: [giver] })
  t.same(
    alone.kernel.points().map(({ name }) => name),
    ['cli.command'],
  )
  await alone.stop()
  const owned = await startKernel({
    plugins: [giver, tracer([], 'owner', { points: openPoints('p.q' as never) } as never)],
  })
  t.same(owned.point('p.q' as never).list(), [{ id: 'one', plugin: 'giver', value: 1 }])
  await owned.stop()
})

t.test(
  'what a plugin lists is bound to its services, and left out where one of them or the point is not there',
  async t => {
    const points = {
      'p.q': {
        cardinality: 'many',
        schema: Type.Unknown(),
        listed: {
          id: ({ id }: { id: string }) => id,
          bind: (_entry: unknown, services: object) => Object.keys(services),
        },
      },
    }
    const entry = (id: string, ...uses: string[]) => ({ id, uses })
    const giver = tracer([], 'giver', {
      requires: ['own'],
      optional: ['absent', 'replaced'],
      provides: ['made'],
      internal: ['hidden'],
      contributes: {
        'p.q': [
          entry('plain'),
          entry('all', 'own', 'made', 'hidden', 'replaced', 'kernel', 'ports'),
          entry('no', 'absent'),
        ],
      },
      setup: () => ({ internal: { hidden: {}, replaced: {} } }),
    } as PluginOptions)
    const owner = tracer([], 'owner', { provides: ['own'], points } as never)
    const kernel = await startKernel({ plugins: [giver, owner] })
    const services = ['kernel', 'ports', 'own', 'made', 'hidden', 'replaced']
    t.same(
      kernel.point('p.q' as never).list(),
      ['plain', 'all'].map(id => ({ id, plugin: 'giver', value: services })),
    )
    t.notOk('hidden' in kernel.services, 'no other plugin could get it')
    await kernel.stop()
    const alone = await startKernel({ plugins: [giver, tracer([], 'other', { provides: ['own'] } as never)] })
    t.notOk(alone.kernel.points().some(({ name }) => name === 'p.q'))
    await alone.stop()
  },
)

t.test('a plugin gets its own frozen configuration and exactly the services that it requires', async t => {
  let seen: { config: Record<string, unknown>; services: Record<string, unknown> } | undefined
  const plugins = [
    tracer([], 'a', { provides: ['x', 'y'] } as PluginOptions),
    tracer([], 'b', {
      requires: ['y'],
      config: Type.Object({ size: Type.Integer({ default: 1 }), list: Type.Array(Type.String(), { default: ['p'] }) }),
      setup: context => {
        seen = context as never
        return undefined
      },
    } as PluginOptions),
  ]
  const kernel = await startKernel({ plugins, config: { b: { size: 2 } } })
  t.same(seen?.config, { size: 2, list: ['p'] })
  t.same(Object.keys(seen?.services ?? {}), ['y'])
  t.ok(Object.isFrozen(seen?.services) && Object.isFrozen(seen?.config) && Object.isFrozen(seen?.config.list))
  t.equal((kernel.services as unknown as Record<string, unknown>).y, seen?.services.y)
  await kernel.stop()
  await t.rejects(startKernel({ plugins, config: { b: { size: 'x' } } }), /b.size \(given\) must be integer/)
  await t.rejects(startKernel({ plugins, config: { c: { size: 1 } } }), /c.size \(given\) is unknown/)
})

t.test('errors of a set-up are refused, with the name of the plugin', async t => {
  const points = { ...openPoints('p.q' as never), 'p.only': { cardinality: 'many', schema: Type.Unknown() } }
  const setUp = (options: PluginOptions) =>
    startKernel({
      plugins: [tracer([], 'owner', { points } as never), tracer([], 'bad', options)],
    })
  const context = (use: (context: PluginContext<never, never, never>) => unknown): PluginOptions => ({
    setup(context) {
      use(context)
      return undefined
    },
  })
  const refusals: [PluginOptions, RegExp][] = [
    [context(fail('oops')), /^plugin "bad": set-up: oops$/],
    [{ provides: ['x'], setup: () => ({ services: {} }) } as never, /did not return the service "x" that it provides/],
    [{ setup: () => ({ services: { z: 1 } }) } as never, /returned the service "z", which is not in "provides"/],
    [context(c => c.point('p.q' as never)), /"bad" does not own the extension point "p.q"/],
    [
      context(c => c.contribute('p.r' as never, 'i', 1 as never)),
      /"bad" contributes "i" to "p.r", a point that no plugin/,
    ],
    [context(c => [1, 2].map(() => c.contribute('p.q' as never, 'i', 1 as never))), /by both "bad" and "bad"/],
    [
      { contributes: { 'cli.command': [{ name: 'go', usage: '', examples: [] } as never] } },
      /^"bad" contributes "go" to "cli.command": it must have required properties summary$/,
    ],
    [
      context(c => c.contribute('cli.command', 'go', {} as never)),
      /"bad" contributes "go" to "cli.command" during set-up: list it in "contributes"$/,
    ],
    [
      {
        contributes: {
          'cli.command': [{ name: 'go', summary: 'Goes.', usage: '', examples: [], uses: ['x'] } as never],
        },
      },
      /^plugin "bad": set-up: what it lists for "cli.command" uses "x", a service that it does not name$/,
    ],
    [{ contributes: { 'p.only': [{}] } as never }, /"bad" lists contributions to "p.only", which takes no lists$/],
    [context(c => [1, 2].map(() => c.threads.handle('n', () => 1))), /"n" has two handlers in thread 0/],
  ]
  for (const [options, message] of refusals) {
    await t.rejects(setUp(options), { message })
  }
  const asynchronous = { name: 'bad', async setup() {} } as unknown as AnyPlugin
  await t.rejects(startKernel({ plugins: [asynchronous] }), /plugin "bad": set-up: setup must be synchronous/)
})

t.test('points are read by their owner after set-up, and closed to all plugins', async t => {
  type Context = PluginContext<never, never, never>
  let contributor: Context | undefined
  let listed: unknown
  const owner = tracer([], 'owner', {
    points: openPoints('p.q' as never),
    setup(context: Context) {
      const point = context.point('p.q' as never) as { list(): unknown }
      t.throws(() => point.list(), /cannot be read before/)
      return {
        start: () => {
          listed = point.list()
        },
      }
    },
  } as never)
  const other = tracer([], 'other', {
    setup(context: Context) {
      contributor = context
      context.contribute('p.q' as never, 'one', 1 as never)
      return undefined
    },
  } as never)
  const kernel = await startKernel({ plugins: [owner, other] })
  t.same(listed, [{ id: 'one', plugin: 'other', value: 1 }])
  t.throws(
    () => contributor?.contribute('p.q' as never, 'two', 2 as never),
    /"other" contributes "two" to "p.q" after set-up/,
  )
  t.throws(() => contributor?.background({} as never), /"other" adds the background worker .* after set-up/)
  t.match(kernel.kernel.points(), [{ name: 'cli.command' }, { name: 'p.q', owner: 'owner' }])
  await kernel.stop()
})

t.test('the kernel service tells state, plugins and facts, and passes on one request to stop', async t => {
  const states: KernelState[] = []
  const reasons: string[] = []
  const clock = createFakeClock(1000)
  const watcher = tracer([], 'watcher', {
    requires: ['kernel'],
    version: '1.2.3',
    setup(context: { services: { kernel: import('svc/kernel').KernelService } }) {
      const { kernel } = context.services
      kernel.onState(state => states.push(state))
      kernel.onState(() => states.push('never' as KernelState))()
      t.equal(kernel.state(), 'starting')
      return { start: () => kernel.announce('mode', 'test'), serve: () => t.equal(kernel.state(), 'starting') }
    },
  } as never)
  const plugins = [watcher, tracer([], 'plain')]
  const { kernel, announcements, stop } = await startKernel({
    plugins,
    ports: { clock },
    onStopRequest: reason => reasons.push(reason),
  })
  t.equal(kernel.startedAtMs, 1000)
  t.same(announcements, { mode: 'test' })
  t.match(kernel.plugins(), [
    { name: 'watcher', version: '1.2.3', dependsOn: [], startMs: Number },
    { name: 'plain', version: '0.0.0-test', dependsOn: [], startMs: Number },
  ])
  kernel.requestStop('first')
  kernel.requestStop('second')
  t.same(reasons, ['first'])
  await stop()
  t.same(states, ['ready', 'draining', 'stopped'])
})

t.test('background workers go on while there is more, pause, back off, and stop', async t => {
  const clock = createFakeClock()
  const answers: ('more' | 'idle' | 'done' | Error)[] = []
  const calls: number[] = []
  let signal: AbortSignal | undefined
  const plugin = tracer([], 'tidy', {
    setup(context: PluginContext<never, never, never>) {
      context.background({
        name: 'sweep',
        pauseMs: 100,
        backoffMsMax: 3000,
        status: () => `${answers.length} left`,
        async work(given) {
          signal = given
          calls.push(clock.now())
          const answer = answers.shift() ?? 'idle'
          if (answer instanceof Error) throw answer
          return answer
        },
      })
      return undefined
    },
  } as never)
  const run = async (...next: typeof answers) => {
    answers.push(...next)
    calls.length = 0
    const kernel = await startKernel({ plugins: [plugin], ports: { clock } })
    return { ...kernel, from: clock.now() }
  }
  const turns = async (count: number) => {
    for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve))
  }

  const first = await run('more', 'more', 'idle', 'idle')
  await turns(10)
  t.equal(calls.length, 3, 'works without a pause as long as there is more')
  await clock.advance(99)
  t.equal(calls.length, 3)
  await clock.advance(1)
  t.equal(calls.length, 4)
  t.match(first.kernel.workers(), [
    { plugin: 'tidy', name: 'sweep', state: 'pausing', units: 4, failures: 0, error: undefined, status: '0 left' },
  ])
  await first.stop()
  t.equal(signal?.aborted, true)
  t.same(first.kernel.workers(), [])
  t.equal(clock.pending(), 0)

  const second = await run(new Error('a'), new Error('b'), new Error('c'), new Error('d'), 'idle', new Error('e'))
  await turns(3)
  t.match(second.kernel.workers(), [{ state: 'failing', failures: 1, error: 'a' }])
  await clock.advance(9000)
  await clock.advance(100)
  const delays = calls.slice(1).map((at, index) => at - calls[index])
  t.same(delays.slice(0, 5), [1000, 2000, 3000, 3000, 100], 'pauses double up to the longest, and start anew')
  const failures = second.logs.filter(({ level }) => level === 'warn')
  t.match(failures[1], { msg: 'background worker failed', worker: 'sweep', plugin: 'tidy', retryInMs: 2000 })
  await second.stop()

  const third = await run('done')
  await turns(3)
  await clock.advance(100_000)
  t.same([calls.length, third.kernel.workers()[0].state], [1, 'done'])
  await third.stop()
})

t.test('the fake clock runs due timers in order, also those that are set meanwhile', async t => {
  const clock = createFakeClock(0)
  const seen: string[] = []
  clock.after(20, () => seen.push(`b ${clock.now()}`))
  clock.after(10, () => {
    seen.push(`a ${clock.now()}`)
    clock.after(5, () => seen.push(`c ${clock.now()}`))
  })
  const cancel = clock.after(12, () => seen.push('never'))
  cancel()
  await clock.advance(19)
  t.same(seen, ['a 10', 'c 15'])
  await clock.advance(1)
  t.same(seen, ['a 10', 'c 15', 'b 20'])
  t.equal(clock.monotonicNs(), 20_000_000n)
})

t.test('seeded randomness repeats, differs by seed, and fills its range', async t => {
  const draw = (seed: number) => {
    const random = createSeededRandom(seed)
    return [random.float(), random.integer(1000), random.bytes(8).toString('hex'), random.pick(['a', 'b', 'c'])]
  }
  t.same(draw(7), draw(7))
  t.notSame(draw(7), draw(8))
  const random = createSeededRandom(1)
  const counts = new Array(10).fill(0)
  for (let i = 0; i < 10_000; i++) counts[random.integer(10)]++
  t.ok(
    counts.every(count => count > 850 && count < 1150),
    counts.join(' '),
  )
  t.throws(() => random.pick([]), RangeError)
})

t.test('a failed randomized test prints how to repeat it', async t => {
  const comments: string[] = []
  const fakeTest = (passing: boolean) =>
    ({ comment: (text: string) => comments.push(text), passing: () => passing }) as never
  await seeded(fakeTest(true), () => {})
  t.same(comments, [])
  await t.rejects(seeded(fakeTest(true), fail('bad luck')), /bad luck/)
  await seeded(fakeTest(false), () => {})
  t.match(comments, [/^SEED=\d+ repeats this run$/, /^SEED=\d+ repeats this run$/])
  t.equal(comments.length, 2)
})

t.test('a contract suite runs each promise against a fresh subject', async t => {
  const subjects: number[] = []
  const suite = contractSuite<{ id: number }>('counting', {
    'begins fresh': (t, subject) => {
      t.equal(subject.id, 1)
    },
    'begins fresh again': (t, subject) => {
      t.equal(subject.id, 2)
    },
  })
  await suite(t, () => ({ id: subjects.push(0) }))
  t.equal(subjects.length, 2)
  await t.rejects(
    contractSuite('empty', {})(t, () => 0),
    /"empty" has no cases/,
  )
})
