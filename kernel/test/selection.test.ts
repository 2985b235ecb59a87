/** Which plugins the configuration selects: disabled ones, replaced ones, refusals, and the list that `svc plugins` prints. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { runCli } from '../program/cli.ts'
import { discoverPlugins, originOf } from '../program/discover.ts'

const root = resolve(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** A shop of four plugins: the till needs the shelves, the bell and the sign go on without what they extend. */
const modules = {
  'shop.mjs': `
    const many = { cardinality: 'many', schema: {} }
    const shelves = { name: 'shelves', provides: ['shelves'], points: { 'shelves.good': many }, config: { type: 'object',
      properties: { wood: { type: 'string', default: 'oak' } } }, setup: () => ({ services: { shelves: {} } }) }
    const till = { name: 'till', requires: ['shelves'], provides: ['till'], setup: () => ({ services: { till: {} } }) }
    const clerk = { name: 'clerk', requires: ['till'], optional: ['bell'], setup({ services, log }) {
      log.info({ hasBell: services.bell !== undefined }, 'the clerk is here')
    } }
    const bell = { name: 'bell', provides: ['bell'], points: { 'bell.ringer': many }, setup: () => ({ services: { bell: {} } }) }
    const light = { name: 'light', summary: 'Lights the sign.', usage: '', examples: [], run: async () => 0 }
    const sign = { name: 'sign', contributes: { 'cli.command': [light] }, setup({ contribute }) {
      contribute('bell.ringer', 'sign', () => {}, { optional: true })
    } }
    export default [till, shelves, clerk, bell, sign]
  `,
  'bell.mjs':
    "export default { name: 'bell', version: '2.0.0', provides: ['bell'], points: { 'bell.ringer': { cardinality: 'many', schema: {} } }, setup: () => ({ services: { bell: {} } }) }\n",
  'other.mjs': "export default { name: 'gong', setup() {} }\n",
}

async function run(argv: readonly string[], env: Record<string, string>) {
  const text = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') =>
    new Writable({
      write(chunk, _encoding, done) {
        text[name] += chunk
        done()
      },
    })
  const code = await runCli(argv, { stdout: stream('stdout'), stderr: stream('stderr'), env })
  return { code, ...text }
}

t.test('plugins are disabled and replaced by the configuration', async t => {
  const folder = t.testdir(modules)
  const config = join(folder, 'svc.json')
  const dry = (plugins: unknown, more: object = {}) => {
    writeFileSync(config, JSON.stringify({ plugins, workers: 0, ...more }))
    return run(['server', '--dry-run'], { SVC_CONFIG_FILE: config })
  }
  t.match(await dry(['./shop.mjs']), { code: 0, stdout: /: 5 plugins, .*\nplugins: shelves till bell clerk sign\n/ })

  const withoutBell = await dry(['./shop.mjs', { disable: ['bell'] }])
  t.match(withoutBell, { code: 0, stdout: /\nplugins: shelves till clerk sign\n/ })
  t.match(
    withoutBell.stdout,
    '\ndisabled: bell; clerk would use its services; contributions to bell.ringer are dropped: sign\n',
  )
  t.match((await dry(['./shop.mjs', { disable: ['sign'] }])).stdout, '\ndisabled: sign; no other plugin uses it\n')

  const withoutShelves = await dry(['./shop.mjs', { disable: ['shelves'] }])
  t.match(withoutShelves, { code: 1, stdout: '\ndisabled: shelves; till, clerk cannot run without it\n' })
  t.match(withoutShelves.stdout, /\nplugins: bell sign\n/, 'all else is looked at')
  const sentence =
    'the plugin "shelves" cannot be disabled alone: "till" requires the service "shelves", "clerk" requires the service "till". {"disable":["shelves","till","clerk"]} would leave out all of them'
  t.equal(withoutShelves.stderr, `1 problem found:\n  ${sentence}\n`)
  const start = await run(['server'], { SVC_CONFIG_FILE: config })
  t.same(start, { code: 1, stdout: '', stderr: `svc: ${sentence}\n` }, 'a start is refused with the same sentence')
  t.match(await dry(['./shop.mjs', { disable: ['shelves', 'till'] }, { disable: ['clerk'] }]), { code: 0 })

  const replaced = await dry(['./shop.mjs', { replace: 'bell', with: './bell.mjs' }])
  t.match(replaced, { code: 0, stdout: /\nplugins: shelves till bell clerk sign\n/ }, 'in the place of the other')
})

t.test('worker threads run the same plugins', async t => {
  const folder = t.testdir(modules)
  const config = join(folder, 'svc.json')
  const hasBell = async (plugins: unknown) => {
    writeFileSync(config, JSON.stringify({ plugins, workers: 1 }))
    const args = ['--conditions=svc-src', join(root, 'kernel/main.ts'), 'server', '--config', config]
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const lines: Record<string, unknown>[] = []
    for await (const line of createInterface({ input: child.stderr })) {
      lines.push(JSON.parse(line))
      if (lines.at(-1)?.msg === 'ready') child.kill('SIGTERM')
    }
    t.equal(lines[0]?.msg, 'plugins are disabled')
    const clerks = lines.filter(({ msg }) => msg === 'the clerk is here')
    return clerks.map(line => [line.thread ?? 0, line.hasBell]).sort()
  }
  t.same(await hasBell(['./shop.mjs', { disable: ['sign'] }]), [
    [0, true],
    [1, true],
  ])
  t.same(await hasBell(['./shop.mjs', { disable: ['bell'] }]), [
    [0, false],
    [1, false],
  ])
})

t.test('a selection that contradicts itself is refused', async t => {
  const folder = t.testdir(modules)
  const config = join(folder, 'svc.json')
  const refused = async (plugins: unknown, expected: RegExp | string, code = 1) => {
    writeFileSync(config, JSON.stringify({ plugins }))
    const { stderr, ...rest } = await run(['server', '--dry-run'], { SVC_CONFIG_FILE: config })
    t.match(rest, { code, stdout: '' })
    t.match(stderr, expected)
  }
  await refused(
    ['./shop.mjs', './bell.mjs'],
    'plugin "./bell.mjs" exports a plugin named "bell", as "./shop.mjs" does. To use it instead, write {"replace":"bell","with":"./bell.mjs"} in its place\n',
  )
  await refused(['./shop.mjs', './bell.mjs', { disable: ['bell'] }], 'exports a plugin named "bell", as')
  await refused(
    ['./shop.mjs', { disable: ['bel'] }],
    'plugin "bel" is to be disabled, but is unknown: did you mean bell?\n',
  )
  await refused(
    ['./shop.mjs', { replace: 'bel', with: './bell.mjs' }],
    'exports no plugin "bel", which it is to replace: it exports "bell"\n',
  )
  await refused(
    ['./shop.mjs', { replace: 'gong', with: './other.mjs' }],
    'is to replace the plugin "gong", which no other module has\n',
  )
  await refused(
    ['./shop.mjs', { disable: ['bell'] }, { replace: 'bell', with: './bell.mjs' }],
    '"bell" is both disabled and replaced\n',
  )
  await refused(
    ['./shop.mjs', { replace: 'bell', with: './bell.mjs' }, { replace: 'bell', with: './bell.mjs' }],
    'plugin "bell" is replaced twice\n',
  )
  await refused(
    ['svc/contrib/kafkaa'],
    /plugin "svc\/contrib\/kafkaa" is not found from .*: there is no such folder: did you mean svc\/contrib\/kafka\?/,
  )
  for (const entry of [{ disabled: ['bell'] }, { disable: 'bell' }, { replace: 'bell' }, '', 5]) {
    await refused(
      ['./shop.mjs', entry],
      /plugins \(.*svc\.json\) entry 1 must be a package name, a path, \{"disable"/,
      2,
    )
  }
})

t.test('entries alone change the default, in the environment as in the file', async t => {
  const list = async (entries: unknown) => {
    const { stdout } = await run(['plugins', '--json'], { SVC_PLUGINS: JSON.stringify(entries) })
    return JSON.parse(stdout).plugins.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`)
  }
  const states = await list([{ disable: ['lifecycle', 'kafka'] }])
  for (const line of ['lifecycle disabled', 'kafka disabled', 'objects loaded', 'kms-remote loaded']) {
    t.ok(states.includes(line), line)
  }
  const explicit: string[] = await list(['svc/plugins/standard', 'svc/contrib/kafka'])
  t.ok(explicit.includes('kafka loaded'))
  t.notOk(
    explicit.some(line => line.startsWith('kms-remote')),
    'an explicit list alone counts',
  )
})

t.test('a setting of a disabled plugin is refused with the name of the plugin', async t => {
  const folder = t.testdir(modules)
  const config = join(folder, 'svc.json')
  writeFileSync(
    config,
    JSON.stringify({
      plugins: ['./shop.mjs', { disable: ['bell', 'shelves', 'till', 'clerk'] }],
      shelves: { wood: 'ash' },
    }),
  )
  const env = { SVC_CONFIG_FILE: config, SVC_SHELVES_WOOD: 'fir' }
  const { code, stderr } = await run(['server', '--shelves-wood=elm'], env)
  t.equal(code, 2)
  const remark = 'belongs to the plugin "shelves", which is disabled: remove the setting, or enable the plugin'
  for (const key of ['--shelves-wood (flag)', 'SVC_SHELVES_WOOD (environment)', `shelves (${config})`]) {
    t.match(stderr, `  ${key} ${remark}\n`)
  }
})

t.test('a package of contrib without its dependency is left out; a broken one is an error', async t => {
  const folder = t.testdir({
    'absent.mjs': "import 'svc-client-that-nobody-has'\nexport default { name: 'absent', setup() {} }\n",
    'torn.mjs': "import './gone.mjs'\nexport default { name: 'torn', setup() {} }\n",
    'plain.mjs': "export default { name: 'plain', setup() {} }\n",
  })
  const module = (file: string, isContrib: boolean) => ({
    name: file,
    url: pathToFileURL(join(folder, file)).href,
    isContrib,
  })
  const both = [module('absent.mjs', true), module('plain.mjs', true)]
  const { found, absent } = await discoverPlugins({ modules: both, disabled: [] })
  t.same(
    found.map(({ plugin }) => plugin.name),
    ['plain'],
  )
  t.equal(originOf(found[0]!.plugin), 'external')
  t.match(absent, [
    { module: { name: 'absent.mjs' }, reason: 'the package svc-client-that-nobody-has is not installed' },
  ])
  const refused = (file: string, isContrib: boolean) =>
    t.rejects(discoverPlugins({ modules: [module(file, isContrib)], disabled: [] }), { name: 'DiscoveryError' })
  await refused('absent.mjs', false)
  await refused('torn.mjs', true)
})

t.test('`svc plugins` lists what a start would load, without drives and credentials', async t => {
  const folder = t.testdir(modules)
  const config = join(folder, 'svc.json')
  const list = (plugins: unknown, ...argv: string[]) => {
    writeFileSync(config, JSON.stringify({ plugins, logFormat: 'text' }))
    const main = join(root, 'kernel/main.ts')
    const args = ['--conditions=svc-src', main, 'plugins', '--config', config, ...argv]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    })
    return { status, stdout, stderr }
  }
  const shop = join(folder, 'shop.mjs')
  const plain = list(['./shop.mjs', { disable: ['sign'] }, { replace: 'bell', with: './bell.mjs' }])
  t.same([plain.status, plain.stderr], [0, ''])
  t.equal(
    plain.stdout,
    [
      `till unknown from ./shop.mjs (${shop})`,
      '  services: till',
      `shelves unknown from ./shop.mjs (${shop})`,
      '  services: shelves',
      '  points: shelves.good',
      `clerk unknown from ./shop.mjs (${shop})`,
      `bell unknown from ./shop.mjs (${shop}): replaced`,
      '  services: bell',
      '  points: bell.ringer',
      `bell 2.0.0 from ./bell.mjs (${join(folder, 'bell.mjs')})`,
      '  services: bell',
      '  points: bell.ringer',
      `sign unknown from ./shop.mjs (${shop}): disabled`,
      '  extends: cli.command (light), bell.ringer (sign)',
      '',
    ].join('\n'),
  )
  const refused = list(['./shop.mjs', { disable: ['till'] }], '--json')
  t.equal(refused.status, 1)
  t.match(refused.stderr, 'svc: the plugin "till" cannot be disabled alone: "clerk" requires the service "till"')
  const { plugins, problems } = JSON.parse(refused.stdout)
  t.equal(problems.length, 1)
  t.match(
    plugins.find(({ name }: { name: string }) => name === 'clerk'),
    { state: 'refused', reason: problems[0], requires: ['till'], optional: ['bell'], path: shop },
  )

  const all = list([], '--json')
  t.same([all.status, all.stderr], [0, ''])
  const found = JSON.parse(all.stdout).plugins as { name: string; module: string; version: string }[]
  const audit = found.find(({ name }) => name === 'audit')
  t.match(audit, {
    module: 'svc/plugins/standard',
    version,
    points: ['audit.sink'],
    extends: { 's3.observer': ['audit'] },
  })
  const kafka = { module: 'svc/contrib/kafka', extends: { 'notify.target': ['kafka'], 'audit.sink': ['kafka'] } }
  t.match(
    found.find(({ name }) => name === 'kafka'),
    kafka,
  )
  t.match(list([], '--confg=x'), { status: 2, stderr: '--confg (flag) is unknown: did you mean --config?' })
})
