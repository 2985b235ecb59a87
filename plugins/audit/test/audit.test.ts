/** Audit records: their fields, the equality of log lines and records, bounds, threads. */

import { pino } from 'pino'
import type { Logger } from 'svc/kernel'
import { startAdmin } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { createFakeClock, createSeededRandom } from 'svc/testing'
import t from 'tap'
import type { AuditMatches, AuditRecord } from '../api.ts'
import { createLineRing } from '../line-ring.ts'
import { createLineFormat, createLineWriter, documentOfLine, recordOfLine } from '../log-line.ts'
import { auditRecordOf, isAudited } from '../record.ts'
import { createAuditService, ringRecords } from '../service.ts'

const closedOutlet = { isOpen: false, add() {} }
const root = { accessKey: 'admin', isRoot: true, ownerId: 'f'.repeat(64), displayName: 'admin' }
const s3Record: S3RequestRecord = {
  operation: 'PutObject',
  requestId: '0123456789ABCDEF',
  method: 'PUT',
  path: '/b/k',
  query: '',
  bucket: 'b',
  key: 'k',
  identity: root,
  clientAddress: '192.0.2.1',
  userAgent: 'agent/1',
  status: 200,
  errorCode: undefined,
  timeMs: Date.UTC(2026, 0, 1, 12, 0, 0, 5),
  durationMs: 1.23456,
  receivedBytes: 10,
  sentBytes: 20,
}

function createLog(level = 'info'): { log: Logger; lines: string[] } {
  const lines: string[] = []
  const log = pino({ level }, { write: line => void lines.push(line) }) as unknown as Logger
  return { log, lines }
}

t.test('each log line has the same record, for any values', async t => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  const random = createSeededRandom(seed)
  const format = createLineFormat('node "1"')
  const hostile = [
    '',
    'plain',
    '"quote"',
    'back\\slash',
    'new\nline',
    '\0',
    '\u2028',
    '\ud800',
    'é€😀',
    '</script>',
    '__proto__',
  ]
  const text = (): string => random.pick(hostile) + random.pick(hostile)
  for (let round = 0; round < 3000; round++) {
    const timeMs = s3Record.timeMs + random.integer(100_000)
    const record: S3RequestRecord = {
      ...s3Record,
      method: text(),
      path: `/${text()}`,
      query: random.pick([
        '',
        'a=1&b',
        `X-Amz-Signature=${random.integer(9)}&x=%zz&%61=%C3%A9`,
        '__proto__=1&a=2&a=3',
        text(),
      ]),
      bucket: text(),
      key: text(),
      identity: random.pick([undefined, root, { ...root, isRoot: false, displayName: text() }]),
      userAgent: text(),
      status: random.pick([200, 404, 503]),
      errorCode: random.pick([undefined, 'NoSuchKey', text()]),
      tags: random.pick<S3RequestRecord['tags']>([undefined, { claimedAccessKey: 'NOBODY' }, { throttled: text() }]),
      timeMs: s3Record.timeMs + random.float() * 10_000,
      durationMs: random.float() * 1000,
    }
    const line = format(record, timeMs)
    const { level, plugin, component, msg, ...rest } = JSON.parse(line)
    const expected = JSON.parse(JSON.stringify(auditRecordOf(record, 'node "1"', timeMs)))
    if (level !== 'info' || plugin !== 'audit' || component !== 'audit' || msg !== 'audit')
      t.fail(`seed ${seed}: ${line}`)
    if (JSON.stringify(sorted(rest)) !== JSON.stringify(sorted(expected)))
      t.same(rest, expected, `seed ${seed}, round ${round}`)
    if (line.indexOf('\n') !== line.length - 1) t.fail(`seed ${seed}: not one line`)
    if (JSON.stringify(sorted(recordOfLine(line))) !== JSON.stringify(sorted(expected)))
      t.same(recordOfLine(line), expected, `seed ${seed}, round ${round}: read back`)
    const document = JSON.parse(documentOfLine(line))
    if (JSON.stringify(sorted(document)) !== JSON.stringify(sorted(expected)))
      t.same(document, expected, `seed ${seed}, round ${round}: cut out`)
  }
  const loud = createLog()
  createLineWriter(loud.log)('line\n')
  t.same(loud.lines, ['line\n'])
  const quiet = createLog('warn')
  createLineWriter(quiet.log)('line\n')
  t.same(quiet.lines, [], 'the level of the logger counts')
})

t.test('a ring of lines keeps the newest, within its bounds', async t => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  const random = createSeededRandom(seed)
  const ring = createLineRing(500, 4 * 256 * 1024)
  const model: string[] = []
  t.same(ring.newest(10), [])
  for (let round = 0; round < 20_000; round++) {
    const line = `${round} ${random.pick(['', 'é', '😀'.repeat(random.integer(50)), 'x'.repeat(random.integer(300))])}`
    ring.push(`${line}\n`)
    model.unshift(line)
    model.length = Math.min(model.length, 500)
    if (round % 1000 === 0) t.same(ring.newest(700), model, `seed ${seed}, round ${round}`)
  }
  t.same(ring.newest(3), model.slice(0, 3))
  const large = '€'.repeat(100_000)
  for (let index = 0; index < 20; index++) ring.push(`${index}${large}\n`)
  const kept = ring.newest(500)
  t.ok(kept.length >= 1 && kept.length <= 4, 'large lines: as many as there is room for')
  t.equal(kept[0], `19${large}`)
})

function sorted(value: object): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}

t.test('a record has the user, the operation, the address and the outcome, and no secret', async t => {
  const query =
    'versionId=v1&X-Amz-Credential=admin%2F2026&X-Amz-Signature=abc&X-Amz-Security-Token=tok&x-api-key=k&prefix=a%20b&url=https%3A%2F%2Fa%2F%3Fsig%3Dabc'
  t.same(auditRecordOf({ ...s3Record, query, status: 403, errorCode: 'AccessDenied' }, 'n1', s3Record.timeMs + 7), {
    version: '1',
    time: '2026-01-01T12:00:00.012Z',
    event_time: '2026-01-01T12:00:00.005Z',
    node: 'n1',
    requestId: '0123456789ABCDEF',
    type: 's3',
    api: 'PutObject',
    bucket: 'b',
    object: 'k',
    versionId: 'v1',
    identity: { accessKey: 'admin', user: 'admin', type: 'root' },
    clientIp: '192.0.2.1',
    userAgent: 'agent/1',
    method: 'PUT',
    path: '/b/k',
    query: {
      versionId: 'v1',
      'X-Amz-Credential': '*REDACTED*',
      'X-Amz-Signature': '*REDACTED*',
      'X-Amz-Security-Token': '*REDACTED*',
      'x-api-key': '*REDACTED*',
      prefix: 'a b',
      url: '*REDACTED*',
    },
    status: 403,
    errorCode: 'AccessDenied',
    latencyMs: 1.235,
    bytesReceived: 10,
    bytesSent: 20,
    tags: {},
  } satisfies AuditRecord)
  const { identity: nobody, tags } = auditRecordOf(
    { ...s3Record, identity: undefined, tags: { claimedAccessKey: 'NOBODY' } },
    'n1',
    0,
  )
  t.same([nobody.type, nobody.accessKey, tags], ['anonymous', '', { claimedAccessKey: 'NOBODY' }])
  const http = (path: string, status: number, presentsCredentials: boolean): boolean =>
    isAudited({ path, status, presentsCredentials } as HttpRequestRecord)
  t.equal(http('/svc/health/ready', 200, false), false, 'an anonymous probe')
  t.equal(http('/svc/health/ready', 503, false), false)
  t.equal(http('/svc/health/ready', 200, true), true, 'a probe with credentials')
  t.equal(http('/svc/metrics/v1/node', 200, false), false, 'a public scrape')
  t.equal(http('/svc/metrics/v1/node', 200, true), true, 'an authenticated scrape')
  t.equal(http('/svc/metrics/v1/node', 403, false), true, 'a refused scrape')
  t.equal(http('/api/v1/info', 200, false), true)
})

t.test('reads of the Admin API that succeed are short in the log, and complete for searches and targets', async t => {
  const { log, lines } = createLog()
  const clock = createFakeClock()
  const delivered: string[] = []
  const outlet = { isOpen: true, add: (line: string) => void delivered.push(line) }
  const threads = { handle() {}, callOthers: async () => [] } as never
  const service = createAuditService({ log, clock, threads, node: 'n1', outlet })
  const read: HttpRequestRecord = {
    ...s3Record,
    listener: 'console',
    operation: 'listUsers',
    method: 'GET',
    path: '/api/v1/users',
    query: 'prefix="a"&token=abc',
    presentsCredentials: true,
  }
  const whole = [
    { ...read, method: 'POST' },
    { ...read, status: 403 },
    { ...read, listener: 's3' as const },
  ]
  for (const record of [read, { ...read, query: '', bucket: '', key: '' }, ...whole]) service.observeHttp(record)
  service.observeS3({ ...s3Record, method: 'GET' })
  const [short, shorter, ...rest] = lines.map(line => JSON.parse(line))
  t.same(short, {
    level: 'info',
    time: new Date(clock.now()).toISOString(),
    plugin: 'audit',
    component: 'audit',
    requestId: read.requestId,
    type: 'admin',
    api: 'listUsers',
    identity: { accessKey: 'admin', user: 'admin', type: 'root' },
    clientIp: '192.0.2.1',
    path: '/api/v1/users',
    bucket: 'b',
    object: 'k',
    query: { prefix: '"a"', token: '*REDACTED*' },
    status: 200,
    latencyMs: 1.235,
    msg: 'audit',
  })
  const { bucket: _bucket, object: _object, query: _query, ...least } = short
  t.same(shorter, least, 'without what is empty')
  t.ok(rest.every(line => line.userAgent === 'agent/1' && line.version === '1'))
  const recent = await service.recent(10)
  t.same(recent.at(-1), JSON.parse(JSON.stringify(auditRecordOf(read, 'n1', clock.now()))))
  t.same(
    delivered.map(line => recordOfLine(line)),
    recent.toReversed(),
  )
})

t.test('in a server: requests of both listeners, exceptions', async t => {
  const { kernel, stop } = await startAdmin()
  t.teardown(stop)
  const [s3, console] = kernel.services.http.listeners().map(({ port }) => `http://127.0.0.1:${port}`)
  const ask = async (url: string, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await fetch(url, { headers })
    await answer.text()
    return answer.headers.get('x-amz-request-id') ?? ''
  }
  const object = await ask(`${s3}/photos/k`)
  await ask(`${s3}/svc/health/live`)
  const authenticated = await ask(`${s3}/svc/health/live`, { authorization: 'Bearer x' })
  const refused = await ask(`${s3}/svc/metrics/v1/node`)
  const admin = await ask(`${console}/api/v1/info?token=abc`)
  const forged: string[] = []
  for (const [accessKey, url] of [
    ['NOBODY', `${s3}/photos`],
    ['admin', `${s3}/photos`],
    ['x'.repeat(40), `${console}/api/v1/info`],
  ]) {
    const { host, pathname: path } = new URL(url!)
    const signer = { accessKey: accessKey!, secret: 'not-the-secret', region: 'us-east-1' }
    const { headers } = signRequest(signer, { method: 'GET', host, path, nowMs: Date.now() })
    forged.unshift(await ask(url!, headers))
  }
  const newest = await kernel.services.audit.recent(10)
  t.same(
    newest.slice(0, 3).map(({ requestId, tags }) => [requestId, tags]),
    [
      [forged[0], { claimedAccessKey: 'xxxx…' }],
      [forged[1], { claimedAccessKey: 'admin' }],
      [forged[2], { claimedAccessKey: 'NOBO…' }],
    ],
    'who was refused says who that wanted to be, and no whole secret that stands in its place',
  )
  const recent = newest.slice(3)
  t.same(
    recent.map(record => record.requestId),
    [admin, refused, authenticated, object],
    'newest first, and no probe',
  )
  t.match(recent[0], {
    type: 'admin',
    api: 'getServerInfo',
    status: 401,
    query: { token: '*REDACTED*' },
    identity: { type: 'anonymous' },
  })
  t.match(recent[1], { type: 's3', api: 'MetricsNode', status: 403 })
  t.match(recent[3], { type: 's3', api: 'GetObject', status: 404 })
  const logged = kernel.logs.filter(line => line.msg === 'audit')
  t.same(
    logged.map(line => line.requestId),
    [object, authenticated, refused, admin, ...forged.toReversed()],
  )
  t.equal(logged[0]?.component, 'audit')
  t.same(
    (await kernel.services.audit.recent(1)).map(record => record.requestId),
    [forged[0]],
  )
})

t.test('the ring keeps the last 10 000 records, merged from all threads', async t => {
  const { log } = createLog('silent')
  const clock = createFakeClock()
  const others: AuditRecord[][] = []
  const threads = { handle() {}, callOthers: async () => others } as never
  const service = createAuditService({ log, clock, threads, node: 'node-1', outlet: closedOutlet })
  t.same(await service.recent(10), [])
  for (let index = 0; index < ringRecords + 5; index++) {
    service.observeS3({ ...s3Record, requestId: String(index) })
    if (index % 1000 === 0) await clock.advance(1)
  }
  const all = await service.recent(20_000)
  t.equal(all.length, ringRecords)
  t.equal(all[0].requestId, String(ringRecords + 4))
  t.equal(all.at(-1)?.requestId, '5')
  await clock.advance(10)
  others.push([auditRecordOf({ ...s3Record, requestId: 'elsewhere' }, 'n', clock.now())])
  t.same(
    (await service.recent(2)).map(record => record.requestId),
    ['elsewhere', String(ringRecords + 4)],
  )
})

t.test('a search yields to the event loop, and pages lose no records of one millisecond', async t => {
  const { log } = createLog('silent')
  const clock = createFakeClock()
  const elsewhere: AuditMatches[] = []
  const threads = { handle() {}, callOthers: async () => elsewhere } as never
  const service = createAuditService({ log, clock, threads, node: 'node-1', outlet: closedOutlet })
  t.same(await service.search({ limit: 10 }), { items: [], isMore: false, oldest: undefined })
  const idOf = (index: number) => String(index ^ 1).padStart(5, '0')
  for (let index = 0; index < ringRecords + 5; index++) {
    service.observeS3({ ...s3Record, requestId: idOf(index), bucket: index % 2 === 0 ? 'even' : 'odd' })
    if (index % 7 === 0) await clock.advance(1)
  }
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const { items, isMore } = await service.search({ bucket: 'odd', limit: 1000 })
  isOver = true
  t.same([items.length, isMore], [1000, true])
  t.ok(items.every(({ bucket }) => bucket === 'odd'))
  t.ok(turns > 50, `${turns} turns`)
  const seen: string[] = []
  for (let after: { time: string; requestId: string } | undefined; ; ) {
    const page = await service.search({ limit: 997, after })
    seen.push(...page.items.map(({ requestId }) => requestId))
    after = page.items.at(-1)
    // Records that arrive meanwhile come before the first page.
    service.observeS3({ ...s3Record, requestId: 'later' })
    if (!page.isMore) break
  }
  const kept = seen.filter(id => id !== 'later')
  t.equal(new Set(kept).size, kept.length)
  t.ok(kept.length > ringRecords - 20, String(kept.length))
  await clock.advance(10)
  const record = auditRecordOf({ ...s3Record, requestId: 'elsewhere' }, 'n', clock.now())
  elsewhere.push({ items: [record], isMore: true, oldest: '2000-01-01T00:00:00.000Z' })
  const merged = await service.search({ limit: 2, action: 'Put*' })
  t.match(merged, { items: [{ requestId: 'elsewhere' }, {}], isMore: true, oldest: '2000-01-01T00:00:00.000Z' })
})

t.test('the kinds of credentials of requests', t => {
  const typeOf = (more: object) => auditRecordOf({ ...s3Record, identity: { ...identity, ...more } }, 'n', 0).identity
  const identity = { accessKey: 'AK', isRoot: false, ownerId: 'a', displayName: 'kim', userName: 'kim' }
  t.same(typeOf({}), { accessKey: 'AK', user: 'kim', type: 'user' })
  t.equal(typeOf({ kind: 'access-key' }).type, 'access-key')
  t.equal(typeOf({ kind: 'access-key', isRoot: true }).type, 'access-key')
  t.equal(typeOf({ kind: 'share' }).type, 'share')
  t.equal(typeOf({ kind: 'session' }).type, 'user')
  t.equal(typeOf({ isRoot: true }).type, 'root')
  t.end()
})
