/** Metrics in the terminal, and what Prometheus needs to scrape them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from 'svc/testing'
import t, { type Test } from 'tap'
import { type ChartSeries, chartOf, formatMetric } from '../metrics-chart.ts'
import { rootPassword, rootUser, startServer } from './server.ts'
import { createSession } from './session.ts'

async function start(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'svcctl-metrics-'))
  const server = await startServer()
  t.teardown(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const session = createSession(folder)
  const env = { SVCCTL_SECRET_KEY: rootPassword }
  const args = ['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, rootUser]
  const { code, stderr } = await session.run(args, { env })
  t.equal(code, 0, stderr)
  return { server, session }
}

t.test('admin prometheus generate prints a configuration that scrapes', async t => {
  const { server, session } = await start(t)
  const printed = await session.run(['admin', 'prometheus', 'generate', 'home', 'cluster', 'bucket', '--expiry', '1h'])
  t.equal(printed.code, 0, printed.stderr)
  t.match(printed.stdout, /^scrape_configs:\n {2}- job_name: svc-cluster\n/)
  t.notMatch(printed.stdout, /svc-node/)
  const token = /credentials: (\S+)/.exec(printed.stdout)![1]
  for (const scope of ['cluster', 'bucket']) {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${server.endpoint}/svc/metrics/v1/${scope}`, { headers })
    t.match(await answer.text(), /svc_/, scope)
    t.equal(answer.status, 200, scope)
  }
  const { records } = await session.run(['--json', 'admin', 'prometheus', 'generate', 'home'])
  t.match(records, [{ token: String, expiresAt: String, scrapeConfig: /svc-node.*svc-bucket/s }])
  t.not((await session.run(['admin', 'prometheus', 'generate', 'home', 'disk'])).code, 0)
})

t.test('admin metrics list and query', async t => {
  const { server, session } = await start(t)
  const run = async (...args: string[]) => {
    const outcome = await session.run(['admin', 'metrics', ...args])
    t.equal(outcome.code, 0, outcome.stderr)
    return outcome.stdout
  }
  t.match(
    await run('list', 'home', '--prefix', 'svc_node_'),
    /^NAME +TYPE +LABELS +HELP\nsvc_node_info +gauge +version, commit/,
  )
  const drawn = await run('query', 'home', 'svc_node_info')
  t.match(drawn, /^svc_node_info\n\d{4}-\d\d-\d\d \d\d:\d\d to .* UTC, a point per 70 s\nversion=/)
  t.match(drawn, /█/)
  for (const line of drawn.split('\n')) t.ok(line.length <= 80, line)
  t.match(
    await run('query', 'home', 'svc_ratelimit_throttled_total', '--fn', 'rate', '--agg', 'sum', '--step', '10s'),
    /./,
  )
  const several = await run(
    'query',
    'home',
    'svc_drive_operations_total',
    '--agg',
    'sum',
    '--by',
    'op',
    '--since',
    '2h',
  )
  t.match(several, /^op=write$/m)
  t.match(several, /a point per 130 s/)
  for (const line of several.split('\n')) t.ok(line.length <= 80, line)
  const json = await session.run([
    '--json',
    'admin',
    'metrics',
    'query',
    'home',
    'svc_node_info',
    '--label',
    'version!=none',
    '--from',
    '10m',
    '--to',
    '1ms',
  ])
  t.match(json.records, [{ name: 'svc_node_info', step: 20, series: [{ points: Array }] }])
  t.match(await session.run(['admin', 'metrics', 'query', 'home', 'svc_nothing']), {
    code: 1,
    stderr: /no family "svc_nothing": `svcctl admin metrics list home` shows all\. \(invalid_argument/,
  })
  const labelled = (filter: string) =>
    session.run(['admin', 'metrics', 'query', 'home', 'svc_node_info', '--label', filter])
  t.match(await labelled('version=none'), { code: 3, stderr: /No series of svc_node_info has version=none\./ })
  t.match(await labelled('colour=red'), {
    code: 3,
    stderr: /svc_node_info has no label colour: its labels are version,/,
  })
  t.equal((await session.run(['ls', 'home'])).code, 0)
  const observed = await eventually(
    () => run('query', 'home', 'svc_s3_request_duration_seconds', '--agg', 'sum'),
    text => text.includes('least'),
  )
  t.match(observed, /^svc_s3_request_duration_seconds, observations\n/)
  t.match(observed, /last \d+$/m, 'a count has no unit')
  const both = ['admin', 'metrics', 'query', 'home', 'svc_node_info', '--since', '1h', '--from', '2h']
  t.match(await session.run(both), { code: 2, stderr: /Either --since or --from/ })
  const share = ['admin', 'metrics', 'query', 'home', 'svc_node_info', '--fn', 'quantile', '--quantile', '2']
  t.match(await session.run(share), { code: 2, stderr: /no number from 0 to 1/ })
  await server.kernel.drain()
})

t.test('a chart of one series, and rows of several', t => {
  const series = (values: readonly (number | null)[], labels: Record<string, string> = {}): ChartSeries => ({
    labels,
    points: values.map((value, index) => [1_767_225_600 + index * 60, value]),
  })
  t.same(chartOf({ series: [series([0, 4, 8, null, 2])], unit: undefined }), [
    '         8   █',
    '             █',
    '             █',
    '             █',
    '            ██',
    '            ██',
    '            ██ █',
    '         0 ▁██ █',
    '           00:00 to 00:04',
    '           least 0  mean 3.5  most 8  last 2',
  ])
  t.same(chartOf({ series: [series([0, 8], { api: 'A' }), series([null, 4], { api: 'B' })], unit: 'bytes' }), [
    'api=A',
    `${'▁█'.padEnd(62)}8 B`,
    'api=B',
    `${' ▄'.padEnd(62)}4 B`,
    '00:00 to 00:01',
    'From 0 B to 8 B; on the right the last value.',
  ])
  const folded = chartOf({ series: [series(Array.from({ length: 700 }, (_, index) => index))], unit: undefined })
  for (const line of folded) t.ok(line.length <= 80, line)
  t.match(folded.at(-2), /^ {11}00:00 +11:39$/)
  const hours = {
    labels: {},
    points: Array.from({ length: 49 }, (_, hour) => [1_767_225_600 + hour * 3600, hour] as const),
  }
  t.match(chartOf({ series: [hours], unit: undefined }).at(-2), /^ {11}01-01 00:00 +01-03 00:00$/)
  t.same(chartOf({ series: [series([null, null])], unit: undefined }), ['No samples in this time.'])
  t.match(chartOf({ series: [series([-5, 5])], unit: undefined }), /^ {9}5/)
  t.equal(chartOf({ series: [series([1], { bucket: 'b'.repeat(100) })], unit: undefined })[0]!.length, 80)
  const values = [
    [0.00123, 'seconds', '1.23 ms'],
    [12.345, 'seconds', '12.3 s'],
    [1234, undefined, '1.23k'],
    [5_000_000, undefined, '5M'],
    [1536, 'bytes', '1.50 KiB'],
    [-2500, undefined, '-2.5k'],
  ] as const
  for (const [value, unit, text] of values) t.equal(formatMetric(value, unit), text)
  t.end()
})
