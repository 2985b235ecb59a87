import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { listCommands } from '../commands/index.ts'
import { childrenOf, readXml, textOf } from '../s3/xml.ts'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { run, folder, configFolder } = createSession(temporaryFolder(t))
const secret = { SVCCTL_SECRET_KEY: 'change-me-please' }
await run(['alias', 'set', 'home', server.endpoint, 'admin'], { env: secret })

const file = (name: string, content: string | Buffer = name): string => {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, content)
  return path
}
const succeeds = async (t: Test, args: readonly string[], options?: Parameters<typeof run>[1]) => {
  const outcome = await run(args, options)
  t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
  return outcome
}
const fails = async (
  t: Test,
  code: number,
  pattern: RegExp,
  args: readonly string[],
  options?: Parameters<typeof run>[1],
) => {
  const outcome = await run(args, options)
  t.equal(outcome.code, code, `${args.join(' ')} exits with ${code}`, { stderr: outcome.stderr })
  t.match(outcome.stderr, pattern)
  return outcome
}
const keysIn = async (t: Test, target: string) =>
  (await succeeds(t, ['ls', '-r', '--json', target])).records.map(({ key }) => key)

t.test('aliases are tried before they are saved, for their owner alone', async t => {
  t.equal(statSync(join(configFolder, 'config.json')).mode & 0o777, 0o600)
  t.equal(statSync(configFolder).mode & 0o777, 0o700)
  const listed = await succeeds(t, ['alias', 'list'])
  t.match(listed.stdout, /home +http:\/\/127\.0\.0\.1:\d+ +admin/)
  t.notMatch(listed.stdout, /change-me/)
  t.notMatch((await succeeds(t, ['--json', 'alias', 'list'])).stdout, /change-me/)

  const set = (name: string, endpoint: string, ...more: string[]) => ['alias', 'set', name, endpoint, 'admin', ...more]
  await fails(t, 4, /secret key is not the one of admin, .* Nothing was saved/, set('bad', server.endpoint), {
    env: { SVCCTL_SECRET_KEY: 'wrong' },
  })
  await fails(
    t,
    4,
    /knows no access key nobody\. Nothing was saved/,
    ['alias', 'set', 'bad', server.endpoint, 'nobody'],
    {
      env: secret,
    },
  )
  await fails(t, 2, /no terminal/, set('bad', server.endpoint))
  await fails(t, 2, /no endpoint/, set('bad', 'localhost:9000'), { env: secret })
  await fails(t, 2, /no user/, set('bad', 'http://a:b@localhost'), { env: secret })
  await fails(t, 2, /no name/, set('../x', server.endpoint), { env: secret })
  await fails(t, 1, /Nothing listens there/, set('bad', 'http://127.0.0.1:1'), { env: secret })
  await succeeds(t, set('piped', server.endpoint, '--secret-key-stdin'), { input: 'change-me-please\n' })
  t.same((await run(['alias', 'list', '--quiet'])).stdout, 'home\npiped\n', 'nothing of what failed was saved')
  await succeeds(t, ['alias', 'remove', 'piped'])
  await fails(t, 3, /There are: home\./, ['alias', 'remove', 'piped'])

  await Promise.all(['a', 'b', 'c', 'd'].map(name => succeeds(t, set(name, server.endpoint), { env: secret })))
  t.equal((await run(['alias', 'list', '--quiet'])).stdout.split('\n').length, 6, 'at the same time, none is lost')
})

t.test('an address with the wrong one of http and https is told the right one', async t => {
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  execFileSync('openssl', ['req', '-x509', ...key, '-days', '2', '-subj', '/CN=localhost', ...files], {
    stdio: 'ignore',
  })
  const [pem, cert] = ['key.pem', 'cert.pem'].map(name => readFileSync(join(folder, name)))
  const secure = createTlsServer({ key: pem, cert }, (_, answer) => answer.end())
  await new Promise<void>(done => secure.listen(0, '127.0.0.1', done))
  t.teardown(() => secure.close())
  const address = `127.0.0.1:${(secure.address() as AddressInfo).port}`
  const set = (endpoint: string) => ['alias', 'set', 'bad', endpoint, 'admin']
  await fails(t, 1, new RegExp(`requires TLS: use https://${address}\\.`), set(`http://${address}`), {
    env: secret,
  })
  const wrong = server.endpoint.replace('http:', 'https:')
  const { stderr } = await fails(t, 1, /without TLS: its address is http:/, set(wrong), { env: secret })
  t.notMatch(stderr, /SSL routines/)
  await fails(t, 1, /getServerInfo: .*without TLS/, ['admin', 'server', 'info', 'home', '--admin-url', wrong])
  await fails(t, 1, /getServerInfo: .*requires TLS/, [
    'admin',
    'server',
    'info',
    'home',
    '--admin-url',
    `http://${address}`,
  ])
})

t.test('a configuration that others can read is refused', async t => {
  const path = join(configFolder, 'config.json')
  chmodSync(path, 0o640)
  await fails(t, 1, /can be read by others \(mode 0640\).*chmod 600/, ['ls', 'home'])
  chmodSync(path, 0o600)
  const other = { env: { SVCCTL_CONFIG_DIR: join(folder, 'broken') } }
  mkdirSync(join(folder, 'broken'))
  writeFileSync(join(folder, 'broken/config.json'), '{"aliases": "secret"', { mode: 0o600 })
  const { stderr } = await fails(t, 1, /is not JSON/, ['ls', 'home'], other)
  t.notMatch(stderr, /secret/)
  writeFileSync(join(folder, 'broken/config.json'), '{"version":1,"aliases":{"home":{"endpoint":"x"}}}', {
    mode: 0o600,
  })
  await fails(t, 1, /is not a configuration/, ['ls', 'home'], other)
})

t.test('buckets', async t => {
  await succeeds(t, ['mb', 'home/plain'])
  await succeeds(t, ['mb', 'home/plain'])
  await succeeds(t, ['mb', '-p', 'home/plain'])
  await fails(t, 1, /has 3 to 63 lower-case letters.*InvalidBucketName/, ['mb', 'home/UPPER'])
  await fails(t, 2, /name the bucket/, ['mb', 'home/plain/key'])
  await fails(t, 3, /There is no alias "gone"/, ['mb', 'gone/plain'])
  await succeeds(t, ['mb', '--with-versioning', 'home/kept'])
  t.match((await succeeds(t, ['stat', 'home/kept'])).stdout, /Versioning +enabled/)
  await succeeds(t, ['mb', '--with-lock', 'home/locked'])
  t.match((await succeeds(t, ['--json', 'ls', 'home'])).records, [
    { type: 'bucket', name: 'kept' },
    { name: 'locked' },
    { name: 'plain' },
  ])
  await succeeds(t, ['rb', 'home/locked'])
  await fails(t, 3, /NoSuchBucket/, ['rb', 'home/locked'])
  await succeeds(t, ['cp', '-', 'home/plain/a'], { input: 'a' })
  await fails(t, 5, /--force removes what is in it, too[\s\S]*BucketNotEmpty/, ['rb', 'home/plain'])
  await fails(t, 2, /add --yes/, ['rb', '--force', 'home/plain'])
  await succeeds(t, ['rb', '--force', '--yes', 'home/plain'])
  t.notMatch((await run(['ls', 'home'])).stdout, /plain/)
})

t.test('one object, there and back', async t => {
  await succeeds(t, ['mb', 'home/single'])
  const path = file('hello world.txt', 'hello\n')
  const up = await succeeds(t, [
    '--json',
    'cp',
    path,
    'home/single/',
    '--attr',
    'Cache-Control=no-store',
    '--attr',
    'mood=good',
    '--tags',
    'a=1',
  ])
  t.match(up.records, [{ status: 'copied', target: 'home/single/hello world.txt', size: 6, etag: /^[0-9a-f]{32}$/ }])
  t.equal((await succeeds(t, ['cat', 'home/single/hello world.txt'])).stdout, 'hello\n')
  t.match((await succeeds(t, ['stat', '--json', 'home/single/hello world.txt'])).records, [
    {
      size: 6,
      contentType: 'text/plain; charset=utf-8',
      cacheControl: 'no-store',
      metadata: { mood: 'good' },
      checksums: { CRC32: String },
    },
  ])
  await succeeds(t, ['cp', 'home/single/hello world.txt', 'back.txt'])
  t.equal(readFileSync(join(folder, 'back.txt'), 'utf8'), 'hello\n')
  await succeeds(t, ['cp', 'home/single/hello world.txt', 'home/single/copy'])
  t.match((await succeeds(t, ['--json', 'stat', 'home/single/copy'])).records, [{ metadata: { mood: 'good' } }])
  await succeeds(t, ['cp', '--attr', 'mood=bad', 'home/single/copy', 'home/single/other'])
  t.match((await succeeds(t, ['--json', 'stat', 'home/single/other'])).records, [
    { cacheControl: 'no-store', metadata: { mood: 'bad' } },
  ])
  t.equal((await succeeds(t, ['cp', 'home/single/copy', '-'])).stdout, 'hello\n')
  await succeeds(t, ['mv', 'home/single/copy', 'home/single/sub/'])
  t.same(await keysIn(t, 'home/single'), ['hello world.txt', 'other', 'sub/copy'])
  await succeeds(t, ['mv', path, 'home/single/moved'])
  t.notOk(existsSync(path))
  utimesSync(join(folder, 'back.txt'), 1_000_000_000, 1_000_000_000.25)
  await succeeds(t, ['cp', '--preserve', 'back.txt', 'home/single/dated'])
  await succeeds(t, ['cp', '--preserve', 'home/single/dated', 'dated'])
  t.equal(statSync(join(folder, 'dated')).mtimeMs, 1_000_000_000_250)

  await fails(t, 3, /HeadObject single\/nothing: .*\(NotFound, request /, ['cp', 'home/single/nothing', 'nothing'])
  t.notOk(existsSync(join(folder, 'nothing')))
  await fails(t, 3, /ENOENT/, ['cp', 'nothing', 'home/single/'])
  await fails(t, 3, /NoSuchBucket/, ['cp', 'back.txt', 'home/missing/'])
  await fails(t, 2, /Neither is an alias/, ['cp', 'back.txt', 'hme/single/'])
  await fails(t, 3, /no alias of that name/, ['cp', 'home/single/dated', 'hme/single/'])
  await fails(t, 1, /-r copies folders/, ['cp', '.', 'home/single/x'])
  await fails(t, 2, /printable ASCII/, ['cp', '--attr', 'a=ü', 'back.txt', 'home/single/'])
  await fails(t, 2, /not between/, ['cp', '--part-size', '1MiB', 'back.txt', 'home/single/'])
  const { error } = await run(['--json', 'cat', 'home/single/nothing'])
  t.match(error, { code: 'NotFound', status: 404, exitCode: 3, requestId: /^[0-9A-F]+$/ })
})

t.test('listings', async t => {
  await succeeds(t, ['mb', '--with-versioning', 'home/listed'])
  const odd = ['a&b<c>.txt', 'new\nline', '\u001b[31mred', 'sub/ü 😀+%41', 'trailing/']
  for (const key of odd) {
    const path = key.split('/').map(encodeURIComponent).join('/')
    t.equal((await server.sendToS3({ method: 'PUT', path: `/listed/${path}`, body: key })).status, 200)
  }
  t.same((await keysIn(t, 'home/listed')).sort(), [...odd].sort())
  const { stdout } = await succeeds(t, ['ls', 'home/listed'])
  t.match(stdout, /\\x1b\[31mred/, 'a terminal is not given what it would obey')
  const wrong = await run(['ls', '--\u001b[31m\u200f\u061c'])
  t.match(wrong, { code: 2, stderr: /--\\x1b\[31m\\u200f\\u061c/ }, 'not in what it says of wrong arguments either')
  t.notMatch(wrong.stderr, '\u001b')
  t.notMatch(stdout, '\u001b')
  t.match(stdout, /- sub\//)
  await succeeds(t, ['rm', 'home/listed/new\nline'])
  const versions = (await succeeds(t, ['ls', '--versions', '--json', 'home/listed/new'])).records
  t.match(versions, [
    { type: 'deleteMarker', isLatest: true },
    { type: 'version', isLatest: false, size: 8 },
  ])
  t.equal(
    (await succeeds(t, ['cat', '--version-id', String(versions[1]!.versionId), 'home/listed/new\nline'])).stdout,
    'new\nline',
  )
  await fails(t, 3, /NoSuchBucket/, ['ls', 'home/nothing'])
  for (const more of [[], ['-r'], ['--versions']]) {
    await fails(t, 3, /There is no object and no folder "home\/listed\/none\/x"\.$/m, [
      'ls',
      ...more,
      'home/listed/none/x',
    ])
  }
  await succeeds(t, ['mb', 'home/nothing-in-it'])
  t.equal((await succeeds(t, ['ls', 'home/nothing-in-it'])).stdout, '')
  await succeeds(t, ['rb', 'home/nothing-in-it'])
  t.match((await succeeds(t, ['ls'])).stdout, /^home\/$/m)
  await server.s3.send(
    new (await import('@aws-sdk/client-s3')).CreateMultipartUploadCommand({ Bucket: 'listed', Key: 'begun' }),
  )
  t.match((await succeeds(t, ['ls', '--incomplete', '--json', 'home/listed'])).records, [
    { type: 'upload', key: 'begun' },
  ])
  await succeeds(t, ['rm', '-r', '--incomplete', '--force', 'home/listed/'])
  t.equal((await run(['ls', '--incomplete', 'home/listed'])).stdout, '')
})

t.test('removing', async t => {
  await succeeds(t, ['mb', '--with-versioning', 'home/gone'])
  for (const key of ['a', 'b/1', 'b/2', 'bc']) await succeeds(t, ['cp', '-', `home/gone/${key}`], { input: key })
  await fails(t, 3, /HeadObject gone\/none/, ['rm', 'home/gone/none'])
  await succeeds(t, ['rm', '--force', 'home/gone/none'])
  t.match((await succeeds(t, ['rm', 'home/gone/a'])).stdout, /its versions stay/)
  await fails(t, 2, /add --yes/, ['rm', '-r', 'home/gone/b/'])
  await fails(t, 2, /go with -r/, ['rm', '--older-than', '1d', 'home/gone/bc'])
  await succeeds(t, ['rm', '-r', '--yes', '--older-than', '1h', 'home/gone/b/'])
  t.same(await keysIn(t, 'home/gone'), ['b/1', 'b/2', 'bc'], 'they are younger')
  t.match((await succeeds(t, ['rm', '-r', '--yes', '--json', 'home/gone/b/'])).records, [
    { target: 'home/gone/b/1' },
    { target: 'home/gone/b/2' },
  ])
  t.same(await keysIn(t, 'home/gone'), ['bc'])
  await succeeds(t, ['rm', '--versions', 'home/gone/a'])
  t.equal((await run(['ls', '--versions', 'home/gone/a'])).stdout, '')
  await succeeds(t, ['rm', '-r', '--versions', '--force', 'home/gone/'])
  t.equal((await run(['ls', '-r', '--versions', 'home/gone'])).stdout, '')
  const many = file('many/x', 'x')
  t.ok(many)
  for (let index = 0; index < 60; index++) file(`many/${index}`, 'x')
  await succeeds(t, ['cp', '-r', 'many', 'home/gone/many'])
  t.match(
    (await succeeds(t, ['rm', '-r', '--versions', '--yes', 'home/gone'])).stdout,
    /Removed 62? ?versions|Removed 61 versions/,
  )

  await succeeds(t, ['mb', '--with-lock', 'home/held'])
  await succeeds(t, ['cp', '-', 'home/held/doc'], { input: 'x' })
  const [{ versionId }] = (await succeeds(t, ['ls', '--json', '--versions', 'home/held'])).records as [
    { versionId: string },
  ]
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const body = `<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>${until}</RetainUntilDate></Retention>`
  const set = await server.sendToS3({
    method: 'PUT',
    path: '/held/doc',
    query: 'retention=',
    headers: {
      'content-type': 'application/xml',
      'content-md5': (await import('node:crypto')).hash('md5', body, 'base64'),
    },
    body,
  })
  t.equal(set.status, 200)
  await fails(t, 4, /AccessDenied/, ['rm', '--version-id', versionId, 'home/held/doc'])
  const inBulk = await fails(t, 4, /AccessDenied/, ['rm', '-r', '--versions', '--yes', 'home/held'])
  t.match(inBulk.stdout, /Removed 0 versions/)
  await succeeds(t, ['rm', '--bypass-governance', '--version-id', versionId, 'home/held/doc'])
})

t.test('an old version is the newest again when it is copied onto its key', async t => {
  await succeeds(t, ['mb', '--with-versioning', 'home/drafts'])
  for (const input of ['first', 'second']) await succeeds(t, ['cp', '-', 'home/drafts/a'], { input })
  const versions = (await succeeds(t, ['ls', '--json', '--versions', 'home/drafts'])).records
  const { versionId } = versions.find(({ isLatest }) => isLatest !== true)! as { versionId: string }
  await succeeds(t, ['cp', '--version-id', versionId, 'home/drafts/a', 'home/drafts/a'])
  await succeeds(t, ['cp', '--version-id', versionId, 'home/drafts/a', 'home/drafts/b'])
  t.same(
    [(await run(['cat', 'home/drafts/a'])).stdout, (await run(['cat', 'home/drafts/b'])).stdout],
    ['first', 'first'],
  )
  t.equal((await succeeds(t, ['ls', '--json', '--versions', 'home/drafts/a'])).records.length, 3, 'and none is lost')
})

t.test('folders, and keys that want out of them', async t => {
  await succeeds(t, ['mb', 'home/tree'])
  for (const name of ['one.txt', 'sub/two.txt', 'sub/deep/three ü.txt', 'sub.txt', 'empty'])
    file(`tree/${name}`, name === 'empty' ? '' : name)
  symlinkSync('/etc/passwd', join(folder, 'tree/link'))
  const up = await succeeds(t, ['cp', '-r', 'tree', 'home/tree/t'])
  t.match(up.stderr, /link is a link and is skipped/)
  t.same(await keysIn(t, 'home/tree'), ['t/empty', 't/one.txt', 't/sub.txt', 't/sub/deep/three ü.txt', 't/sub/two.txt'])
  await succeeds(t, ['cp', '-r', 'home/tree/t', 'down'])
  t.equal(readFileSync(join(folder, 'down/sub/deep/three ü.txt'), 'utf8'), 'sub/deep/three ü.txt')
  t.equal(statSync(join(folder, 'down/empty')).size, 0)
  await succeeds(t, ['cp', '-r', 'home/tree/t', 'home/tree/again'])
  t.equal((await keysIn(t, 'home/tree/again')).length, 5)
  await fails(t, 2, /go on for ever/, ['cp', '-r', 'home/tree', 'home/tree/inside'])
  await fails(t, 3, /nothing below/, ['cp', '-r', 'home/tree/none', 'down2'])
  await succeeds(t, ['cp', join(folder, 'tree/one.txt'), 'tree/sub.txt', 'home/tree/both/'])
  t.same(await keysIn(t, 'home/tree/both'), ['both/one.txt', 'both/sub.txt'])
  await succeeds(t, ['mv', '-r', 'home/tree/both', 'home/tree/moved'])
  await fails(t, 3, /no folder "home\/tree\/both"/, ['ls', '-r', 'home/tree/both'])
  await succeeds(t, ['mv', '-r', 'down/sub', 'home/tree/moved'])
  t.notOk(existsSync(join(folder, 'down/sub/two.txt')))

  await succeeds(t, ['mb', 'home/hostile'])
  const hostile = [
    '../escaped',
    'a/../../escaped',
    '/absolute',
    'a//b',
    '.',
    'link/escaped',
    'x'.repeat(300),
    `.svcctl-${'0'.repeat(16)}.part`,
    'file/below',
  ]
  for (const key of [...hostile, 'file', 'good']) await succeeds(t, ['cp', '-', `home/hostile/${key}`], { input: key })
  mkdirSync(join(folder, 'inner/place'), { recursive: true })
  symlinkSync('../..', join(folder, 'inner/place/link'))
  const down = await run(['cp', '-r', '--concurrency', '1', 'home/hostile', 'inner/place'])
  t.equal(down.code, 1)
  for (const key of hostile) t.match(down.stderr, JSON.stringify(key).slice(0, 40), `${key.slice(0, 30)} is refused`)
  t.equal(down.stderr.split('is not written').length - 1, hostile.length)
  t.equal(readFileSync(join(folder, 'inner/place/good'), 'utf8'), 'good', 'the others are there')
  for (const name of ['escaped', 'inner/escaped', 'inner/place/a']) t.notOk(existsSync(join(folder, name)), name)
  await fails(t, 1, /is not written/, ['cp', 'home/hostile/..', 'inner/'])
})

t.test('mirrors', async t => {
  await succeeds(t, ['mb', 'home/mirror'])
  for (const name of ['a', 'b/c', 'b.txt', 'd.tmp']) file(`site/${name}`, `${name} 1`)
  const mirror = (...args: string[]) => ['mirror', '--json', '--exclude', '*.tmp', ...args]
  const dry = await succeeds(t, mirror('--dry-run', 'site', 'home/mirror/m'))
  t.match(dry.records, [{ status: 'would-copy', source: 'site/a' }, {}, {}])
  t.same(await keysIn(t, 'home/mirror'), [])
  t.equal((await succeeds(t, mirror('site', 'home/mirror/m'))).records.length, 3)
  t.equal(
    (await succeeds(t, mirror('site', 'home/mirror/m'))).records.length,
    0,
    'a second time there is nothing to do',
  )

  const later = Date.now() / 1000 + 60
  utimesSync(join(folder, 'site/a'), later, later)
  t.equal((await succeeds(t, mirror('site', 'home/mirror/m'))).records.length, 0, 'a new time alone is no new content')
  file('site/b/c', 'b/c 2')
  utimesSync(join(folder, 'site/b/c'), later, later)
  await fails(t, 5, /1 differ/, mirror('site', 'home/mirror/m'))
  t.equal((await run(['cat', 'home/mirror/m/b/c'])).stdout, 'b/c 1')
  t.match((await succeeds(t, mirror('--overwrite', 'site', 'home/mirror/m'))).records, [
    { status: 'copied', target: 'home/mirror/m/b/c' },
  ])
  t.equal((await run(['cat', 'home/mirror/m/b/c'])).stdout, 'b/c 2')

  await succeeds(t, ['cp', '-', 'home/mirror/m/surplus'], { input: 'x' })
  t.equal((await succeeds(t, mirror('site', 'home/mirror/m'))).records.length, 0, 'files only in the target are kept')
  t.match((await succeeds(t, mirror('--remove', '--dry-run', 'site', 'home/mirror/m'))).records, [
    { status: 'would-remove' },
  ])
  await succeeds(t, mirror('--remove', 'site', 'home/mirror/m'))
  t.same(await keysIn(t, 'home/mirror'), ['m/a', 'm/b.txt', 'm/b/c'])

  t.equal((await succeeds(t, mirror('home/mirror/m', 'copy'))).records.length, 3)
  t.equal((await succeeds(t, mirror('home/mirror/m', 'copy'))).records.length, 0, 'and back')
  file('copy/b.txt', 'changed')
  file('copy/extra', 'x')
  await succeeds(t, mirror('--overwrite', '--remove', 'home/mirror/m', 'copy'))
  t.equal(readFileSync(join(folder, 'copy/b.txt'), 'utf8'), 'b.txt 1')
  t.notOk(existsSync(join(folder, 'copy/extra')))

  t.equal((await succeeds(t, mirror('home/mirror/m', 'home/mirror/n'))).records.length, 3)
  t.equal((await succeeds(t, mirror('home/mirror/m', 'home/mirror/n'))).records.length, 0, 'on the server')
  t.equal((await succeeds(t, mirror('--checksum', 'home/mirror/m', 'home/mirror/n'))).records.length, 0)
  await fails(t, 2, /parts of each other/, mirror('home/mirror/m', 'home/mirror/m/x'))

  mkdirSync(join(folder, 'nothing-in-it'))
  await fails(t, 5, /takes --yes/, ['mirror', '--remove', 'nothing-in-it', 'home/mirror/n'])
  t.equal((await keysIn(t, 'home/mirror/n')).length, 3, 'an empty source removes nothing')
  await fails(t, 3, /ENOENT/, ['mirror', '--remove', '--yes', 'not-there', 'home/mirror/n'])
  await succeeds(t, ['mirror', '--remove', '--yes', 'nothing-in-it', 'home/mirror/n'])
  await fails(t, 3, /no folder "home\/mirror\/n"/, ['ls', '-r', 'home/mirror/n'])
})

t.test('a mirror does not remove keys that the target stores in normal form', async t => {
  const plain = await startServer({ config: { s3: { keyNormalization: 'none' } } })
  t.teardown(() => plain.stop())
  await succeeds(t, ['alias', 'set', 'plain', plain.endpoint, 'admin'], { env: secret })
  const [decomposed, composed] = ['cafe\u0301.txt', 'caf\u00e9.txt']
  for (const target of ['plain/forms', 'home/forms']) await succeeds(t, ['mb', target])
  await succeeds(t, ['cp', '-', `plain/forms/${decomposed}`], { input: 'coffee' })
  await succeeds(t, ['cp', '-', 'home/forms/surplus'], { input: 'old' })
  const mirror = ['mirror', '--overwrite', '--remove', 'plain/forms', 'home/forms']
  const first = await succeeds(t, mirror)
  t.match(first.stdout, /removed home\/forms\/surplus/)
  const again = await succeeds(t, mirror)
  t.match(again.stderr, /1 in the target are kept: .*SVC_KEY_NORMALIZATION/)
  t.same(await keysIn(t, 'home/forms'), [composed])
  await succeeds(t, ['rm', `plain/forms/${decomposed}`])
  await succeeds(t, ['cp', '-', 'plain/forms/other'], { input: 'other' })
  await succeeds(t, mirror)
  t.same(await keysIn(t, 'home/forms'), ['other'], 'what the source has under no name goes')
})

t.test('links without credentials', async t => {
  await succeeds(t, ['mb', 'home/links'])
  await succeeds(t, ['cp', '-', 'home/links/a b+c'], { input: 'linked' })
  const get = (await succeeds(t, ['presign', 'home/links/a b+c'])).stdout.trim()
  t.equal(await (await fetch(get)).text(), 'linked')
  t.equal((await fetch(get, { method: 'DELETE' })).status, 403)
  const put = (
    await succeeds(t, ['presign', '--json', '--method', 'PUT', '--header', 'x-amz-meta-by: guest', 'home/links/new'])
  ).records[0]!
  t.equal((await fetch(String(put.url), { method: 'PUT', body: 'x' })).status, 403, 'the header belongs to it')
  t.equal(
    (await fetch(String(put.url), { method: 'PUT', body: 'x', headers: { 'x-amz-meta-by': 'guest' } })).status,
    200,
  )
  await fails(t, 2, /604800/, ['presign', '--expire', '8d', 'home/links/new'])
  await fails(t, 2, /whole number of seconds/, ['presign', '--expire', '10ms', 'home/links/new'])
  await fails(t, 2, /names no object/, ['presign', 'home/links'])
  const raw = (await succeeds(t, ['share', 'download', '--raw', 'home/links/new'])).stdout.trim()
  t.equal((await fetch(raw)).status, 200)
  await fails(t, 2, /not with --raw/, ['share', 'download', '--raw', '--description', 'x', 'home/links/new'])

  const form = (await succeeds(t, ['--json', 'share', 'upload', '--max-size', '10B', 'home/links/in/'])).records[0] as {
    url: string
    fields: Record<string, string>
  }
  const post = (content: string, key = form.fields.key!) => {
    const body = new FormData()
    for (const [name, value] of Object.entries({ ...form.fields, key })) body.append(name, value)
    body.append('file', new Blob([content]), 'pic.jpg')
    return fetch(form.url, { method: 'POST', body })
  }
  t.equal((await post('small')).status, 204)
  t.equal((await post('larger than ten')).status, 400)
  t.equal((await post('small', 'elsewhere')).status, 403)
  t.equal((await run(['cat', 'home/links/in/pic.jpg'])).stdout, 'small')
})

t.test('documents are read unchanged, and invalid ones are refused', t => {
  const read = (text: string) => readXml(Buffer.from(text), 'R')
  const text = (inner: string) => textOf(read(`<R>${inner}</R>`), 'K')
  t.equal(text('<K>a</K>'), 'a')
  t.equal(text('<K> a\n</K>'), ' a\n', 'spaces are part of a key')
  t.equal(text('<K>&lt;&amp;&#38;&#x1F600;&quot;</K>'), '<&&\u{1f600}"')
  t.equal(text('<K><![CDATA[<a>&amp;]]>b</K>'), '<a>&amp;b')
  t.equal(text('<x:K xmlns:x="a>b" y=\'/\'>v</x:K>'), 'v')
  t.same([text('<K/>'), text('<K></K>'), text('<K a="1" />'), text('')], ['', '', '', undefined])
  t.equal(text('<K>t<x/></K>'), 't')
  t.equal(text('<__proto__>p</__proto__><K>a</K>'), 'a')
  const document = read('<?xml version="1.0"?>\n<!-- <x> --><R a="b">\n<C><K>1</K></C>\n<D/><C><K>2</K></C></R>\n')
  t.same(
    childrenOf(document, 'C').map(node => textOf(node, 'K')),
    ['1', '2'],
  )
  const bad = [
    '',
    'R',
    '<R>',
    '<R></S>',
    '</R>',
    '<R/>x',
    '<R>&no;</R>',
    '<R>&</R>',
    '<R>&#x110000;</R>',
    '<R><!--</R>',
  ]
  for (const wrong of [...bad, '<S/>', '<!DOCTYPE R><R/>', '<R <x/>', '<!ELEMENT x>', '<R>'.repeat(100)]) {
    t.throws(() => read(wrong), { code: 'bad_answer' }, wrong.slice(0, 20))
  }
  t.end()
})

t.test('help, wrong usage and completion', async t => {
  for (const { name, examples } of await listCommands()) {
    const { stdout } = await succeeds(t, [...name.split(' '), '--help'])
    for (const example of examples) t.match(stdout, example, name)
  }
  t.match((await succeeds(t, ['--help'])).stdout, /Exit codes/)
  t.match((await succeeds(t, ['--version'])).stdout, /^\d+\.\d+\.\d+$/m)
  await fails(t, 2, /unknown command 'sl'.*\n.*Did you mean ls/, ['sl'])
  await fails(t, 2, /unknown command 'delete'.*\n.*Did you mean rm\?/, ['delete', 'home/plain/key'])
  const ofGroup = await fails(t, 2, /unknown command 'delete'/, ['alias', 'delete', 'home'])
  t.notMatch(ofGroup.stderr, /Did you mean rm/)
  await fails(t, 2, /unknown command 'constructor'/, ['constructor'])
  await fails(t, 2, /unknown command 'tag'.*\n.*Did you mean admin object tags\?/, ['tag', '--help'])
  await fails(t, 2, /unknown command 'frobnicate'/, ['--timeout', '5s', 'admin', 'frobnicate', '-h'])
  t.match((await succeeds(t, ['admin', '--help'])).stdout, /Usage: svcctl admin/)
  t.match((await succeeds(t, ['--timeout', '5s', 'ls', '--help'])).stdout, /Usage: svcctl ls/)
  await fails(t, 3, /There is no file or folder ".*nofile" \(ENOENT\)\.$/m, ['cp', 'nofile', 'home/plain'])
  await fails(t, 2, /unknown option '--recursiv'/, ['ls', '--recursiv', 'home'])
  await fails(t, 2, /missing required argument/, ['mb'])
  const typed = await fails(t, 2, /too many arguments for 'set'.*\n\(The secret key is no argument/, [
    ...['alias', 'set', 'home', 'http://localhost:9000', 'admin', 'planted-secret'],
  ])
  t.notMatch(typed.stderr, /planted-secret/)
  await fails(t, 2, /is no target/, ['stat', '/x'])
  const script = (await succeeds(t, ['completion', 'bash'])).stdout
  t.match(script, /'alias set'\) words='.*--secret-key-stdin/)
  t.match((await succeeds(t, ['completion', 'zsh'])).stdout, /^#compdef svcctl/)
  const fish = (await succeeds(t, ['completion', 'fish'])).stdout
  t.match(fish, /case 'alias set'\n +printf '%s\\n' .*--secret-key-stdin/)
  t.match(
    fish,
    /case 'cp'\n.*\n +svcctl completion-targets -- "\$current" 2>\/dev\/null\n +__fish_complete_path "\$current"\n/,
  )
  await fails(t, 2, /Allowed choices/, ['completion', 'csh'])
  t.notMatch((await succeeds(t, ['--help'])).stdout + script, /^ +completion-targets/m)
})

t.test('completion knows aliases, buckets, folders and keys', async t => {
  await succeeds(t, ['mb', 'home/to-complete'])
  for (const key of ['a b/1', 'a-2', 'a\nb', 'c']) {
    await succeeds(t, ['cp', '-', `home/to-complete/${key}`], { input: key })
  }
  const targets = async (beginning: string) =>
    (await succeeds(t, ['completion-targets', '--', beginning])).stdout.split('\n').slice(0, -1)
  t.same(await targets('ho'), ['home/'])
  t.same(await targets('home/to-c'), ['home/to-complete/'])
  t.same(await targets('home/to-complete/a'), ['home/to-complete/a b/', 'home/to-complete/a-2'])
  t.same(await targets('home/to-complete/a b/'), ['home/to-complete/a b/1'])
  t.same(await targets('gone/'), [])
  t.same(await targets('./local'), [])
})
