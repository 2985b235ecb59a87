/** The service in one thread, over a real store: declarations, values, changes, and stored documents. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import drive from 'svc/plugins/drive/index'
import storage from 'svc/plugins/storage/index'
import store from 'svc/plugins/store/index'
import { openPoints, startKernel } from 'svc/testing'
import t from 'tap'
import { type Static, Type } from 'typebox'
import { maskedValue, type Settings, type SettingsService, type SubsystemDeclaration } from '../api.ts'
import settings from '../index.ts'
import { notLoadedWarning } from '../not-loaded.ts'

const Lamp = Type.Object({
  enable: Type.Boolean({ default: false, description: 'Shines.' }),
  color: Type.Union([Type.Literal('red'), Type.Literal('green')], { default: 'red', description: 'Its color.' }),
  timeout: Type.Integer({ format: 'duration', minimum: 1, default: 5000, description: 'After which it goes out.' }),
  size: Type.Integer({ format: 'size', default: 1024, description: 'How large.' }),
  rooms: Type.Array(Type.String(), { format: 'list', default: [], description: 'Where.' }),
  switch_code: Type.String({ secret: true, default: '', description: 'Who knows it may switch.' }),
})

interface Declared {
  readonly service: SettingsService
  readonly lamp: Settings<Static<typeof Lamp>>
  readonly bulb: Settings<Static<typeof Lamp>>
}

let used: string | undefined
const folder = await mkdtemp(join(tmpdir(), 'svc-settings-'))
t.teardown(() => rm(folder, { recursive: true }))

const lampDeclaration: SubsystemDeclaration<typeof Lamp> = {
  description: 'One lamp.',
  keys: Lamp,
  notApplied: ['size'],
  validate: ({ enable, rooms }) =>
    enable && rooms.length === 0 ? [{ key: 'rooms', problem: 'must name a room where the lamp shines' }] : [],
}
const bulbDeclaration: SubsystemDeclaration<typeof Lamp> = {
  description: 'Many bulbs.',
  keys: Lamp,
  isMultiple: true,
  removalProblem: id => (used === id ? `The bulb ${id} is in use.` : undefined),
}

async function start(
  name: string,
  options: { readonly withoutBulb?: boolean; readonly lamp?: typeof lampDeclaration } = {},
) {
  const declared: Partial<{ -readonly [K in keyof Declared]: Declared[K] }> = {}
  const lamps = definePlugin({
    name: 'lamps',
    points: openPoints('admin.operation'),
    requires: ['settings'],
    setup({ services }) {
      declared.service = services.settings
      declared.lamp = services.settings.declare('lamp', options.lamp ?? lampDeclaration)
      return {
        // Settings may be declared until the plugins have started.
        start() {
          if (!options.withoutBulb) declared.bulb = services.settings.declare('bulb', bulbDeclaration)
        },
      }
    },
  })
  const kernel = await startKernel({
    plugins: [storage, store, drive, settings, lamps],
    config: {
      storage: { endpoints: [join(folder, name)] },
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
    },
  })
  return { kernel, ...(declared as Declared) }
}

async function problemOf(change: Promise<unknown>): Promise<string> {
  try {
    await change
    return 'ok'
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return `${code}: ${message}`
  }
}

t.test(
  'values have their types, defaults fill in what nobody has set, and everybody who watches hears of a change',
  async t => {
    const { kernel, service, lamp, bulb } = await start('types')
    t.teardown(() => kernel.stop())
    const { administration } = service
    const defaults = { enable: false, color: 'red', timeout: 5000, size: 1024, rooms: [], switch_code: '' }
    t.same(lamp.get(), defaults)
    t.equal(lamp.get(), lamp.get(), 'no value is made anew')
    t.ok(Object.isFrozen(lamp.get()))
    t.same(await bulb.list(), [])
    t.same(bulb.get('attic'), defaults)

    const heard: string[] = []
    const endLamp = lamp.watch(() => {
      throw new Error('a listener that fails')
    })
    lamp.watch(id => heard.push(`lamp ${id}`))
    bulb.watch(id => heard.push(`bulb ${id}`))
    const settings = {
      enable: 'on',
      color: 'green',
      timeout: '2m',
      size: '1MiB',
      rooms: 'attic, cellar',
      switch_code: 'x',
    }
    const updated = await administration.update('lamp', settings)
    t.same(updated, {
      name: 'lamp',
      settings: { ...settings, switch_code: maskedValue },
      notApplied: ['size'],
    })
    const values = {
      enable: true,
      color: 'green',
      timeout: 120_000,
      size: 1_048_576,
      rooms: ['attic', 'cellar'],
      switch_code: 'x',
    }
    t.same(lamp.get(), values)
    t.ok(Object.isFrozen(lamp.get()) && Object.isFrozen((await lamp.get()).rooms))
    await administration.update('bulb', { color: 'green' })
    await administration.update('bulb:attic', { timeout: '1s' })
    t.same(
      (await bulb.list()).map(({ id, values: { color, timeout } }) => [id, color, timeout]),
      [
        ['_', 'green', 5000],
        ['attic', 'red', 1000],
      ],
    )
    t.same(
      (await lamp.list()).map(({ id }) => id),
      ['_'],
    )
    t.equal((await bulb.get()).color, 'green', 'the id that nobody wrote')
    await new Promise(resolve => setTimeout(resolve, 50))
    t.same(heard.sort(), ['bulb _', 'bulb attic', 'lamp _'])
    t.ok(kernel.logs.some(({ msg, subsystem }) => msg === 'a listener to settings failed' && subsystem === 'lamp'))
    endLamp()

    await administration.reset('lamp', ['color', 'timeout'])
    t.match(lamp.get(), { color: 'red', timeout: 5000, enable: true })
    t.same((await administration.update('lamp', { size: null })).notApplied, ['size'])
    t.equal((await lamp.get()).size, 1024)
    await administration.reset('lamp')
    t.same(lamp.get(), defaults)
    await administration.reset('lamp')
    t.equal(
      await problemOf(administration.reset('bulb:cellar')),
      'subsystem_not_found: There is no subsystem "bulb:cellar".',
    )
  },
)

t.test('nothing is stored while there is a problem, and all problems are reported', async t => {
  const { kernel, service, lamp } = await start('problems')
  t.teardown(() => kernel.stop())
  const { administration } = service
  const cases: readonly (readonly [Record<string, string | null>, RegExp])[] = [
    [{ color: 'blue' }, /^invalid_argument: lamp\.color must be one of red, green, not "blue"\.$/],
    [{ enable: 'yes' }, /^invalid_argument: lamp\.enable must be on or off\.$/],
    [{ timeout: 'soon' }, /^invalid_argument: lamp\.timeout is not a duration/],
    [{ timeout: '0' }, /^invalid_argument: lamp\.timeout must be >= 1/],
    [{ size: '1.00001KB' }, /^invalid_argument: lamp\.size is not a whole number of bytes/],
    [{ shape: 'round' }, /^invalid_argument: lamp\.shape is not a key of the subsystem\.$/],
    [{ shape: null }, /^invalid_argument: lamp\.shape is not a key of the subsystem\.$/],
    [{ colour: 'red' }, /^invalid_argument: lamp\.colour is not a key of the subsystem: did you mean color\?$/],
    [{ enable: 'on' }, /^invalid_argument: lamp\.rooms must name a room where the lamp shines\.$/],
    [{ switch_code: maskedValue }, /^invalid_argument: lamp\.switch_code is masked, and there is no stored secret/],
    [{ rooms: 'x'.repeat(65_537) }, /^invalid_argument: lamp\.rooms must have at most 65536 bytes\.$/],
  ]
  for (const [change, expected] of cases) t.match(await problemOf(administration.update('lamp', change)), expected)
  const error = await administration.update('lamp', { color: 'blue', size: 'x', timeout: '7s' }).catch(error => error)
  t.same(
    error.cause.map(({ element }: { element: string }) => element),
    ['lamp.color', 'lamp.size'],
  )
  const both = await administration.update('lamp', { enable: 'on', size: 'x' }).catch(error => error)
  t.same(
    both.cause.map(({ element }: { element: string }) => element),
    ['lamp.size', 'lamp.rooms'],
    'what the plugin finds as well',
  )
  const one = await administration.update('lamp', { enable: 'on', rooms: 'x'.repeat(65_537) }).catch(error => error)
  t.equal(one.cause.length, 1, 'and not what follows from a value that is wrong')
  t.match(lamp.get(), { color: 'red', timeout: 5000 })
  for (const name of ['lamp:attic', 'chair', 'Lamp', 'bulb:', 'bulb:a/b', `bulb:${'x'.repeat(65)}`]) {
    t.match(await problemOf(administration.update(name, {})), /^subsystem_not_found/, name)
    t.match(await problemOf(administration.showOne(name)), /^subsystem_not_found/, name)
  }
  for (const name of ['schema', 'export', 'import']) {
    t.match(await problemOf(administration.update(name, {})), /^invalid_argument/, name)
  }
  const map = { lamp: { color: 'green' }, bulb: { color: 'green', timeout: 'x' }, chair: {}, 'bulb:_': {} }
  const applied = await administration.apply(map, 'merge').catch(error => error)
  t.same(
    applied.cause.map(({ element, message }: Record<string, string>) => `${element} ${message}`.slice(0, 50)),
    [
      'bulb.timeout is not a duration: write a number wit',
      'chair is no subsystem of a loaded plugin',
      'bulb:_ is there twice',
    ],
  )
  t.equal((await lamp.get()).color, 'red')
  t.same(await administration.export(true), {})
})

t.test('secrets are masked in answers, kept if a request has the mask, and sealed on the drive', async t => {
  const secret = 'a-very-secret-code-31415'
  const first = await start('secrets')
  const { administration } = first.service
  await administration.update('bulb:one', { switch_code: secret, color: 'green' })
  const { settings } = await administration.showOne('bulb:one')
  t.match(settings, { switch_code: maskedValue, color: 'green', timeout: '5s', enable: 'off' })
  await administration.update('bulb:one', { ...settings, timeout: '9s' })
  t.match(first.bulb.get('one'), { switch_code: secret, timeout: 9000 })
  const all = Object.fromEntries((await administration.show()).map(({ name, settings }) => [name, settings]))
  t.same(Object.keys(all), ['bulb:one', 'lamp'])
  t.same(await administration.apply(all, 'replace'), { subsystems: 2, changed: [], removed: [] })
  t.match(first.bulb.get('one'), { switch_code: secret, timeout: 9000 })
  t.same(
    await administration.export(true),
    { 'bulb:one': { ...settings, color: 'green', timeout: '9s', switch_code: secret } },
    'what has its default and was not set is still not set',
  )
  const [described] = administration.describe()
  t.match(described, {
    name: 'bulb',
    multiple: true,
    keys: [{ name: 'enable', type: 'boolean', values: ['on', 'off'] }],
  })
  t.notOk(JSON.stringify([await administration.show(), await administration.export(false)]).includes(secret))
  t.notOk(JSON.stringify(first.kernel.logs).includes(secret))
  await first.kernel.stop()

  const files = await readdir(join(folder, 'secrets'), { recursive: true, withFileTypes: true })
  const bytes = await Promise.all(
    files.filter(file => file.isFile()).map(file => readFile(join(file.parentPath, file.name))),
  )
  t.ok(Buffer.concat(bytes).includes('"color":"green"'), 'the document is there')
  t.notOk(Buffer.concat(bytes).includes(secret), 'and its secret is not readable')

  const second = await start('secrets', { withoutBulb: true })
  const without = second.service.administration
  const shown = await without.showOne('bulb:one')
  t.same(
    [...new Set(Object.values(shown.settings))].sort(),
    ['', maskedValue],
    'who does not know what is a secret masks all',
  )
  t.match(shown.warning, /^The plugin of these settings is not loaded: load another plugin\. The settings are kept/)
  t.match(
    second.kernel.logs.filter(({ msg }) => /settings without effect/.test(String(msg))),
    [{ subsystem: 'bulb:one', level: 'warn' }],
    'the log says so once, for what is stored and not declared',
  )
  t.match(notLoadedWarning('notify_kafka'), /load the plugin "svc-plugin-kafka"\./)
  t.match(notLoadedWarning('notify_mqtt'), /load a plugin that contributes "mqtt" to notify\.target\./)
  t.notOk((await without.showOne('lamp')).warning)
  t.match(await problemOf(without.update('bulb:one', { color: 'red' })), /bulb:one\.color cannot be changed/)
  t.match(await problemOf(without.update('bulb:two', { color: 'red' })), /^subsystem_not_found/)
  const map = Object.fromEntries((await without.show()).map(({ name, settings }) => [name, settings]))
  await without.apply({ ...map, lamp: { color: 'green' } }, 'replace')
  t.equal((await without.export(true))['bulb:one']!.switch_code, secret)
  await second.kernel.stop()

  const third = await start('secrets')
  t.match(third.bulb.get('one'), { switch_code: secret, color: 'green', timeout: 9000 })
  t.equal((await third.lamp.get()).color, 'green')
  await third.kernel.stop()

  const fourth = await start('secrets', { withoutBulb: true })
  await fourth.service.administration.reset('bulb:one')
  t.match(await problemOf(fourth.service.administration.showOne('bulb:one')), /^subsystem_not_found/)
  await fourth.kernel.stop()
})

t.test('a change of the destination of secrets must contain them, in every operation', async t => {
  const { kernel, service } = await start('destinations')
  t.teardown(() => kernel.stop())
  const { administration } = service
  const phone = service.declare('phone', {
    description: 'Where it rings.',
    isMultiple: true,
    isTarget: true,
    keys: Type.Object({
      number: Type.String({ default: '', destination: true, description: 'Who is called.' }),
      lines: Type.Array(Type.String(), { default: [], destination: true, description: 'Over which lines.' }),
      is_open: Type.Boolean({ default: false, destination: true, description: 'Whether others can listen.' }),
      password: Type.String({ default: '', secret: true, description: 'Said first.' }),
      pin: Type.String({ default: '', secret: true, description: 'Said then.' }),
      greeting: Type.String({ default: '', description: 'Said last.' }),
    }),
  })
  const kept = { number: '1', password: 'secret-1', pin: 'secret-2' }
  await administration.update('phone', kept)
  await administration.update('phone', { greeting: 'hello', number: '1', pin: maskedValue })
  const refused =
    /^invalid_argument: phone\.password must be given again, because number changes, which it is sent to\.$/
  const shown = (await administration.showOne('phone')).settings
  const ways: Readonly<Record<string, Promise<unknown>>> = {
    'one key': administration.update('phone', { number: '2' }),
    'with masks': administration.update('phone', { ...shown, number: '2' }),
    'an import': administration.apply({ phone: { number: '2' } }, 'merge'),
    'a dry run': administration.apply({ phone: { number: '2' } }, 'merge', { isDryRun: true }),
    'a replacement': administration.apply({ phone: { ...shown, number: '2' } }, 'replace'),
    'one of two secrets': administration.update('phone', { number: '2', pin: 'mine' }),
  }
  for (const [name, way] of Object.entries(ways)) t.match(await problemOf(way), refused, name)
  const all = await administration.update('phone', { number: '2', lines: 'a,b', is_open: 'on' }).catch(error => error)
  t.same(
    all.cause.map(({ element, message }: Record<string, string>) => `${element} ${message}`),
    ['password', 'pin'].map(
      key => `phone.${key} must be given again, because number, lines, is_open change, which it is sent to`,
    ),
    'every secret is named, with everything that changes',
  )
  t.match(phone.get(), { number: '1', password: 'secret-1', pin: 'secret-2', lines: [] })

  await administration.reset('phone', ['number'])
  t.match(phone.get(), { number: '', password: 'secret-1' }, 'nobody is called')
  t.match(await problemOf(administration.update('phone', { number: '2' })), refused, 'nor is that a way around')
  await administration.update('phone', { number: '2', password: 'secret-1', pin: 'secret-2' })
  await administration.update('phone', { number: '3', password: null, pin: '' })
  t.match(phone.get(), { number: '3', password: '', pin: '' }, 'what is not kept is not sent')
  await administration.update('phone', { number: '4' })
  await administration.update('phone:other', kept)
  t.match(phone.get('other'), kept)

  const mute = { description: 'x', keys: Type.Object({ password: Lamp.properties.switch_code }) }
  t.throws(() => service.declare('mute', { ...mute, isTarget: true }), /no key of mute says where its secrets are sent/)
  t.doesNotThrow(() => service.declare('mute', mute), 'a secret that is for nobody else')
})

t.test(
  'of a URL user, password and query are masked and sealed, and kept where nothing else of it changes',
  async t => {
    const { kernel, service } = await start('urls')
    const { administration } = service
    const declaration = {
      description: 'A place.',
      keys: Type.Object({
        url: Type.String({ default: '', destination: true, secretQuery: true, description: 'Where.' }),
        token: Type.String({ default: '', secret: true, description: 'As whom.' }),
      }),
    }
    const place = service.declare('place', declaration)
    const shownOf = async (url: string) => {
      await administration.update('place', { url })
      return (await administration.showOne('place')).settings.url
    }
    t.equal(await shownOf('https://a.test/hook/x'), 'https://a.test/hook/x')
    t.equal(await shownOf('https://a.test/@x'), 'https://a.test/@x')
    t.same(await administration.exportOpen(), { place: {} }, 'the path may be a secret')
    for (const url of ['https://a.test:8443/', 'https://a.test', 'a.test:80', '']) {
      await administration.reset('place')
      t.equal(await shownOf(url), url)
      t.same(await administration.exportOpen(), { place: { url } }, url)
    }
    for (const [url, expected] of [
      ['https://a.test/h?key=s3cret-1#part', `https://a.test/h?${maskedValue}`],
      ['https://a.test/h#s3cret-1', `https://a.test/h#${maskedValue}`],
      ['https://ada:s3cret-1@a.test/h', `https://${maskedValue}@a.test/h`],
      ['https:ada:s3cret-1@a.test/h', `https:${maskedValue}@a.test/h`],
      ['http:\\\\ada:s3cret-1@a.test', `http:\\\\${maskedValue}@a.test`],
      ['ada:s3cret-1@a.test?s3cret-1', `ada:${maskedValue}@a.test?${maskedValue}`],
    ] as const) {
      t.equal(await shownOf(url), expected)
      t.notOk(JSON.stringify([await administration.show(), await administration.export(false)]).includes('s3cret-1'))
      t.same(await administration.exportOpen(), { place: {} }, url)
      await administration.update('place', { url: expected })
      t.equal((await place.get()).url, url, 'the mask, sent back, keeps it')
      t.match(
        await problemOf(administration.update('place', { url: expected.replace('a.test', 'evil.test') })),
        /^invalid_argument: place\.url has a masked part, which is kept only if nothing else of it changes\.$/,
      )
    }
    await administration.update('place', { url: 'https://a.test/h?key=s3cret-sealed' })
    await kernel.stop()
    const files = await readdir(join(folder, 'urls'), { recursive: true, withFileTypes: true })
    const bytes = await Promise.all(
      files.filter(file => file.isFile()).map(file => readFile(join(file.parentPath, file.name))),
    )
    t.ok(Buffer.concat(bytes).includes('https://a.test:8443/'))
    for (const secret of ['s3cret-', '/hook/x'])
      t.notOk(Buffer.concat(bytes).includes(secret), 'it is sealed on the drive')
  },
)

t.test('what an earlier release left unsealed is no change by itself, and is sealed with the next one', async t => {
  const url = 'https://a.test/hook/x'
  const declare = (service: SettingsService, secretQuery: boolean) =>
    service.declare('place', {
      description: 'A place.',
      keys: Type.Object({
        url: Type.String({ default: '', destination: true, secretQuery, description: 'Where.' }),
        note: Type.String({ default: '', description: 'What for.' }),
      }),
    })
  const started = async (secretQuery: boolean) => {
    const { kernel, service } = await start('unsealed')
    declare(service, secretQuery)
    return { administration: service.administration, stop: () => kernel.stop() }
  }
  const older = await started(false)
  await older.administration.update('place', { url })
  t.same(await older.administration.exportOpen(), { place: { url } })
  await older.stop()
  const { administration, stop } = await started(true)
  t.same((await administration.apply({ place: { url } }, 'merge')).changed, [])
  t.same(await administration.exportOpen(), { place: {} })
  t.same((await administration.apply({ place: { url, note: 'x' } }, 'merge')).changed, [['place', ['note']]])
  t.match((await administration.showOne('place')).settings, { url, note: 'x' })
  await stop()
  const again = await started(false)
  t.same(await again.administration.exportOpen(), { place: { note: 'x' } }, 'it was sealed')
  await again.stop()
})

t.test('a replacement is one change, and does not remove subsystems in use', async t => {
  const { kernel, service, lamp, bulb } = await start('replace')
  t.teardown(() => kernel.stop())
  const { administration } = service
  await administration.apply({ lamp: { color: 'green' }, bulb: { timeout: '1s' }, 'bulb:two': {} }, 'merge')
  t.same(
    (await bulb.list()).map(({ id }) => id),
    ['_', 'two'],
  )
  used = '_'
  t.equal(
    await problemOf(administration.apply({ lamp: { color: 'red' } }, 'replace')),
    'conflict: The bulb _ is in use.',
  )
  t.equal(await problemOf(administration.reset('bulb')), 'conflict: The bulb _ is in use.')
  t.equal((await lamp.get()).color, 'green')
  used = undefined
  const dry = await administration.apply({ bulb: {} }, 'replace', { isDryRun: true })
  t.same(dry, {
    subsystems: 1,
    changed: [['bulb', ['timeout']]],
    removed: [
      ['bulb:two', []],
      ['lamp', ['color']],
    ],
  })
  t.same(
    (await bulb.list()).map(({ id }) => id),
    ['_', 'two'],
  )
  t.same(await administration.apply({ bulb: {} }, 'replace'), dry)
  t.same(
    (await bulb.list()).map(({ id, values }) => [id, values.timeout]),
    [['_', 5000]],
  )
  t.equal((await lamp.get()).color, 'red')
  const writers = Array.from({ length: 20 }, (_, i) =>
    administration.apply({ [`bulb:b${i % 3}`]: { timeout: `${i + 1}` } }, 'merge'),
  )
  await Promise.all([...writers, ...writers.map((_, i) => administration.update('bulb:b0', { rooms: `r${i}` }))])
  t.equal((await bulb.list()).length, 4)
  t.match(await bulb.get('b0'), { rooms: ['r19'], timeout: Number })
})

t.test(
  'what another release stored and this one cannot read has its default, and is kept until it is reset',
  async t => {
    const first = await start('releases')
    await first.service.administration.update('lamp', { color: 'green', timeout: '7s' })
    await first.kernel.stop()
    const { color: _gone, ...keys } = Lamp.properties
    const other = Type.Object({
      ...keys,
      timeout: Type.Integer({ format: 'duration', minimum: 10_000, default: 20_000, description: 'Longer.' }),
    })
    const lampOfOther = { description: 'One lamp.', keys: other } as unknown as typeof lampDeclaration
    const second = await start('releases', { lamp: lampOfOther })
    t.equal((await second.lamp.get()).timeout, 20_000)
    t.match(
      second.kernel.logs.find(({ msg }) => msg === 'stored settings cannot be read'),
      { subsystem: 'lamp', keys: ['timeout'] },
    )
    const { administration } = second.service
    t.match((await administration.showOne('lamp')).settings, { color: maskedValue, timeout: '7s' })
    await administration.update('lamp', { size: '2KiB', color: maskedValue })
    t.same((await administration.export(true)).lamp, { color: 'green', timeout: '7s', size: '2KiB' })
    await administration.reset('lamp', ['color', 'timeout'])
    t.same((await administration.export(true)).lamp, { size: '2KiB' })
    await second.kernel.stop()
  },
)

t.test('an invalid declaration of a subsystem is a defect of its plugin', async t => {
  const { kernel, service } = await start('defects')
  t.teardown(() => kernel.stop())
  const key = Type.String({ default: '', description: 'A key.' })
  t.throws(() => service.declare('lamp', lampDeclaration), /declared twice/)
  for (const name of ['schema', 'Big', 'a-b', '', 'a:b']) {
    t.throws(() => service.declare(name, { description: 'x', keys: Type.Object({ key }) }), /cannot be the name/, name)
  }
  const wrong = [
    Type.Object({ camelCase: key }),
    Type.Object({ bare: Type.String() }),
    Type.Object({ mute: Type.String({ default: '' }) }),
  ]
  for (const keys of wrong)
    t.throws(() => service.declare('wrong', { description: 'x', keys }), /needs a name in snake_case/)
  const wordless = Type.Object({ code: Type.String({ default: 'a', description: 'x', pattern: '^[a-z]$' }) })
  t.throws(() => service.declare('wrong', { description: 'x', keys: wordless }), /words of its pattern/)
  t.throws(
    () => service.declare('wrong', { description: 'x', keys: Type.Object({ key }), notApplied: ['other'] }),
    /no key other/,
  )
})
