/** Commands that look and change nothing: du, find, tree, diff, version and ping, against the real server. */
import { cpSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { run, folder } = createSession(temporaryFolder(t))
const env = { SVCCTL_SECRET_KEY: 'change-me-please' }
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], { env })

const succeeds = async (t: Test, ...args: string[]) => {
  const outcome = await run(args)
  t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
  return outcome
}
const linesOf = async (t: Test, ...args: string[]) =>
  (await succeeds(t, ...args)).stdout
    .trimEnd()
    .split('\n')
    .map(line => line.trim().replace(/ {2,}/g, '  '))
const sizes = { '.top': 4, 'a-b.txt': 10, 'a/b/deep.bin': 3000, 'a/x.txt': 3, 'c/z.JPG': 2000 }
for (const [name, size] of Object.entries(sizes)) {
  mkdirSync(join(folder, 'src', name, '..'), { recursive: true })
  writeFileSync(join(folder, 'src', name), 'x'.repeat(size))
}
for (const name of ['empty', 'first', 'second']) await run(['mb', `home/${name}`])
await run(['cp', '-r', 'src', 'home/first/p'])
await run(['cp', '-r', 'src', 'home/second'])

t.test('du adds up, and has lines for folders down to a depth, each before its parent', async t => {
  t.same(await linesOf(t, 'du', 'home/first'), ['4.90 KiB  5 objects  home/first'])
  t.same(await linesOf(t, 'du', '--depth', '1', 'home'), [
    '4.90 KiB  5 objects  home/first',
    '4.90 KiB  5 objects  home/second',
    '9.80 KiB  10 objects  home',
  ])
  const folders = [
    '2.93 KiB  1 object  DIR/a/b',
    '2.93 KiB  2 objects  DIR/a',
    '1.95 KiB  1 object  DIR/c',
    '4.90 KiB  5 objects  DIR',
  ]
  for (const place of ['home/second', 'src', 'home/first/p'])
    t.same(
      await linesOf(t, 'du', '-r', `${place}/`),
      folders.map(line => line.replace('DIR', place)),
    )
  t.same((await succeeds(t, 'du', '-d', '1', '--json', 'home/first')).records, [
    { type: 'folder', target: 'home/first/p', size: 5017, objects: 5 },
    { type: 'total', target: 'home/first', size: 5017, objects: 5 },
  ])
  t.same(await linesOf(t, 'du', 'home/first/p/a/x.txt'), ['3 B  1 object  home/first/p/a/x.txt'])
  t.same(await linesOf(t, 'du', 'src/a/x.txt'), ['3 B  1 object  src/a/x.txt'])
  t.same(await linesOf(t, 'du', 'home/empty'), ['0 B  0 objects  home/empty'])
  t.equal((await run(['du', '--depth', 'x', 'home'])).code, 2)
})

t.test('find takes names, paths, sizes and ages', async t => {
  const find = async (...args: string[]) => (await linesOf(t, 'find', ...args)).filter(line => line !== '')
  t.same(await find('home', '--name', '*.txt'), [
    'home/first/p/a-b.txt',
    'home/first/p/a/x.txt',
    'home/second/a-b.txt',
    'home/second/a/x.txt',
  ])
  t.same(await find('home/second', '--name', '?-b.*'), ['home/second/a-b.txt'])
  t.same(await find('home/second', '--name', '.*'), ['home/second/.top'], 'a dot is a dot')
  t.same(await find('src', '--path', 'a/*', '--ignore', '*.bin'), ['src/a/x.txt'])
  t.same(await find('home/second', '--larger', '2000', '--smaller', '3001B'), ['home/second/a/b/deep.bin'])
  t.same(await find('home/second', '--maxdepth', '0'), ['home/second/.top', 'home/second/a-b.txt'])
  t.same(await find('home/second', '--older-than', '1h'), [])
  t.equal((await find('home/second', '--newer-than', '1h')).length, 5)
  const past = new Date(Date.now() - 7_200_000)
  cpSync(join(folder, 'src'), join(folder, 'old'), { recursive: true })
  utimesSync(join(folder, 'old/a/x.txt'), past, past)
  t.same(await find('old', '--older-than', '1h'), ['old/a/x.txt'])
  t.match((await succeeds(t, 'find', 'home/second/c', '--json')).records, [
    { type: 'object', target: 'home/second/c/z.JPG', key: 'z.JPG', size: 2000, etag: String, modified: String },
  ])
  const missing = await run(['find', 'home/second/b'])
  t.equal(missing.code, 3)
  t.match(missing.stderr, /There is no object and no folder "home\/second\/b"\./)
  t.equal((await run(['find', 'nofolder'])).code, 3)
})

t.test('tree draws folders, and with --files their files', async t => {
  t.equal(
    (await succeeds(t, 'tree', 'home')).stdout,
    [
      'home',
      '├─ empty',
      '├─ first',
      '│  └─ p',
      '│     ├─ a',
      '│     │  └─ b',
      '│     └─ c',
      '└─ second',
      '   ├─ a',
      '   │  └─ b',
      '   └─ c',
      '',
    ].join('\n'),
  )
  const files = [
    '├─ .top (4 B)',
    '├─ a-b.txt (10 B)',
    '├─ a',
    '│  ├─ b',
    '│  │  └─ deep.bin (2.93 KiB)',
    '│  └─ x.txt (3 B)',
    '└─ c',
    '   └─ z.JPG (1.95 KiB)',
    '',
  ].join('\n')
  t.equal((await succeeds(t, 'tree', '-f', 'home/first/p')).stdout, `home/first/p\n${files}`)
  t.equal((await succeeds(t, 'tree', '-f', 'src')).stdout.split('\n').length, 10)
  t.equal((await succeeds(t, 'tree', '--depth', '1', 'home/second')).stdout, 'home/second\n├─ a\n└─ c\n')
  t.same((await succeeds(t, 'tree', '-f', '-d', '1', '--json', 'home/first/p/c')).records, [
    { type: 'folder', target: 'home/first/p/c', depth: 0 },
    { type: 'object', target: 'home/first/p/c/z.JPG', depth: 1, size: 2000 },
  ])
  t.equal((await run(['tree', 'home/first/none'])).code, 3)
})

t.test('diff shows which side has each file, and exits with 5 if there are differences', async t => {
  t.equal((await succeeds(t, 'diff', 'src', 'home/second')).stdout, '')
  t.equal((await succeeds(t, 'diff', '--checksum', 'home/first/p', 'home/second')).stdout, '')
  cpSync(join(folder, 'src'), join(folder, 'changed'), { recursive: true })
  writeFileSync(join(folder, 'changed/.top'), 'xxxxx')
  writeFileSync(join(folder, 'changed/a-b.txt'), 'y'.repeat(10))
  writeFileSync(join(folder, 'changed/new'), '')
  await run(['cp', '-r', 'changed', 'home/first/changed'])
  await run(['rm', 'home/second/a/x.txt'])
  const differs = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['diff', ...args])
    t.equal(code, 5, stderr)
    return stdout.split('\n').slice(0, -1).sort()
  }
  t.same(await differs('changed', 'home/second'), ['! home/second/.top', '< changed/a/x.txt', '< changed/new'])
  t.same(await differs('home/second', 'changed'), ['! changed/.top', '> changed/a/x.txt', '> changed/new'])
  const byContent = ['! home/second/.top', '! home/second/a-b.txt', '< changed/a/x.txt', '< changed/new']
  t.same(await differs('--checksum', 'changed', 'home/second'), byContent)
  t.same(
    await differs('home/first/changed', 'home/second'),
    byContent.map(line => line.replace('changed', 'home/first/changed')),
    'ETags of objects tell',
  )
  const { records, error } = await run(['diff', '--json', 'home/first/changed', 'home/second'])
  t.match(
    records.filter(({ key }) => key === '.top'),
    [{ difference: 'size', first: 'home/first/changed/.top', firstSize: 5, second: 'home/second/.top', secondSize: 4 }],
  )
  t.match(error, { code: 'conflict', message: '4 differences.' })
  t.equal((await run(['diff', 'src', 'changed'])).code, 2)
  t.equal((await run(['diff', 'src', 'home/nobucket'])).code, 3)
})

t.test('version shows that of svcctl, and that of a server', async t => {
  t.match((await succeeds(t, 'version')).stdout, /^svcctl \d+\.\d+\.\d+ \(Node\.js 24\./)
  t.match((await succeeds(t, 'version', 'home')).stdout, /\nsvc .+ at home\n$/)
  t.match((await succeeds(t, 'version', 'home', '--json')).records, [
    { svcctl: { version: String, node: String }, server: { alias: 'home', version: String, commit: String } },
  ])
})

t.test('ping measures S3, the Admin API and health, as often as is asked', async t => {
  const { records } = await succeeds(t, 'ping', 'home', '--count', '2', '--interval', '1ms', '--json')
  const probes = records.filter(({ type }) => type === 'probe')
  t.same(
    probes.map(({ name, ok, status }) => [name, ok, status]),
    [...Array(2)].flatMap(() => ['s3', 'admin', 'health'].map(name => [name, true, 200])),
  )
  t.ok(probes.every(({ latencyMs }) => (latencyMs as number) > 0))
  t.match(
    records.filter(({ type }) => type === 'summary'),
    ['s3', 'admin', 'health'].map(name => ({
      name,
      count: 2,
      good: 2,
      minMs: Number,
      averageMs: Number,
      maxMs: Number,
    })),
  )
  const away = await run(['ping', 'home', '-c', '1', '--admin-url', 'http://127.0.0.1:1'])
  t.equal(away.code, 1)
  t.match(away.stdout, /^s3 .* ok\nadmin .*no answer from http:\/\/127\.0\.0\.1:1.*\nhealth .* ok\n/)
  t.match(away.stderr, /1 of 3 answers are missing or bad/)

  const starting = createServer((_, answer) => {
    answer.statusCode = 503
    answer.end(JSON.stringify({ ok: false, status: 'starting', checks: { storage: 'is starting', iam: 'ok' } }))
  })
  await new Promise<void>(done => starting.listen(0, '127.0.0.1', done))
  t.teardown(() => starting.close())
  const address = `http://127.0.0.1:${(starting.address() as AddressInfo).port}`
  const unready = await run(['ping', 'home', '-c', '1', '--admin-url', address])
  t.match(unready.stdout, /^admin .* status 503, starting, storage: is starting$/m)
})

t.test('a place that is missing may have been meant for an alias', async t => {
  for (const command of ['find', 'du', 'tree']) {
    const mistyped = await run([command, 'hmoe/first'])
    t.equal(mistyped.code, 3)
    t.match(mistyped.stderr, /There is no file or folder "hmoe\/first", and no alias "hmoe": `svcctl alias list`/)
    const local = await run([command, './nothing'])
    t.equal(local.code, 3)
    t.match(local.stderr, /There is no file or folder "\.\/nothing"\.$/m, 'no alias can have been meant')
  }
})

t.test('--timeout counts, also for a command that waits longer without it', async t => {
  const silent = createServer(() => undefined)
  await new Promise<void>(done => silent.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const admin = ['--timeout', '300ms', '--admin-url', `http://127.0.0.1:${(silent.address() as AddressInfo).port}`]
  const commands = ['bucket lifecycle run home/first --dry-run', 'speedtest home drive']
  for (const command of commands) {
    const { code, stderr } = await run([...admin, 'admin', ...command.split(' ')], {
      signal: AbortSignal.timeout(20_000),
    })
    t.equal(code, 1, command, { stderr })
    t.match(stderr, /no answer|within/i, command)
  }
})
