/** `svcctl cache`: a policy, the settings of a distribution, purges, and what is told of them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { eventually, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer({ derivesStoreKey: true })
t.teardown(() => server.stop())
const { run, folder } = createSession(temporaryFolder(t))
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], {
  env: { SVCCTL_SECRET_KEY: 'change-me-please' },
})
const cache = (line: string) => run(['cache', ...line.split(' ')])
const write = (name: string, document: object) => writeFileSync(join(folder, name), JSON.stringify(document))

t.test('a policy is checked, created, named by a distribution, and only then cannot be removed', async t => {
  await server.s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
  t.equal((await run(['dist', 'create', 'home/site', '--bucket', 'pages', '--alias', 'www.example.test'])).code, 0)
  write('short.json', { name: 'short', ttl: { default: '5m', max: '1h' } })
  t.match((await cache('policy validate home short.json')).stdout, /otherwise for 5m/)
  const created = await cache('policy create home short.json')
  t.equal(created.code, 0, created.stderr)
  t.match((await cache('policy list home')).stdout, /short[\s\S]*standard/)
  write('cache.json', { cache: { policy: 'short' } })
  const set = await cache('dist set home site cache.json')
  t.equal(set.code, 0, set.stderr)
  t.match((await cache('policy remove home short --yes')).stderr, /cache of the distribution site names it/)
  t.match((await cache('dist get home site --json')).records, [{ cache: { policy: 'short' } }])
})

t.test('policies and settings are printed as YAML, which an import takes', async t => {
  for (const [command, reason] of [
    ['settings get home', /CacheSettings: nothing is set, the defaults hold\. There is no YAML document/],
    ['policy get home standard', /CachePolicy standard is built in: [^.]*\. There is no YAML document/],
    ['policy get home none-such', /none-such/],
    ['dist get home none-such', /There is no such distribution/],
  ] as const) {
    const none = await cache(`${command} -o yaml`)
    t.equal(none.code, 3, `${command}: an empty file would look like a document`)
    t.equal(none.stdout, '')
    t.match(none.stderr, reason)
  }
  write('settings.json', { cache: { policy: 'short' }, nodeHeader: true })
  t.equal((await cache('settings set home settings.json')).code, 0)
  const settings = await cache('settings get home -o yaml')
  t.match(settings.stdout, /^apiVersion: svc\/v1\nkind: CacheSettings\n[\s\S]*nodeHeader: true/)
  const policy = await cache('policy get home short -o yaml')
  t.match(policy.stdout, /^apiVersion: svc\/v1\nkind: CachePolicy\nmetadata:\n +name: short\n[\s\S]*max: 1h/)
  const dist = await cache('dist get home site -o yaml')
  t.match(dist.stdout, /kind: DistributionCache\n[\s\S]*policy: short/)
  for (const { stdout } of [settings, policy, dist]) {
    writeFileSync(join(folder, 'one.yaml'), stdout)
    const again = await run(['dist', 'import', 'home', 'one.yaml', '--json'])
    t.match(again.records, [{ created: [], replaced: [], unchanged: [{}] }], again.stderr)
  }
  t.match((await cache('policy get home short -o text')).stderr, /json, yaml/)
})

t.test('a cache in front that was told nothing yet is neither online nor offline', async t => {
  write('hooks.json', { webhooks: [{ id: 'edge', type: 'generic', url: 'https://cache.example.test/purge' }] })
  const set = await cache('dist set home site hooks.json')
  t.equal(set.code, 0, set.stderr)
  const listed = await cache('webhooks list home site')
  t.match(listed.stdout, /ID +TYPE +ONLINE +QUEUED/i)
  t.match(listed.stdout, /edge +generic +- +0/)
  const [status] = (await cache('webhooks list home site --json')).records
  t.notOk('online' in (status as object))
  write('hooks.json', { cache: { policy: 'short' } })
  t.equal((await cache('dist set home site hooks.json')).code, 0)
})

t.test('purges of a distribution and of all, with their state', async t => {
  const purged = await cache('purge home/site --path /docs/ --prefix /old/ --wait --json')
  t.equal(purged.code, 0, purged.stderr)
  t.match(purged.records, [
    {
      id: /^inv-/,
      state: 'completed',
      request: { distribution: 'site', paths: ['/docs/'], patterns: [{ type: 'prefix' }] },
    },
  ])
  t.match((await cache('purge home --tag news')).stderr + (await cache('invalidations home')).stdout, /inv-2/)
  t.match(await cache('purge home/site'), { code: 2, stderr: /Which answers\? --path, .* --all everything/ })
  t.match(
    (await cache('purge home/site --prefix /a --glob /{b')).stderr,
    /--glob "\/\{b"/,
    'the option, not its place in the request',
  )
  t.match((await cache('purge home/site --path docs')).stderr, /--path must begin with \//)
  t.match((await cache('status home inv-1 --json')).records, [{ id: 'inv-1', state: 'completed' }])
  t.match((await cache('stats home --json')).records, [{ requests: {}, nodes: [{ mode: 'local' }] }])
  const inspect = 'inspect home http://www.example.test/a'
  t.match((await cache(`${inspect} --json`)).records, [{ key: 'a', policy: { policy: { ttl: {} } } }])
  const { stdout } = await cache(inspect)
  t.match(stdout, /cached: +yes\n[\s\S]*object: +pages\/a\n[\s\S]*policy: +short \(distribution\)/)
  t.ok(stdout.split('\n').length < 25, stdout)
})

t.test('pages are warmed, with their errors told', async t => {
  await server.s3.send(new PutObjectCommand({ Bucket: 'pages', Key: 'index.html', Body: 'home' }))
  const warmed = await cache('warm home/site --path / --glob *.html --wait')
  t.equal(warmed.code, 0, warmed.stderr)
  t.match(warmed.stdout, /Warmed: 1 of 1: 1 fetched/)
  const missing = await cache('warm home/site --path /missing.html --wait')
  t.equal(missing.code, 1)
  t.match(missing.stderr, /www\.example\.test\/missing\.html: 404/)
  const some = await cache('warm home/site --path / --path /missing.html --wait')
  t.equal(some.code, 1)
  t.match(some.stderr, /Not all pages were warmed: 2 of 2: .* 1 failed/)
  t.match((await cache('warm home/site --glob /{a')).stderr, /--glob "\/\{a"/)
  const job = (await cache('warm home/site --path / --json')).records[0]!
  t.match((await cache(`warm-status home site ${job.id} --json`)).records, [{ id: job.id, distribution: 'site' }])
})

t.test('stats in words, and a line for each interval', async t => {
  t.match((await cache('stats home')).stdout, /hit ratio[\s\S]*entries/)
  const args = ['cache', 'stats', 'home', '--watch', '--every', '100ms', '--json']
  let watchedMs = 300
  // The first line comes an interval after the first answer, whenever that is.
  const watched = await eventually(
    async () => {
      watchedMs *= 2
      return run(args, { signal: AbortSignal.timeout(watchedMs) })
    },
    ({ records }) => records.length > 0,
  )
  t.equal(watched.code, 0, watched.stderr)
  t.match(watched.records[0], { requests: 0, entries: Number, memoryBytes: Number })
})

t.test('a bucket that is published is not removed, nor emptied', async t => {
  await server.s3.send(new PutObjectCommand({ Bucket: 'pages', Key: 'kept.txt', Body: 'kept' }))
  const refused = await run(['rb', 'home/pages', '--force', '--yes'])
  t.match(refused, { code: 5, stderr: /The distribution site \(www\.example\.test\) serves this bucket\. Remove what/ })
  t.equal((await run(['stat', 'home/pages/kept.txt'])).code, 0)
  await server.s3.send(new CreateBucketCommand({ Bucket: 'plain' }))
  t.equal((await run(['rb', 'home/plain'])).code, 0, 'another bucket goes as before')
  await server.s3.send(new CreateBucketCommand({ Bucket: 'logs' }))
  const { records } = await run(['dist', 'get', 'home/site', '--json'])
  const logging = { accessLog: true, target: 'bucket:logs/web/' }
  const input = JSON.stringify({ ...records[0], logging })
  t.equal((await run(['dist', 'set', 'home/site', '-'], { input })).code, 0)
  const logs = await run(['rb', 'home/logs', '--yes'])
  t.match(logs, {
    code: 5,
    stderr: /The distribution site \(www\.example\.test\) writes its access log into this bucket/,
  })
  t.equal((await run(['dist', 'remove', 'home/site', '--yes'])).code, 0)
  for (const bucket of ['home/logs', 'home/pages']) {
    const gone = await run(['rb', bucket, '--force', '--yes'])
    t.equal(gone.code, 0, gone.stderr)
  }
})
