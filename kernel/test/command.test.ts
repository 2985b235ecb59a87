/** The `svc` command as a process: exit codes, what it prints, signals. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { runCli } from '../program/cli.ts'
import { revisionIn } from '../program/revision.ts'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const shop = fileURLToPath(new URL('./fixtures/shop.ts', import.meta.url))
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const complete = { SVC_PLUGINS: shop, SVC_SAFE_CODE: '12345678', SVC_SHELVES: '/a /b', SVC_WORKERS: '0' }

interface Options {
  readonly env?: Record<string, string>
  readonly cwd?: string
  readonly nodeArgs?: readonly string[]
}

interface Run {
  readonly child: ChildProcess
  /** Resolves when a line of the log has this message. */
  logged(msg: string): Promise<Record<string, unknown>>
  readonly ended: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>
  log(): Record<string, unknown>[]
}

function start(t: Test, argv: readonly string[], { env = complete, cwd, nodeArgs = [] }: Options = {}): Run {
  const args = ['--conditions=svc-src', ...nodeArgs, main, ...argv]
  const child = spawn(process.execPath, args, { cwd, env: { PATH: process.env.PATH, ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', chunk => {
    stdout += chunk
  })
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  const log = () =>
    stderr
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line))
  const ended = new Promise<Awaited<Run['ended']>>(resolve => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return {
    child,
    ended,
    log,
    logged: msg =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = stderr.includes(`"${msg}"}\n`) ? log().find(line => line.msg === msg) : undefined
          if (line !== undefined) resolve(line)
        }
        child.stderr.on('data', look)
        child.on('close', () => reject(new Error(`ended without "${msg}": ${stderr}`)))
        look()
      }),
  }
}

/** The same in this process: for all that neither serves nor listens to signals. */
async function run(argv: readonly string[], env: Record<string, string> = complete) {
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

t.test('version, help and unknown commands', async t => {
  const [plain, help, none, wrong] = await Promise.all([run(['--version']), run(['--help']), run([]), run(['gret'])])
  t.match(plain, { code: 0, stdout: /^svc \d+\.\d+\.\d+( \([0-9a-f]{12}\))?\n$/, stderr: '' })
  t.ok(plain.stdout.startsWith(`svc ${version}`))
  t.match(await start(t, ['gret']).ended, wrong, 'the process says and returns the same')
  t.equal(help.code, 0)
  t.match(
    help.stdout,
    /Commands:\n {2}server {3}Starts the server.\n {2}plugins {2}Lists .*\n {2}count {4}Counts shelves.\n {2}greet {4}Says hello./,
  )
  t.notMatch(help.stdout, 'explain themselves')
  const partial = await run(['help'], { SVC_PLUGINS: shop })
  t.match(
    partial.stdout,
    /Commands:\n {2}server {3}.*\n {2}plugins {2}.*\n {2}count {4}.*\n {2}greet {4}.*\n\n.*only explain themselves: count\./,
  )
  t.same([none.code, none.stdout], [2, ''])
  t.equal(none.stderr, help.stdout)
  t.match(wrong, { code: 2, stderr: /svc: unknown command "gret": did you mean greet\?/ })
})

t.test('commands of plugins run without the services that they do not require', async t => {
  const incomplete = { SVC_PLUGINS: shop, USER_NAME: 'Bob' }
  const [bob, eve, crash, misuse, help, count, missing, explained, unknown] = await Promise.all([
    run(['greet'], incomplete),
    run(['greet', 'Eve', '--loud'], incomplete),
    run(['greet', 'nobody'], incomplete),
    run(['greet', '--quiet'], incomplete),
    run(['greet', '--help'], incomplete),
    run(['count']),
    run(['count'], incomplete),
    run(['count', '--help'], incomplete),
    run(['serverr'], incomplete),
  ])
  t.same(bob, { code: 0, stdout: 'hello Bob.\n', stderr: '' })
  t.match(eve, { code: 1, stdout: 'hello Eve!\n' })
  t.match(crash, { code: 1, stderr: 'svc greet: nobody is there\n' })
  t.match(misuse, { code: 2, stderr: /--quiet.*\nusage: svc greet \[--loud\] \[NAME\]\n/s })
  t.match(help, {
    code: 0,
    stdout: /^usage: svc greet \[--loud\] \[NAME\]\n\nSays hello.\n\nExamples:\n {2}svc greet --loud/,
  })
  t.match(count, { code: 0, stdout: '2 shelves\n' })
  t.equal(missing.code, 2)
  t.match(
    missing.stderr,
    /^svc count: the configuration is incomplete\n {2}SVC_SHELVES is required.*\n {2}SVC_SAFE_CODE is required.*\n`svc count --help` describes it\.\n$/,
  )
  const lines = 'svc: unknown command "serverr": did you mean server?\n`svc --help` lists the commands.\n'
  t.same(unknown, { code: 2, stdout: '', stderr: lines }, 'what is missing is not its reason')
  t.match(explained, { code: 0, stdout: /^usage: svc count\n\nCounts shelves\./ }, 'help needs no configuration')
})

t.test('the server names exactly the settings that are missing', async t => {
  const env = { SVC_PLUGINS: shop, SVC_WORKER: '1' }
  const [missing, help] = await Promise.all([run(['server', 'x', '--fast'], env), run(['server', '--help'], env)])
  t.equal(missing.code, 2)
  t.equal(
    missing.stderr,
    [
      'svc: the configuration has 4 problems:',
      '  --fast (flag) is unknown',
      '  SVC_WORKER (environment) is unknown: did you mean SVC_WORKERS?',
      '  argument (command line) must be absolute',
      '  SVC_SAFE_CODE is required (or SVC_SAFE_CODE_FILE): Opens the safe.',
      '`svc server --help` lists every setting.',
      '',
    ].join('\n'),
  )
  t.equal(help.code, 0)
  t.match(help.stdout, /--shelves=<list>, SVC_SHELVES \(required\)\n {6}Where goods stand\./)
  t.match(help.stdout, / {2}SVC_SAFE_CODE\(_FILE\) \(required\)\n/)
  t.match(help.stdout, '--stop-timeout=<duration>, SVC_STOP_TIMEOUT (default 30s)')
})

t.test('a dry run checks everything, starts nothing and keeps secrets', async t => {
  const [fine, bad, worse, checked] = await Promise.all([
    run(['server', '--dry-run', '/c']),
    run(['server', '--dry-run'], { ...complete, SVC_TROUBLE: 'locked' }),
    run(['server', '--dry-run', '--workers=x'], {
      SVC_PLUGINS: shop,
      SVC_SAFE_CODE: 'short-secret-but-long',
      SVC_TROUBLE: 'locked',
    }),
    run(['server', '--dry-run'], { ...complete, SVC_TROUBLE: 'stuck' }),
  ])
  t.same([fine.code, fine.stderr], [0, ''])
  t.match(fine.stdout, /: 3 plugins, 0 worker threads\nplugins: shop till door\n/)
  t.match(fine.stdout, 'SVC_SHELVES = ["/c"] from command line\n')
  t.match(fine.stdout, 'SVC_SAFE_CODE = (secret) from environment\n')
  t.notMatch(fine.stdout, '12345678')
  t.match(fine.stdout, /no problems found\n$/)
  t.match(bad, { code: 1, stderr: '1 problem found:\n  shop: SVC_SHELVES: /locked cannot be written\n' })
  t.match(checked, {
    code: 1,
    stdout: /\nplan: The lamp would be lit.\nnot looked at: shop: the cellar\n$/,
    stderr: /found:\n {2}shop: the door is stuck\n/,
  })
  t.equal(worse.code, 2)
  t.match(
    worse.stderr,
    /^2 problems found:\n {2}--workers \(flag\) must be an integer, not "x"\n {2}SVC_SHELVES is required/,
  )
  t.notMatch(worse.stdout + worse.stderr, 'short-secret')
})

t.test('a signal stops gracefully, in one thread and in several', async t => {
  for (const [workers, signal] of [
    ['0', 'SIGTERM'],
    ['2', 'SIGINT'],
  ] as const) {
    const server = start(t, ['server', '/a', `--workers=${workers}`])
    const ready = await server.logged('ready')
    t.match(ready, { level: 'info', version, mode: 'single', workers: Number(workers), time: /^\d{4}-.*Z$/ })
    t.equal(server.log().at(-1)?.msg, 'ready', 'the last line of the start')
    server.child.kill(signal)
    const { code, stdout } = await server.ended
    t.same([code, stdout], [0, ''])
    const messages = server.log().map(({ msg, thread = 0 }) => `${msg} ${thread}`)
    const expected = ['last customers 0', 'closed 0', 'stopped 0']
    t.same(
      messages.filter(line => expected.includes(line)),
      expected,
    )
    if (workers === '2') {
      for (const thread of [1, 2]) t.ok(messages.indexOf(`closed ${thread}`) < messages.indexOf('closed 0'))
      t.ok(messages.indexOf('last customers 1') < messages.indexOf('last customers 0'))
    }
  }
})

t.test('a signal during the start lets the plugin that starts finish, and undoes it', async t => {
  for (const workers of [0, 1]) {
    const shelves = [0, 1].map(thread => join(temporaryFolder(t), String(thread)))
    const env = { ...complete, SVC_SHELVES: shelves.join(' '), SVC_TROUBLE: 'slow' }
    const server = start(t, ['server', `--workers=${workers}`], { env })
    await server.logged('opening')
    if (workers === 1) {
      writeFileSync(shelves[0], '')
      while (!server.log().some(({ msg, thread }) => msg === 'opening' && thread === 1)) await wait(10)
    }
    server.child.kill('SIGTERM')
    await server.logged('stopping')
    for (const shelf of shelves) writeFileSync(shelf, '')
    t.equal((await server.ended).code, 0)
    const messages = server.log().map(({ msg, thread = 0 }) => `${msg} ${thread}`)
    t.same(messages.slice(-2), ['closed 0', 'stopped 0'])
    t.notOk(messages.includes('ready 0'))
    t.equal(messages.includes('closed 1'), workers === 1)
    t.notOk(
      server.log().some(({ level }) => level === 'warn' || level === 'error'),
      'no force was needed',
    )
  }
})

t.test('a second signal stops at once; a drain that hangs is cut off', async t => {
  const hang = { env: { ...complete, SVC_TROUBLE: 'drain' } }
  const hasty = start(t, ['server'], hang)
  const patient = start(t, ['server', '--stop-timeout=200ms'], hang)
  await hasty.logged('ready')
  hasty.child.kill('SIGTERM')
  await hasty.logged('last customers')
  hasty.child.kill('SIGTERM')
  await wait(600)
  t.equal(hasty.child.exitCode, null, 'npm passes on what the terminal has sent to all')
  hasty.child.kill('SIGTERM')
  t.match(await hasty.ended, { code: 143 })
  t.notOk(hasty.log().some(({ msg }) => msg === 'closed'))
  await patient.logged('ready')
  patient.child.kill('SIGTERM')
  t.match(await patient.ended, { code: 1 })
  t.ok(patient.log().some(({ msg }) => msg === 'closed'))
  t.match(
    patient.log().find(({ msg }) => msg === 'drain failed'),
    { plugin: 'shop', level: 'error' },
  )
})

t.test('a process that native code blocks ends nevertheless, with a message', async t => {
  for (const SVC_TROUBLE of ['exit', 'hold']) {
    const server = start(t, ['server', '--stop-timeout=2s'], { env: { ...complete, SVC_TROUBLE } })
    await server.logged('ready')
    server.child.kill('SIGTERM')
    const { signal, stderr } = await server.ended
    t.equal(signal, 'SIGKILL', SVC_TROUBLE)
    t.match(stderr, /"msg":"closed"/, 'the log is complete')
    t.match(stderr, /"msg":"the process did not end by itself and is killed"/)
  }
})

t.test('failures are logged and determine the exit code', async t => {
  const trouble = (SVC_TROUBLE: string) => start(t, ['server'], { env: { ...complete, SVC_TROUBLE } })
  const runs = ['start', 'uncaught', 'unhandled', 'stop-request'].map(trouble)
  const [failed, uncaught, unhandled, asked] = await Promise.all(runs.map(({ ended }) => ended))
  const last = (index: number, msg: string) => runs[index].log().find(line => line.msg === msg)
  t.equal(failed.code, 1)
  t.match(last(0, 'plugin "shop": start: the shutter is stuck'), { level: 'fatal', err: { type: 'Error' } })
  t.ok(last(0, 'closed'), 'what had started is stopped')
  t.equal(uncaught.code, 1)
  t.match(last(1, 'uncaught error'), { level: 'fatal', err: { message: 'it fell off the shelf' } })
  t.equal(unhandled.code, 1)
  t.match(last(2, 'uncaught error'), { level: 'fatal', err: { message: 'it fell later' } })
  t.equal(asked.code, 0)
  t.match(last(3, 'stopping'), { reason: 'closing time' })
})

t.test('plugins are found from the place of the configuration file, or refused by name', async t => {
  const simple = (name: string) => `export default { name: '${name}', setup() {} }\n`
  const dir = t.testdir({
    'svc.json': '{"plugins": ["./local.mjs", "svc-plugin-far", "@scope/near/sub"], "logFormat": "text", "workers": 0}',
    'local.mjs': simple('local'),
    node_modules: {
      'svc-plugin-far': {
        'package.json': '{"name": "svc-plugin-far", "exports": {"import": "./far.mjs"}}',
        'far.mjs': simple('far'),
      },
      '@scope': { near: { 'package.json': '{"exports": {"./sub": "./sub.mjs"}}', 'sub.mjs': simple('near') } },
    },
    'no-plugin.mjs': 'export default 5\n',
    'bad-name.mjs': simple('Bad_Name'),
    'no-setup.mjs': 'export default [{ name: "empty" }]\n',
    'broken.mjs': 'throw new Error("it is broken")\n',
    'bad.json': '{"plugins": ',
    'list.json': '[]',
    'listed.json': '{\n  "plugins": [\n    "./local.mjs",\n    "./gone.mjs"\n  ]\n}',
    'twice.json': '{"plugins": ["./local.mjs", "./local.mjs"], "workers": 0}',
  })
  const config = join(dir, 'svc.json')
  const dry = (...argv: string[]) => run(['server', '--dry-run', ...argv], {})
  const relative = start(t, ['server', '--dry-run', '--config', 'svc.json', '--log-format=json'], { env: {}, cwd: dir })
  const found = await dry(`--config=${config}`)
  t.match(found, { code: 0, stdout: /plugins: local far near\n/ })
  t.match(found.stdout, `SVC_LOG_FORMAT = "text" from ${config}`)
  t.match((await relative.ended).stdout, 'SVC_LOG_FORMAT = "json" from flag')

  const refusals: [string, RegExp][] = [
    ['svc-plugin-gone', /plugin "svc-plugin-gone" is not found from .*svc\.json: Cannot find package/],
    ['svc/plugins/gone', /plugin "svc\/plugins\/gone" does not load: Cannot find module/],
    ['./gone.mjs', /gone\.mjs" does not load: Cannot find module/],
    ['./no-plugin.mjs', /no-plugin\.mjs" exports no plugin: its default export must come from definePlugin/],
    ['./bad-name.mjs', /exports a plugin whose name is "Bad_Name": names are kebab-case/],
    ['./no-setup.mjs', /exports the plugin "empty" without a setup function/],
    ['./broken.mjs', /broken\.mjs" does not load: it is broken/],
  ]
  const results = await Promise.all(refusals.map(([name]) => dry(`--config=${config}`, `--plugins=${name}`)))
  for (const [index, [name, message]] of refusals.entries()) t.match(results[index], { code: 1, stderr: message }, name)

  const listed = join(dir, 'listed.json')
  const inFile = `plugin "./gone.mjs" does not load: Cannot find module '${join(dir, 'gone.mjs')}' (named by "plugins" in ${listed}, line 4)`
  const named = [
    [await dry(`--config=${listed}`), inFile],
    [await dry('--plugins=svc-plugin-gone'), '(named by --plugins)'],
    [await run(['server', '--dry-run'], { SVC_PLUGINS: 'svc-plugin-gone' }), '(named by SVC_PLUGINS)'],
  ] as const
  for (const [outcome, place] of named) t.match(outcome, { code: 1, stderr: place })

  const files: [string, RegExp, number][] = [
    ['bad.json', /the configuration file \(.*bad\.json\) cannot be read/, 2],
    ['list.json', /the configuration file \(.*list\.json\) must hold a JSON object/, 2],
    ['none.json', /the configuration file \(.*none\.json\) cannot be read: ENOENT/, 2],
    ['twice.json', /plugin ".\/local.mjs" is named twice, or exports two plugins named "local"/, 1],
  ]
  const read = await Promise.all(files.map(([name]) => dry('--config', join(dir, name))))
  for (const [index, [name, message, code]] of files.entries()) t.match(read[index], { code, stderr: message }, name)
})

t.test('the text format is for people', async t => {
  const server = start(t, ['server', '--log-format', 'text'])
  await new Promise<void>(resolve => {
    server.child.stderr?.on('data', chunk => String(chunk).includes('ready') && resolve())
  })
  server.child.kill('SIGTERM')
  const { code, stderr } = await server.ended
  t.equal(code, 0)
  t.match(stderr, /INFO: ready \{"version":/)
})

t.test('an error that was to be expected is one line in the text format, and whole in the other', async t => {
  const script = `
    import { createLogger, createStderrSink } from '${new URL('../program/log.ts', import.meta.url)}'
    import { CatalogError } from '${new URL('../errors.ts', import.meta.url)}'
    const log = createLogger('info', createStderrSink(process.argv[1]))
    log.error({ err: new CatalogError('drive_missing', 503, 'Mount it.'), slot: 2 }, 'a drive has failed')
    log.error({ err: new Error('a defect') }, 'it failed')`
  const said = (format: string) =>
    spawnSync(process.execPath, ['--conditions=svc-src', '--input-type=module', '-e', script, format], {
      encoding: 'utf8',
    }).stderr
  const text = said('text')
  t.match(text, /ERROR: a drive has failed: Mount it\. \{"slot":2\}\n/)
  t.match(text, /it failed[\s\S]*a defect[\s\S]*\n +at /, 'a defect is told with where it was')
  t.notMatch(text.slice(0, text.indexOf('it failed')), /\n +at /)
  t.match(said('json'), /"code":"drive_missing"/)
})

t.test('a Node.js that is too old gets an error of one line', async t => {
  const pretend = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "24.14.9" } })'
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`]
  t.same(await start(t, ['--version'], { nodeArgs }).ended, {
    code: 1,
    signal: null,
    stdout: '',
    stderr: 'svc needs Node.js 24.15 or newer; this is 24.14.9.\n',
  })
})

t.test('the revision is read from a clone, wherever it keeps it', t => {
  const commit = '0123456789abcdef0123456789abcdef01234567'
  const folder = t.testdir({
    loose: { '.git': { HEAD: 'ref: refs/heads/main\n', refs: { heads: { main: `${commit}\n` } } } },
    packed: { '.git': { HEAD: 'ref: refs/heads/main\n', 'packed-refs': `# pack-refs\n${commit} refs/heads/main\n` } },
    detached: { '.git': { HEAD: `${commit}\n` } },
    linked: { '.git': 'gitdir: ../loose/.git/worktrees/linked\n' },
    broken: { '.git': { HEAD: 'ref: refs/heads/main\n' } },
    strange: { '.git': { HEAD: '\u0000' } },
    package: {},
  })
  const linked = join(folder, 'loose/.git/worktrees/linked')
  mkdirSync(linked, { recursive: true })
  writeFileSync(join(linked, 'HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(linked, 'commondir'), '../..\n')
  for (const name of ['loose', 'packed', 'detached', 'linked']) {
    t.equal(revisionIn(join(folder, name)), '0123456789ab', name)
  }
  for (const name of ['broken', 'strange', 'package', 'none']) t.equal(revisionIn(join(folder, name)), undefined, name)
  t.end()
})
