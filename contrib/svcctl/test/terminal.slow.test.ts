/** What operators see: commands of monitoring, diagnostics and cluster on a pseudo-terminal of 80 columns. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import stringWidth from 'fast-string-width'
import { eventually, temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { failuresOf, verdictOf } from '../speedtest-verdict.ts'
import { startServer } from './server.ts'
import { createSession } from './session.ts'
import { runOnTerminal } from './terminal.ts'

const server = await startServer()
t.teardown(() => server.stop())
const session = createSession(temporaryFolder(t))
const { run } = session
const controlCode = '\u001b'
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], {
  env: { SVCCTL_SECRET_KEY: 'change-me-please' },
})
await run(['mb', 'home/photos'])
await run(['cp', '-', 'home/photos/2026/a-rather-long-name-of-a-photo-that-somebody-took-at-the-sea.jpg'], {
  input: 'x',
})
await run(['admin', 'config', 'set', 'home', 'api', 'requests_max=500'])

/** Fits in 80 columns, and is colored nowhere but where the test says. */
async function show(t: Test, args: string, { code = 0, input }: { code?: number; input?: string } = {}) {
  const outcome = await runOnTerminal(session, args.split(' '), { input })
  t.equal(outcome.code, code, `${args}: ${outcome.raw}`)
  for (const line of outcome.shown) t.ok(stringWidth(line) <= 80, `${args}: ${stringWidth(line)}: ${line}`)
  return { ...outcome, text: outcome.lines.join('\n') }
}

t.test('admin info shows the server, its drives and its usage', async t => {
  // Samples are taken every ten seconds, and an increase needs two.
  const increases = 'admin metrics query home svc_s3_requests_total --agg sum --by api --fn increase'
  await eventually(
    () => run(increases.split(' ')),
    ({ stdout }) => /^svc_s3_requests_total/m.test(stdout),
  )
  for (const [args, expected] of [
    ['admin info home', /^Drives +1 of 1 online/m],
    ['admin server info home', /^version: /m],
    ['admin usage home', /^objectsCount: +1$/m],
    ['admin plugin list home', /^ORDER +NAME/m],
    ['admin config list home', /requests_max/],
    ['admin audit home --limit 5', /^TIME +STATUS/m],
    ['admin audit home --limit 50', /^ *TIME/m],
    ['admin locks list home', /^There are none\.$/m],
    ['admin heal list home', /^There are none\.$/m],
    ['admin metrics list home', /svc_s3_request_duration_seconds/],
    ['admin metrics list home --prefix svc_drive', /svc_drive_free_bytes/],
    ['admin metrics query home svc_drive_free_bytes', /^svc_drive_free_bytes/m],
    ['admin metrics query home svc_drive_operations_total --fn rate', /^svc_drive_operations_total/m],
    ['admin metrics query home svc_s3_request_duration_seconds --fn quantile', /^svc_s3_request_duration_seconds/m],
    [increases, /^svc_s3_requests_total/m],
  ] as const) {
    const { text } = await show(t, args)
    t.match(text, expected, args)
  }
})

t.test('the speed test shows its progress, a table, and an explanation', async t => {
  const drive = await show(t, 'admin speedtest home drive --size 8MiB --duration 1s')
  t.match(drive.text, /^PATH +WRITE +READ$/m)
  t.match(
    drive.text.replaceAll('\n', ' '),
    /The drive writes as fast as a network of [\d.]+ [MG]bit\/s, and reads as fast as/,
  )
  const object = await show(t, 'admin speedtest home object --size 64KiB --duration 1s --concurrency 2')
  t.match(object.text, /^OF +RATE +OBJECTS\/S +P50 +P99 +MAX +FIRST BYTE +ERRORS$/m)
  t.match(
    object.text.replaceAll('\n', ' '),
    /With 2 at a time, objects of 64\.0 KiB are stored as fast as a network of/,
  )
  t.ok(
    object.shown.some(line => /^[█░]{24} \ds of about 2s$/.test(line)),
    'it says how far it is',
  )
  t.notMatch(object.text, /█/, 'and leaves nothing of that')
  t.match((await show(t, 'admin speedtest home net', { code: 1 })).text, /one node/)
  const json = await run(['admin', 'speedtest', 'home', 'drive', '--size', '8MiB', '--duration-seconds', '1', '--json'])
  t.match(json.records, [{ kind: 'drive', drive: { drives: [{ error: '' }] } }])
  t.match(await run(['admin', 'speedtest', 'home', 'disk']), { code: 2 })
  const full = await run(['admin', 'speedtest', 'home', 'drive', '--size', '1TiB'])
  t.match(full, { code: 1, stderr: /was not measured: the drive has \d+ bytes free/ })
})

t.test('the numbers of a speed test are explained', t => {
  const drives = (...rates: number[]) => ({
    kind: 'drive',
    drive: {
      drives: rates.map((writeBytesPerSecond, i) => ({
        path: `/mnt/d${i + 1}`,
        writeBytesPerSecond,
        readBytesPerSecond: 1e9,
        error: writeBytesPerSecond === 0 ? 'the drive is offline' : '',
      })),
    },
  })
  t.same(verdictOf(drives(5e8, 4.5e8, 5e8)), ['All 3 drives are about as fast as each other.'])
  t.same(verdictOf(drives(5e8, 4.5e8, 1e8, 5e8)), [
    '/mnt/d3 writes at 22 % of the median of the drives.',
    'A slow drive slows every write of its set: look at its health, its cable and its controller.',
  ])
  t.match(verdictOf(drives(1.25e9)), [/network of 10\.0 Gbit\/s, and reads as fast as one of 8\.0 Gbit\/s/])
  t.same(verdictOf(drives(0)), ['No drive was measured.'])
  t.same(failuresOf(drives(5e8, 0)), ['/mnt/d2 was not measured: the drive is offline.'])
  const speed = { bytesPerSecond: 1e8, objectsPerSecond: 100, latencyMs: { p50: 2, p90: 3, p99: 5, max: 9 }, errors: 0 }
  const objects = (put: object, error = '') => ({
    kind: 'object',
    object: { size: 1 << 20, concurrency: 8, put: { ...speed, ...put }, get: speed, nodes: [{ error }] },
  })
  t.equal(verdictOf(objects({})).length, 1)
  const tail = { latencyMs: { ...speed.latencyMs, p99: 60 } }
  t.match(verdictOf(objects(tail))[1], /^One in a hundred uploads takes 30 times as long as the median/)
  t.same(verdictOf(objects({ objectsPerSecond: 0 })), ['Nothing was stored.'])
  t.same(failuresOf(objects({ errors: 3 }, 'the drive is full')), [
    '3 objects were not stored or read: the drive is full.',
  ])
  t.same(failuresOf(objects({})), [])
  t.end()
})

t.test('streams: a line for each event, failures in color', async t => {
  // Until they are watched, and then some that fail.
  const asking = setInterval(() => void fetch(`${server.endpoint}/photos/none`).catch(() => {}), 200)
  t.teardown(() => clearInterval(asking))
  const trace = await runOnTerminal(session, ['admin', 'trace', 'home', '--errors', '--type', 's3', '--count', '2'])
  t.equal(trace.code, 0, trace.raw)
  t.match(trace.raw, new RegExp(`${controlCode}\\[33m20\\S+ .*403 .*GET .*/photos/none`))
  t.equal(trace.lines.filter(line => line.includes('/photos/none')).length, 2)
  const logs = await runOnTerminal(session, ['admin', 'logs', 'home', '--last', '3', '--count', '3'])
  t.equal(logs.code, 0, logs.raw)
  t.equal(logs.lines.filter(line => /^20\d\d-/.test(line)).length, 3)
  const plain = await runOnTerminal(session, ['--no-color', 'admin', 'trace', 'home', '--count', '1'])
  t.notOk(plain.raw.includes(`${controlCode}[3`))
})

t.test('files: a profile, a report, a scrape configuration', async t => {
  await show(t, 'admin profile home cpu --seconds 1 --output cpu.pb.gz')
  t.ok(existsSync(join(session.folder, 'cpu.pb.gz')))
  t.match((await show(t, 'admin diagnose home --output report.zip')).text, /^Saved report\.zip\.$/m)
  const { lines } = await runOnTerminal(session, ['admin', 'prometheus', 'generate', 'home'])
  for (const line of lines)
    t.ok(stringWidth(line) <= 80 || line.includes('credentials:'), 'nothing is long but the token')
})

t.test('an import of a cluster archive has a dry run, a question, and a result', async t => {
  t.match(await run(['admin', 'user', 'add', 'home', 'ada', '--generate']), { code: 0 })
  await run(['admin', 'policy', 'attach', 'home', 'readonly', '--user', 'ada'])
  await run(['dist', 'keygroup', 'create', 'home', 'films'])
  t.match((await show(t, 'admin cluster export home --output cluster.zip')).code, 0)
  await run(['admin', 'group', 'create', 'home', 'staff'])
  await run(['admin', 'bucket', 'tags', 'set', 'home/photos', 'a=b'])
  await run(['admin', 'config', 'set', 'home', 'api', 'requests_max=400', 'requests_deadline=3s'])
  const asked = 'admin cluster import home cluster.zip --mode replace'
  await run(['admin', 'user', 'delete', 'home', 'ada', '--yes'])
  const dry = await show(t, `${asked} --dry-run`)
  t.match(dry.text, /^\+ user\/ada$/m)
  t.match(dry.text, /^~ config\/api\n {4}requests_deadline, requests_max$/m, 'with the fields that differ')
  t.match(dry.text, /^- bucket\/photos\/tags$/m)
  t.match(dry.text, /^- group\/staff$/m)
  t.match(
    dry.text,
    /^In the archive:\n {2}users: \d\n {2}groups: 0\n {2}policies: \d+\n {2}subsystems: 1\n {2}buckets: 1\n {2}key-group: 1$/m,
  )
  t.match(dry.text, /^Nothing was changed\.$/m)
  const refused = await show(t, asked, { input: 'n\n', code: 1 })
  t.match(refused.text, /Remove users, groups, policies/)
  t.match((await run(['admin', 'group', 'list', 'home'])).stdout, /staff/)
  const done = await show(t, asked, { input: 'y\n' })
  t.match(done.text, /^The archive was imported\.$/m)
  t.notMatch((await run(['admin', 'group', 'list', 'home'])).stdout, /staff/)
  t.match((await show(t, 'admin cluster import home cluster.zip')).text, /^There are no differences\.$/m)
})

t.test('the help of each of these commands', async t => {
  const commands =
    'info,usage,trace,logs,audit,metrics list,metrics query,prometheus generate,profile,speedtest,diagnose,cluster export,cluster import,locks list,locks release,service restart,service stop'
  for (const command of commands.split(',')) {
    const { code, lines } = await runOnTerminal(session, ['admin', ...command.split(' '), '--help'])
    t.equal(code, 0, command)
    // Examples are for copying: they are never broken.
    const wide = lines.filter(line => stringWidth(line) > 80 && !line.startsWith('  svcctl '))
    t.same(wide, [], command)
  }
})

t.test('locks: those that are held are listed, and released after a question', async t => {
  const { locks } = server.kernel.services
  await locks.hold('photos/delete', { source: 'deleteBucket' }, async lease => {
    await locks.hold('svc/cluster-import', { source: 'importCluster' }, async () => {
      t.match((await show(t, 'admin locks list home')).text, /photos\/delete[\s\S]*svc\/cluster-import/)
      t.match((await show(t, 'admin locks list home --bucket photos')).text, /photos\/delete/)
      t.notMatch((await show(t, 'admin locks list home --bucket photos')).text, /cluster-import/)
      const refused = await show(t, 'admin locks release home photos/delete', { input: 'n\n', code: 1 })
      t.match(refused.text, /Interrupt the work under the lock/)
      await lease.check()
      const released = await show(t, 'admin locks release home photos/delete svc/cluster-import', { input: 'y\n' })
      t.match(released.text, /photos\/delete/)
      t.match(released.text, /svc\/cluster-import/)
      t.match(released.text, /SINCE/)
      t.notMatch(released.text, /TOTAL|1 B/, 'a number of nodes is no size')
      await t.rejects(async () => lease.check(), { code: 'conflict' })
    })
  })
  t.match((await show(t, 'admin locks list home')).text, /^There are none\.$/m)
})
