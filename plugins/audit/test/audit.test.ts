/** Audit records: what is recorded, that the line by hand is the record, bounds, sinks, threads. */

import { pino } from 'pino'
import { definePlugin, type Logger } from 'svc/kernel'
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import http from 'svc/plugins/http/index'
import iam from 'svc/plugins/iam/index'
import metrics from 'svc/plugins/metrics/index'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import tls from 'svc/plugins/tls/index'
import { createFakeClock, createSeededRandom, startKernel } from 'svc/testing'
import t from 'tap'
import type { AuditRecord } from '../api.ts'
import audit from '../index.ts'
import { createLineWriter } from '../log-line.ts'
import { auditRecordOf, isAudited } from '../record.ts'
import { createAuditService, ringRecords } from '../service.ts'

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

t.test('each line is the record, whatever is in it', async t => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  const random = createSeededRandom(seed)
  const { log, lines } = createLog()
  const write = createLineWriter(log, 'node "1"')
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
      timeMs: s3Record.timeMs + random.float() * 10_000,
      durationMs: random.float() * 1000,
    }
    write(record, timeMs)
    const { level, plugin, component, msg, ...rest } = JSON.parse(lines[round])
    const expected = JSON.parse(JSON.stringify(auditRecordOf(record, 'node "1"', timeMs)))
    if (level !== 'info' || plugin !== 'audit' || component !== 'audit' || msg !== 'audit')
      t.fail(`seed ${seed}: ${lines[round]}`)
    if (JSON.stringify(sorted(rest)) !== JSON.stringify(sorted(expected)))
      t.same(rest, expected, `seed ${seed}, round ${round}`)
    if (lines[round].indexOf('\n') !== lines[round].length - 1) t.fail(`seed ${seed}: not one line`)
  }
  t.equal(lines.length, 3000)
  const quiet = createLog('warn')
  createLineWriter(quiet.log, 'n')(s3Record, 0)
  t.same(quiet.lines, [], 'the level of the logger counts')
})

function sorted(value: Record<string, unknown>): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}

t.test('a record tells who, what, from where and how it went, and no secret', async t => {
  const query =
    'versionId=v1&X-Amz-Credential=admin%2F2026&X-Amz-Signature=abc&X-Amz-Security-Token=tok&x-api-key=k&prefix=a%20b'
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
    },
    status: 403,
    errorCode: 'AccessDenied',
    latencyMs: 1.235,
    bytesReceived: 10,
    bytesSent: 20,
    tags: {},
  } satisfies AuditRecord)
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

t.test('in a server: requests of both listeners, exceptions, sinks that fail', async t => {
  const sent: AuditRecord[] = []
  const protocol = definePlugin({
    name: 's3',
    requires: ['http'],
    points: ['s3.operation', 's3.observer'],
    setup({ contribute, point }) {
      const observers = point('s3.observer')
      contribute('http.mount', 's3', {
        listener: 's3',
        handler({ response, requestId }) {
          response.end('x')
          for (const { value } of observers.list()) value({ ...s3Record, requestId })
        },
      })
      contribute('audit.sink', 'broken', {
        send() {
          throw new Error('broken')
        },
      })
      contribute('audit.sink', 'good', { send: record => void sent.push(record) })
    },
  })
  const kernel = await startKernel({
    plugins: [iam, metrics, tls, http, audit, protocol],
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
    },
  })
  const [s3, console] = kernel.services.http.listeners().map(({ port }) => `http://127.0.0.1:${port}`)
  const ask = async (url: string, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await fetch(url, { headers })
    await answer.text()
    return answer.headers.get('x-amz-request-id') ?? ''
  }
  const object = await ask(`${s3}/b/k`)
  await ask(`${s3}/svc/health/live`)
  const authenticated = await ask(`${s3}/svc/health/live`, { authorization: 'Bearer x' })
  const refused = await ask(`${s3}/svc/metrics/v1/node`)
  const admin = await ask(`${console}/api/v1/info?token=abc`)
  const recent = await kernel.services.audit.recent(10)
  t.same(
    recent.map(record => record.requestId),
    [admin, refused, authenticated, object],
    'newest first, and no probe',
  )
  t.match(recent[0], {
    type: 'admin',
    api: 'Unknown',
    status: 404,
    query: { token: '*REDACTED*' },
    identity: { type: 'anonymous' },
  })
  t.match(recent[1], { type: 's3', api: 'MetricsNode', status: 403 })
  t.match(recent[3], { type: 's3', api: 'PutObject', status: 200 })
  t.same(
    sent.map(record => record.requestId),
    [object, authenticated, refused, admin],
  )
  const logged = kernel.logs.filter(line => line.msg === 'audit')
  t.same(
    logged.map(line => line.requestId),
    [object, authenticated, refused, admin],
  )
  t.equal(logged[0].component, 'audit')
  t.ok(kernel.logs.some(line => line.msg === 'audit sink failed' && line.sink === 'broken'))
  t.same(
    (await kernel.services.audit.recent(1)).map(record => record.requestId),
    [admin],
  )
  await kernel.stop()
})

t.test('the ring keeps the last 10 000, and joins those of other threads', async t => {
  const { log } = createLog('silent')
  const clock = createFakeClock()
  const others: AuditRecord[][] = []
  const threads = { handle() {}, callOthers: async () => others } as never
  const service = createAuditService({ log, clock, threads, sinks: () => [] })
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
