/**
 * Each flag of `admin trace`, `admin logs` and `admin audit`, and of the charts of metrics, changes what is shown: the same is asked for
 * without it and with it. Of streams, requests of several kinds go on meanwhile, one after the other, so that a flag without effect shows
 * others.
 */
import { once } from 'node:events'
import { request } from 'node:http'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { GetObjectCommand, ListBucketsCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { presignUrl } from 'svc/plugins/auth-sigv4/api'
import { eventually, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { rootPassword, rootUser, startServer } from './server.ts'
import { createSession } from './session.ts'

t.setTimeout(300_000)
const server = await startServer()
t.teardown(() => server.stop())
const { run } = createSession(temporaryFolder(t))
const env = { SVCCTL_SECRET_KEY: 'change-me-please' }
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], { env })
for (const bucket of ['photos', 'films']) await run(['mb', `home/${bucket}`])
await run(['admin', 'user', 'add', 'home', 'ada', '--generate'])

// biome-ignore lint/suspicious/noExplicitAny: records of several kinds
type Line = any
const slowMs = 120

const slowUrl = presignUrl(
  { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' },
  { method: 'PUT', url: `${server.endpoint}/photos/slow`, expiresSeconds: 3600, nowMs: Date.now() },
)

/** The server waits for the second half of the body. */
async function putSlowly() {
  const sent = request(slowUrl, { method: 'PUT', headers: { 'content-length': 2 } })
  const answered = once(sent, 'response')
  sent.write('a')
  await sleep(slowMs)
  sent.end('b')
  const [answer] = await answered
  await once(answer.resume(), 'end')
}

/** One of each kind. */
async function traffic() {
  await server.s3.send(new ListBucketsCommand({}))
  await server.s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a', Body: 'text' }))
  for (const Bucket of ['photos', 'films']) {
    await server.s3.send(new GetObjectCommand({ Bucket, Key: 'none' })).catch(() => undefined)
  }
  await server.sendToAdmin({ method: 'GET', path: '/api/v1/info' })
  await server.sendToAdmin({ method: 'GET', path: '/api/v1/buckets/missing' })
  await fetch(`${server.adminUrl}/api/v1/info`)
  await putSlowly()
  const { log } = server.kernel
  log.info({}, 'one of the test')
  log.warn({}, 'a warning of the test')
  log.error({ err: new Error('its reason') }, 'an error of the test')
}

let isOver = false
const going = (async () => {
  while (!isOver) {
    await traffic()
    await sleep(20)
  }
})()

/** At most five of one kind come in a row. */
const lineCount = 6
const follow = async (args: string) => {
  const { code, stdout, stderr } = await run(`admin ${args} --json`.split(' '))
  const lines: Line[] =
    code === 0
      ? stdout
          .split('\n')
          .slice(0, -1)
          .map(line => JSON.parse(line))
      : []
  return { code, stdout, stderr, lines }
}

t.test('trace', async t => {
  const { lines: all } = await follow(`trace home --count ${lineCount * 3}`)
  const rows: readonly (readonly [flags: string, isWanted: (line: Line) => boolean])[] = [
    ['--errors', ({ status }) => status >= 400],
    ['--status 401,5xx', ({ status }) => status === 401],
    ['--status 2xx', ({ status }) => status < 300],
    ['--api ListBuckets', ({ operation }) => operation === 'ListBuckets'],
    ['--api Get*', ({ operation }) => operation.startsWith('Get')],
    ['--bucket films', ({ path }) => path.startsWith('/films')],
    [`--min-duration ${slowMs / 2}ms`, ({ durationMs }) => durationMs >= slowMs / 2],
    ['--type admin', ({ type }) => type === 'admin'],
    ['--type s3', ({ type }) => type === 's3'],
    ['--type s3 --errors --bucket photos', ({ path, status }) => path.startsWith('/photos') && status >= 400],
  ]
  for (const [flags, isWanted] of rows) {
    t.ok(!all.every(isWanted), `without ${flags} there are others`)
    const { lines, code, stderr } = await follow(`trace home --count ${lineCount} ${flags}`)
    t.equal(code, 0, stderr)
    t.equal(lines.length, lineCount, '--count ends it')
    t.same(
      lines.filter(line => !isWanted(line)),
      [],
      flags,
    )
  }
  t.equal((await follow(`trace home --count 2 --node ${hostname()}`)).lines.length, 2)
  t.match(await follow('trace home --count 2 --node elsewhere'), { code: 1, stderr: /this deployment has one node/ })
  t.match(await follow('trace home --type rpc --timeout 300ms'), { code: 0, stdout: '' }, '--timeout ends it')
  t.match(await follow('trace home --status 9xx'), { code: 2, stderr: /status/ })
})

t.test('logs', async t => {
  const { lines: all } = await follow(`logs home --count ${lineCount * 3}`)
  const rows: readonly (readonly [flags: string, isWanted: (line: Line) => boolean])[] = [
    ['--level warn', ({ level }) => ['warn', 'error', 'fatal'].includes(level)],
    ['--level error', ({ level, error }) => level === 'error' && error !== undefined],
    ['--component audit', ({ component }) => component === 'audit'],
    ['--component kernel --level warn', ({ component }) => component === 'kernel'],
  ]
  for (const [flags, isWanted] of rows) {
    t.ok(!all.every(isWanted), `without ${flags} there are others`)
    const { lines, code, stderr } = await follow(`logs home --count ${lineCount} ${flags}`)
    t.equal(code, 0, stderr)
    t.same(
      lines.filter(line => !isWanted(line)),
      [],
      flags,
    )
  }
  const startedMs = Date.now()
  const old = (line: Line) => Date.parse(line.time) < startedMs
  t.ok((await follow('logs home --last 50 --count 50')).lines.some(old), 'lines that were written before')
  t.notOk((await follow('logs home --last 0 --count 1')).lines.some(old), 'and only new ones')
  t.equal((await follow(`logs home --count 1 --node ${hostname()}`)).lines.length, 1)
  t.match(await follow('logs home --node elsewhere'), { code: 1, stderr: /this deployment has one node/ })
})

t.test('audit', async t => {
  const { lines: all } = await follow('audit home --limit 1000')
  const [{ requestId }] = all.slice(-1)
  const middle = all[Math.floor(all.length / 2)]!.event_time
  const rows: readonly (readonly [flags: string, isWanted: (record: Line) => boolean])[] = [
    ['--user admin', ({ identity }) => identity.user === 'admin'],
    ['--action getServerInfo', ({ api }) => api === 'getServerInfo'],
    ['--action Get*', ({ api }) => /^get/i.test(api)],
    ['--bucket films', ({ bucket }) => bucket === 'films'],
    [`--since ${middle}`, ({ event_time }) => event_time >= middle],
    [`--until ${middle}`, ({ event_time }) => event_time <= middle],
    ['--errors', ({ status }) => status >= 400],
    ['--status 401,5xx', ({ status }) => status === 401 || status >= 500],
    [`--request-id ${requestId}`, record => record.requestId === requestId],
    [`--node ${hostname()} --errors`, ({ status }) => status >= 400],
  ]
  for (const [flags, isWanted] of rows) {
    t.ok(!all.every(isWanted), `without ${flags} there are others`)
    const { lines, code, stderr } = await follow(`audit home --limit 50 ${flags}`)
    t.equal(code, 0, stderr)
    t.ok(lines.length > 0, flags)
    t.same(
      lines.filter(record => !isWanted(record)),
      [],
      flags,
    )
  }
  t.equal((await follow('audit home --limit 3')).lines.length, 3)
  t.same((await follow('audit home --node elsewhere')).lines, [])
})

t.test('metrics', async t => {
  const query = async (flags: string) => {
    const { code, stderr, lines } = await follow(`metrics query home ${flags}`)
    return { code, stderr, result: lines[0] }
  }
  const name = 'svc_s3_requests_total'
  // Samples are taken every ten seconds.
  const whole = await eventually(
    () => query(`${name} --step 10s`),
    ({ result }) => result?.series.length >= 3 && result.series[0].points.length >= 2,
  )
  const apis = new Set(whole.result.series.map(({ labels }: Line) => labels.api))
  t.ok(apis.size >= 3)
  const seriesOf = async (flags: string) => (await query(`${name} --step 10s ${flags}`)).result.series as Line[]
  t.same(new Set((await seriesOf('--label api=PutObject')).map(({ labels }) => labels.api)), new Set(['PutObject']))
  t.notOk((await seriesOf('--label api!=PutObject')).some(({ labels }) => labels.api === 'PutObject'))
  t.equal((await seriesOf('--agg sum')).length, 1)
  t.equal((await seriesOf('--agg sum --by api')).length, apis.size)
  t.ok((await seriesOf(`--node ${hostname()}`)).length > 0)
  t.match(await query(`${name} --since 2h --step 30s`), { result: { step: 30 } })
  const { start, end } = (await query(`${name} --from 30m --to 20m --step 10s`)).result
  const spanMs = Date.parse(end) - Date.parse(start)
  t.ok(Math.abs(spanMs - 600_000) <= 20_000, `${spanMs} ms, from the end of the first step to that of the last`)
  // Requests were counted before the last step: the first samples of a server that has just started are 0.
  const sums = await eventually(
    () => seriesOf('--agg sum'),
    ([sum]) => sum.points.at(-2)?.[1] > 0,
  )
  const [, raw] = sums[0].points.at(-1)
  const increases = (await seriesOf('--agg sum --fn increase'))[0].points
  const [, increase] = increases.find(([at]: [string, number]) => at === sums[0].points.at(-1)[0])
  t.ok(increase < raw, 'the increase of a step is less than the sum of all')
  const quantile = async (share: string) => {
    const flags = `svc_s3_request_duration_seconds --fn quantile --quantile ${share} --agg max --step 10s`
    return (await query(flags)).result.series[0].points.at(-1)[1]
  }
  t.ok((await quantile('0.99')) > (await quantile('0.01')))
})

t.teardown(async () => {
  isOver = true
  await going
})
