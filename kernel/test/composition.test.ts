/** The parts that the kernel is made of: order of plugins, extension points, units. */
import fc from 'fast-check'
import { type AnyPlugin, formatDuration, formatSize, parseDuration, parseSize } from 'svc/kernel'
import { openPoints } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import { composePlugins, PluginGraphError } from '../composition.ts'
import { createPoints } from '../points.ts'

const builtIn = { services: { kernel: {} }, points: ['cli.command'] }

function plugin(name: string, requires: string[] = [], provides: string[] = [], points: string[] = []): AnyPlugin {
  return { name, requires, provides, points: openPoints(...(points as never[])), setup() {} } as unknown as AnyPlugin
}

function order(...plugins: AnyPlugin[]): string[] {
  const names: string[] = []
  const setUp = (plugin: AnyPlugin) => {
    names.push(plugin.name)
    return Object.fromEntries((plugin.provides ?? []).map((name: string) => [name, {}]))
  }
  composePlugins({ plugins, builtIn, setUp })
  return names
}

function problems(...plugins: AnyPlugin[]): readonly string[] {
  try {
    order(...plugins)
  } catch (error) {
    if (error instanceof PluginGraphError) return error.problems
    throw error
  }
  return []
}

t.test('plugins are ordered by their services, and otherwise stay as configured', async t => {
  t.same(order(plugin('c'), plugin('a'), plugin('b')), ['c', 'a', 'b'])
  t.same(order(plugin('a', ['x']), plugin('b'), plugin('c', [], ['x'])), ['c', 'a', 'b'])
  t.same(order(plugin('a', ['kernel', 'y']), plugin('b', ['x'], ['y']), plugin('c', [], ['x'])), ['c', 'b', 'a'])
})

t.test('any acyclic set of plugins is ordered so that providers come first', async t => {
  // Plugin i may require only services of plugins with a smaller rank; the configuration order is shuffled.
  const edges = fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 30 })
  fc.assert(
    fc.property(edges, fc.shuffledSubarray([...Array(12).keys()], { minLength: 12 }), (pairs, shuffled) => {
      const requires = (rank: number) => pairs.filter(([a, b]) => a === rank && b < rank).map(([, b]) => `s${b}`)
      const names = order(...shuffled.map(rank => plugin(`p${rank}`, requires(rank), [`s${rank}`])))
      const place = new Map(names.map((name, index) => [name, index]))
      for (const [a, b] of pairs) if (b < a && place.get(`p${b}`)! > place.get(`p${a}`)!) return false
      return names.length === 12
    }),
  )
  t.pass()
})

t.test('all causes of an impossible order are refused by name, at once', async t => {
  t.same(problems(plugin('a', ['nothing'])), [
    'the plugin "a" requires the service "nothing", which no plugin provides',
  ])
  t.same(problems(plugin('a'), plugin('a'), plugin('b', [], ['x']), plugin('c', ['y'], ['x'])), [
    'two plugins are named "a"',
    'the service "x" is provided by both "b" and "c"',
    'the plugin "c" requires the service "y", which no plugin provides',
  ])
  t.same(problems(plugin('a', [], [], ['p.q']), plugin('b', [], ['kernel'], ['p.q', 'cli.command'])), [
    'the service "kernel" is provided by both "kernel" and "b"',
    'the extension point "p.q" is owned by both "a" and "b"',
    'the extension point "cli.command" is owned by both "kernel" and "b"',
  ])
  t.same(problems(plugin('kernel')), ['two plugins are named "kernel"'])
  t.same(problems(plugin('z'), plugin('a', ['y'], ['x']), plugin('b', ['x'], ['z']), plugin('c', ['z'], ['y'])), [
    'plugins require each other in a circle: "a" requires "y" of "c", "c" requires "z" of "b", "b" requires "x" of "a"',
  ])
  // Entered at a service of a plugin that has no part in the circle.
  t.same(problems(plugin('w', ['x']), plugin('a', ['y'], ['x']), plugin('b', ['x'], ['y'])), [
    'plugins require each other in a circle: "a" requires "y" of "b", "b" requires "x" of "a"',
  ])
  const user = { ...plugin('a', [], ['y']), optional: ['x'] } as AnyPlugin
  t.same(problems(user, plugin('b', ['y'], ['x'])), [
    'plugins require each other in a circle: "a" uses "x" of "b", "b" requires "y" of "a"',
  ])
  t.same(problems(plugin('a', ['x'], ['x'])), ['plugins require each other in a circle: "a" requires "x" of "a"'])
})

const fruit = { owner: 'fruit', cardinality: 'many', schema: Type.Integer() } as const

t.test('extension points are filled, frozen, and only then read', async t => {
  const points = createPoints(new Map([['fruit.kind', fruit]]))
  const point = points.point('fruit.kind')
  points.contribute('fruit.kind', { id: 'apple', plugin: 'tree', value: 1 })
  points.contribute('fruit.kind', { id: 'berry', plugin: 'bush', value: 2 })
  t.throws(() => point.list(), /"fruit.kind" cannot be read before all plugins are set up/)
  t.throws(() => point.get('apple'), /cannot be read/)
  t.throws(() => points.describe(), /cannot be read/)
  t.throws(
    () => points.contribute('fruit.kind', { id: 'apple', plugin: 'bush', value: 3 }),
    /"apple" in "fruit.kind" is contributed by both "tree" and "bush"/,
  )
  t.throws(() => points.point('fruit.size'), /no plugin owns the extension point "fruit.size"/)
  points.freeze()
  t.same(
    point.list().map(({ id, plugin, value }) => [id, plugin, value]),
    [
      ['apple', 'tree', 1],
      ['berry', 'bush', 2],
    ],
  )
  t.equal(point.get('berry'), 2)
  t.equal(point.get('cherry'), undefined)
  t.throws(() => (point.list() as unknown[]).push(1), TypeError)
  t.throws(
    () => points.contribute('fruit.kind', { id: 'cherry', plugin: 'tree', value: 4 }),
    /"tree" contributes "cherry" to "fruit.kind" after set-up/,
  )
  t.same(points.describe(), [
    {
      name: 'fruit.kind',
      owner: 'fruit',
      cardinality: 'many',
      schema: { type: 'integer' },
      contributions: [
        { id: 'apple', plugin: 'tree' },
        { id: 'berry', plugin: 'bush' },
      ],
    },
  ])
  const lost = createPoints(new Map())
  lost.contribute('fruit.kind', { id: 'apple', plugin: 'tree', value: 1 })
  t.throws(() => lost.freeze(), /"tree" contributes "apple" to "fruit.kind", a point that no plugin owns/)
  t.doesNotThrow(() => lost.freeze(true))
})

t.test(
  'a contribution that is not as its point says is refused with the names of its plugin and of itself',
  async t => {
    const shape = Type.Object({ size: Type.Integer(), eat: Type.Function([], Type.Unknown()) })
    const points = createPoints(new Map([['fruit.kind', { ...fruit, schema: shape }]]))
    const contribute = (id: string, value: unknown) => points.contribute('fruit.kind', { id, plugin: 'tree', value })
    contribute('apple', { size: 'large', eat() {} })
    contribute('berry', { size: 1 })
    contribute('cherry', 7)
    contribute('date', { size: 2, eat: () => 1, more: true })
    t.throws(() => points.freeze(), {
      message: [
        '"tree" contributes "apple" to "fruit.kind": its "size" must be integer',
        '"tree" contributes "berry" to "fruit.kind": it must have required properties eat',
        '"tree" contributes "cherry" to "fruit.kind": it must be object',
      ].join('\n'),
    })
    t.throws(() => points.point('fruit.kind').list(), /cannot be read before/, 'and stays closed')
  },
)

t.test('a point for one refuses two, and names both', async t => {
  const points = createPoints(new Map([['fruit.basket', { ...fruit, cardinality: 'one' }]]))
  points.contribute('fruit.basket', { id: 'wicker', plugin: 'willow', value: 1 })
  const alone = createPoints(new Map([['fruit.basket', { ...fruit, cardinality: 'one' }]]))
  alone.contribute('fruit.basket', { id: 'wicker', plugin: 'willow', value: 1 })
  alone.freeze()
  t.equal(alone.point('fruit.basket').get('wicker'), 1)
  points.contribute('fruit.basket', { id: 'paper', plugin: 'mill', value: 2 })
  t.throws(() => points.freeze(), {
    message:
      'the extension point "fruit.basket" takes one contribution, and there are "wicker" of "willow" and "paper" of "mill"',
  })
})

t.test('sizes and durations are exact, and inexact ones are refused', async t => {
  const sizes: [string, number][] = [
    ['0', 0],
    ['4096', 4096],
    ['12B', 12],
    ['1KB', 1000],
    ['1KiB', 1024],
    ['64MiB', 67108864],
    ['1.5GiB', 1610612736],
    ['0.1KB', 100],
    ['3 GB', 3e9],
    ['2TB', 2e12],
    ['1TiB', 1099511627776],
  ]
  for (const [text, bytes] of sizes) t.equal(parseSize(text), bytes, text)
  for (const text of [
    '',
    'x',
    '-1',
    '1e3',
    '1mib',
    '1Mib',
    '1KIB',
    ' 1',
    '1 ',
    '1  KB',
    '.5KB',
    '1.KB',
    '1,5GB',
    '0x10',
  ]) {
    t.throws(() => parseSize(text), /is not a size: write a number with B, KB/, JSON.stringify(text))
  }
  t.throws(() => parseSize('constructor'), /is not a size/)
  t.throws(() => parseSize('0.1KiB'), /is not a whole number of bytes/)
  t.throws(() => parseSize('9007199254740993'), /is larger than/)
  t.throws(() => parseSize('99999TiB'), /is larger than/)
  const durations: [string, number][] = [
    ['500ms', 500],
    ['5s', 5000],
    ['0.25s', 250],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    ['250', 250],
  ]
  for (const [text, milliseconds] of durations) t.equal(parseDuration(text), milliseconds, text)
  t.throws(() => parseDuration('5min'), /is not a duration: write a number with ms, s, m, h or d/)
  t.throws(() => parseDuration('0.5ms'), /is not a whole number of milliseconds/)
  t.equal(formatSize(1610612736), '1536MiB')
  t.equal(formatSize(1000), '1000')
  t.equal(formatDuration(90_000), '90s')
  t.equal(formatDuration(0), '0ms')
  const quantity = fc.nat(Number.MAX_SAFE_INTEGER)
  fc.assert(fc.property(quantity, bytes => parseSize(formatSize(bytes)) === bytes))
  fc.assert(fc.property(quantity, milliseconds => parseDuration(formatDuration(milliseconds)) === milliseconds))
  const millis = fc.nat(999)
  fc.assert(
    fc.property(
      fc.nat(1e6),
      millis,
      (s, ms) => parseDuration(`${s}.${String(ms).padStart(3, '0')}s`) === s * 1000 + ms,
    ),
  )
})
