/** Where settings come from, which one wins, and everything that is refused. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeConfiguration } from 'svc/kernel'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import { type ConfigurationSources, formatProblem, resolveConfiguration } from '../config/resolve.ts'

const shared = Type.String({ variable: 'SVC_SHARED', default: 'both' })

const house = {
  name: 'house',
  config: Type.Object({
    address: Type.String({ variable: 'SVC_HOUSE_ADDRESS', default: ':1', description: 'Where it stands.' }),
    garden: Type.Boolean({ variable: 'SVC_GARDEN', default: false }),
    floors: Type.Integer({ variable: 'SVC_FLOORS', minimum: 1, maximum: 9, default: 2 }),
    ratio: Type.Optional(Type.Number({ variable: 'SVC_RATIO' })),
    area: Type.Integer({ variable: 'SVC_AREA', format: 'size', minimum: 1024, default: '64KiB' }),
    rest: Type.Integer({ variable: 'SVC_REST', format: 'duration', default: 5000 }),
    colours: Type.Array(Type.Union([Type.Literal('red'), Type.Literal('blue')]), {
      variable: 'SVC_COLOURS',
      default: [],
    }),
    style: Type.Enum(['plain', 'rich'], { variable: 'SVC_STYLE', default: 'plain' }),
    rooms: Type.Array(Type.String({ minLength: 2 }), {
      variable: 'SVC_ROOMS',
      positional: true,
      description: 'What is in it.',
      check: (rooms: string[]) => (rooms.every(room => room.startsWith('/')) ? undefined : 'must be absolute paths'),
    }),
    shared,
  }),
  validate: (config: unknown) =>
    (config as { floors: number; garden: boolean }).floors > 5 && (config as { garden: boolean }).garden
      ? ['SVC_FLOORS above 5 leaves no light for SVC_GARDEN']
      : [],
}

const doorLock = {
  name: 'door-lock',
  config: Type.Object({
    keyCode: Type.String({ variable: 'SVC_KEY_CODE', secret: true, minLength: 8, description: 'Opens the door.' }),
    timeoutMs: Type.Integer({ default: 5 }),
    hidden: Type.String({ variable: 'SVC_HIDDEN', environmentOnly: true, default: '' }),
    table: Type.Record(Type.String(), Type.Integer(), { default: {} }),
    shared,
  }),
}

const plugins = [house, doorLock]
const complete = { SVC_ROOMS: '/hall', SVC_KEY_CODE: 'sesame-open' }

interface Given {
  argv?: string[]
  env?: ConfigurationSources['env']
  file?: Record<string, unknown>
}

function resolve({ argv = [], env = complete, file }: Given = {}) {
  return resolveConfiguration(plugins, { argv, env, file: file && { path: 'f.json', content: file } })
}

function problemsOf(given: Given): string[] {
  return resolve(given).problems.map(formatProblem)
}

function sectionOf(given: Given, plugin = 'house'): Record<string, unknown> {
  const { sections, problems } = resolve(given)
  t.same(problems, [])
  return sections[plugin] as Record<string, unknown>
}

t.test('flags win over the environment, the environment over the file, the file over defaults', async t => {
  const argv = ['--house-address', ':4']
  const env = { ...complete, SVC_HOUSE_ADDRESS: ':3' }
  const file = { houseAddress: ':2' }
  t.equal(sectionOf({}).address, ':1')
  t.equal(sectionOf({ file }).address, ':2')
  t.equal(sectionOf({ file, env }).address, ':3')
  t.equal(sectionOf({ file, env, argv }).address, ':4')
  const sources = (given: Given) => [...resolve(given).origins].find(([key]) => key.property === 'address')?.[1]
  t.equal(sources({ file, env, argv }), 'flag')
  t.equal(sources({ file, env }), 'environment')
  t.equal(sources({ file }), 'f.json')
  t.equal(sources({}), undefined)
})

t.test('values have the types of their keys, from every source', async t => {
  const fromFlags = sectionOf({
    argv: [
      '--garden',
      '--floors=3',
      '--ratio',
      '0.5',
      '--area=1.5KiB',
      '--rest=2m',
      '--colours=red, blue',
      '--style=rich',
    ],
  })
  t.match(fromFlags, { garden: true, floors: 3, ratio: 0.5, area: 1536, rest: 120_000, style: 'rich' })
  t.same(fromFlags.colours, ['red', 'blue'])
  const fromFile = sectionOf({
    file: {
      garden: true,
      floors: 3,
      ratio: 0.5,
      area: '1.5KiB',
      rest: 120_000,
      colours: ['red', 'blue'],
      style: 'rich',
    },
  })
  t.same(fromFile, fromFlags)
  const fromEnvironment = sectionOf({
    env: {
      ...complete,
      SVC_GARDEN: 'true',
      SVC_FLOORS: '3',
      SVC_RATIO: '0.5',
      SVC_AREA: '1536',
      SVC_REST: '120s',
      SVC_COLOURS: 'red,,blue,',
      SVC_STYLE: 'rich',
    },
  })
  t.same(fromEnvironment, fromFlags)
  t.equal(sectionOf({ argv: ['--garden=false'], file: { garden: true } }).garden, false)
  t.match(sectionOf({ argv: ['--garden', 'false', '/x'], file: { garden: true } }), { garden: false, rooms: ['/x'] })
  t.match(sectionOf({ argv: ['--garden', '/x', '--house-address=--x=y'] }), { rooms: ['/x'], address: '--x=y' })
  t.equal(sectionOf({}).area, 65536, 'a default may be written with a unit')
  t.notOk('ratio' in sectionOf({}))
  t.equal(sectionOf({ env: { ...complete, SVC_FLOORS: '' } }).floors, 2, 'an empty variable counts as unset')
  t.same(sectionOf({ argv: ['--colours=red', '--colours', 'blue'] }).colours, ['red', 'blue'])
})

t.test('booleans are on and off, or true and false, wherever they are written', async t => {
  for (const [text, garden] of Object.entries({ on: true, true: true, off: false, false: false })) {
    const other = { garden: !garden }
    t.equal(sectionOf({ env: { ...complete, SVC_GARDEN: text }, file: other }).garden, garden, `${text} in a variable`)
    t.equal(sectionOf({ argv: [`--garden=${text}`], file: other }).garden, garden, `${text} in a flag`)
    const spaced = sectionOf({ argv: ['--garden', text, '/x'], file: other })
    t.match(spaced, { garden, rooms: ['/x'] }, `${text} after a flag`)
    t.equal(sectionOf({ file: { garden: text } }).garden, garden, `${text} as text of the file`)
  }
  for (const text of ['ON', 'On', 'yes', '1', '']) {
    t.same(problemsOf({ argv: [`--garden=${text}`, '/x'] }), [
      `--garden (flag) must be on, off, true or false, not "${text}"`,
    ])
  }
})

t.test('a key without a variable lives in the section of its plugin', async t => {
  t.equal(sectionOf({ file: { 'door-lock': { timeoutMs: 7, table: { a: 1 } } } }, 'door-lock').timeoutMs, 7)
  t.equal(sectionOf({ env: { ...complete, SVC_DOOR_LOCK_TIMEOUT_MS: '8' } }, 'door-lock').timeoutMs, 8)
  const { timeoutMs, table } = sectionOf(
    { argv: ['--door-lock-timeout-ms=9', '--door-lock-table={"a":2}'] },
    'door-lock',
  )
  t.same([timeoutMs, table], [9, { a: 2 }])
})

t.test(
  'a variable that other programs read too is for the environment alone, and its neighbours are nobody’s',
  async t => {
    const traced = {
      name: 'traced',
      config: Type.Object({
        headers: Type.Optional(Type.String({ variable: 'OTHER_HEADERS', secret: true })),
        name: Type.Optional(Type.String({ variable: 'OTHER_NAME', environmentOnly: true })),
      }),
    }
    const env = { OTHER_HEADERS: 'a=b', OTHER_NAME: 'n', OTHER_NAMES: 'x', PATH: '/bin' }
    t.same(resolveConfiguration([traced], { argv: [], env }).sections.traced, { headers: 'a=b', name: 'n' })
    const { problems } = resolveConfiguration([traced], { argv: ['--other-name=x'], env })
    t.match(problems, [{ key: '--other-name', message: 'is not allowed: set OTHER_NAME in the environment' }])
  },
)

t.test('arguments win over the flag and the variable; the variable separates by spaces', async t => {
  t.same(sectionOf({ env: { ...complete, SVC_ROOMS: '/a,b  /c ' } }).rooms, ['/a,b', '/c'])
  t.same(sectionOf({ argv: ['--rooms=/d /e'] }).rooms, ['/d', '/e'])
  t.same(sectionOf({ argv: ['/f', '--rooms=/d', '/g h', '--', '/--i'] }).rooms, ['/f', '/g h', '/--i'])
})

t.test('a key that several plugins declare by one schema reaches them all', async t => {
  const { sections } = resolve({ argv: ['--shared=x'] })
  t.match(sections, { house: { shared: 'x' }, 'door-lock': { shared: 'x' } })
  const other = { name: 'other', config: Type.Object({ shared: Type.String({ variable: 'SVC_SHARED' }) }) }
  t.throws(() => resolveConfiguration([house, other], { argv: [], env: {} }), {
    message: 'SVC_SHARED is declared by both "house" and "other"',
  })
})

t.test('secrets come from the environment or a file, the file wins, and a line end is not part of them', async t => {
  const path = join(temporaryFolder(t), 'key')
  const secret = (text: string) => {
    writeFileSync(path, text)
    return sectionOf({ env: { ...complete, SVC_KEY_CODE_FILE: path } }, 'door-lock').keyCode
  }
  t.equal(sectionOf({}, 'door-lock').keyCode, 'sesame-open')
  t.equal(secret('from the file\n'), 'from the file')
  t.equal(secret('from windows\r\n'), 'from windows')
  t.equal(secret(' two lines\n\n'), ' two lines\n')
  t.match(problemsOf({ env: { ...complete, SVC_KEY_CODE_FILE: '/nowhere' } }), [
    /^SVC_KEY_CODE_FILE \(environment\) cannot be read: ENOENT/,
  ])
  t.same(problemsOf({ env: { ...complete, SVC_HOUSE_ADDRESS_FILE: path } }), [
    'SVC_HOUSE_ADDRESS_FILE (environment) is unknown: did you mean SVC_HOUSE_ADDRESS?',
  ])
})

t.test('secrets and environment-only keys are refused everywhere else, and never repeated', async t => {
  t.same(problemsOf({ argv: ['--key-code=sesame-open', '--hidden', 'x'], file: { keyCode: 'sesame', hidden: 'x' } }), [
    '--key-code (flag) is not allowed: set SVC_KEY_CODE in the environment',
    '--hidden (flag) is not allowed: set SVC_HIDDEN in the environment',
    'keyCode (f.json) is not allowed in the file: set SVC_KEY_CODE in the environment',
    'hidden (f.json) is not allowed in the file: set SVC_HIDDEN in the environment',
  ])
  t.same(problemsOf({ env: { ...complete, SVC_KEY_CODE: 'short' } }), [
    'SVC_KEY_CODE (environment) must not have fewer than 8 characters',
  ])
  t.same(problemsOf({ file: { 'door-lock': { keyCode: 'sesame' } } }), [
    'door-lock.keyCode (f.json) is not allowed in the file: set SVC_KEY_CODE in the environment',
  ])
})

t.test('unknown names are refused with a suggestion', async t => {
  const env = {
    ...complete,
    SVC_FLOOR: '1',
    SVC_ZZZZZZ: '1',
    SVC_SECRET_API: 's',
    SVC_SECRET_X_FILE: 'f',
    PATH: '/bin',
  }
  t.same(problemsOf({ argv: ['--floor', '3'], env, file: { floor: 1, 'door-lock': { timeout: 1 }, house: 5 } }), [
    '--floor (flag) is unknown: did you mean --floors?',
    'SVC_FLOOR (environment) is unknown: did you mean SVC_FLOORS?',
    'SVC_ZZZZZZ (environment) is unknown',
    'floor (f.json) is unknown: did you mean floors?',
    'door-lock.timeout (f.json) is unknown: did you mean door-lock.timeoutMs?',
    'house (f.json) is unknown',
  ])
  t.same(problemsOf({ argv: ['-f'] }), ['-f (flag) is unknown'])
  t.same(
    problemsOf({ env: { ...complete, SVC_CONSTRUCTOR: 'x' }, argv: ['--constructor'], file: { constructor: 1 } }),
    ['--constructor (flag) is unknown', 'SVC_CONSTRUCTOR (environment) is unknown', 'constructor (f.json) is unknown'],
  )
})

t.test('variables that Kubernetes makes for a service of our name are not ours', async t => {
  const env = {
    SVC_SERVICE_HOST: '10.0.0.1',
    SVC_SERVICE_PORT: '9000',
    SVC_SERVICE_PORT_S3: '9000',
    SVC_PORT: 'tcp://x',
  }
  const more = { SVC_PORT_9000_TCP: 'tcp://x', SVC_PORT_9000_TCP_ADDR: '10.0.0.1', SVC_PORT_9000_TCP_PROTO: 'tcp' }
  t.same(problemsOf({ env: { ...complete, ...env, ...more } }), [])
  t.same(problemsOf({ env: { ...complete, SVC_PORTS: '1' } }).length, 1)
})

t.test('every problem is reported at once, with name and source', async t => {
  const env = {
    SVC_FLOORS: '10',
    SVC_RATIO: '1e3',
    SVC_AREA: '12',
    SVC_REST: '5 parsecs',
    SVC_GARDEN: 'yes',
    SVC_STYLE: 'odd',
  }
  t.same(problemsOf({ env, argv: ['--house-address', '--colours=red,green', 'relative'] }), [
    '--house-address (flag) needs a value: --house-address=…',
    'SVC_GARDEN (environment) must be on, off, true or false, not "yes"',
    'SVC_FLOORS (environment) must be <= 9, not 10',
    'SVC_RATIO (environment) must be a decimal number, not "1e3"',
    'SVC_AREA (environment) must be >= 1024, not 12',
    'SVC_REST (environment) is not a duration: write a number with ms, s, m, h or d, or a plain number of milliseconds',
    '--colours (flag) entry 1 must be one of red, blue',
    'SVC_STYLE (environment) must be one of plain, rich, not "odd"',
    'argument (command line) must be absolute paths',
    'SVC_KEY_CODE is required (or SVC_KEY_CODE_FILE): Opens the door.',
  ])
  t.same(problemsOf({ env: { SVC_KEY_CODE: 'sesame-open' } }), [
    'SVC_ROOMS is required (or --rooms, an argument): What is in it.',
  ])
  t.same(problemsOf({ file: { floors: '3', garden: 'yes', rooms: '/x' } }), [
    'garden (f.json) must be on, off, true or false, not "yes"',
    'floors (f.json) must be integer, not "3"',
  ])
  t.same(problemsOf({ argv: ['--floors=1', '--floors=2', '--house-address'] }), [
    '--floors (flag) is given twice',
    '--house-address (flag) needs a value: --house-address=…',
  ])
  t.same(
    resolveConfiguration([doorLock], { argv: ['/x'], env: complete, file: undefined }).problems.map(formatProblem),
    ['/x (argument) is not expected: no plugin takes arguments', 'SVC_ROOMS (environment) is unknown'],
  )
})

t.test('checks across keys run once each key holds by itself', async t => {
  t.same(problemsOf({ argv: ['--floors=6', '--garden'] }), ['house: SVC_FLOORS above 5 leaves no light for SVC_GARDEN'])
  t.same(problemsOf({ argv: ['--floors=60', '--garden'] }), ['--floors (flag) must be <= 9, not 60'])
})

t.test('sections are frozen, and a plugin with problems has none', async t => {
  const { sections } = resolve({ argv: ['--floors=0'] })
  t.same(Object.keys(sections), ['door-lock'])
  const good = sectionOf({})
  t.throws(() => (good.rooms as string[]).push('/x'), TypeError)
  t.throws(() => {
    good.floors = 1
  }, TypeError)
})

t.test('given values are native, may be secrets, and stay the caller’s own', async t => {
  const rooms = ['/own']
  const given = { house: { rooms }, 'door-lock': { keyCode: 'sesame-open', timeoutMs: 1 } }
  const { sections, problems } = resolveConfiguration(plugins, { argv: [], env: {}, given })
  t.same(problems, [])
  t.match(sections, { house: { rooms: ['/own'] }, 'door-lock': { keyCode: 'sesame-open', timeoutMs: 1 } })
  rooms.push('/more')
  t.same((sections.house as { rooms: string[] }).rooms, ['/own'])
  const wrong = resolveConfiguration(plugins, { argv: [], env: {}, given: { ...given, house: { rooms, floor: 1 } } })
  t.same(wrong.problems.map(formatProblem), ['house.floor (given) is unknown: did you mean house.floors?'])
})

t.test('the reference has a row for each key', async t => {
  const rows = describeConfiguration(plugins)
  t.same(rows[0], {
    plugin: 'house',
    variable: 'SVC_HOUSE_ADDRESS',
    flag: '--house-address',
    fileKey: 'houseAddress',
    type: 'string',
    default: ':1',
    required: false,
    description: 'Where it stands.',
    secret: false,
    environmentOnly: false,
  })
  const row = (variable: string) => rows.find(other => other.variable === variable)
  t.match(row('SVC_AREA'), { type: 'size', default: '64KiB' })
  t.match(row('SVC_REST'), { type: 'duration', default: '5s' })
  t.match(row('SVC_STYLE'), { type: 'plain | rich', default: 'plain' })
  t.match(row('SVC_ROOMS'), { type: 'list', required: true, default: undefined })
  t.match(row('SVC_KEY_CODE(_FILE)'), { secret: true, flag: undefined, fileKey: undefined, required: true })
  t.match(row('SVC_HIDDEN'), { environmentOnly: true, flag: undefined, fileKey: undefined })
  t.match(row('SVC_DOOR_LOCK_TIMEOUT_MS'), { flag: '--door-lock-timeout-ms', fileKey: 'door-lock.timeoutMs' })
})
