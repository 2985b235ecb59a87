/** The exporter and its bounds, and what is read from headers and variables. */

import { createAddressGuard } from 'svc/plugins/http-client/api'
import { createTestHttpClient } from 'svc/plugins/http-client/testing'
import { createFakeClock, createSeededRandom, createSystemPorts } from 'svc/testing'
import t, { type Test } from 'tap'
import { tracingProblems } from '../config.ts'
import { grpcOrigin, tracesUrl } from '../endpoint.ts'
import { batchEveryMs, createExporter, pauseMsMax } from '../exporter.ts'
import { createGrpcSender } from '../grpc-sender.ts'
import { readHeaders } from '../headers.ts'
import { createHttpSender } from '../http-sender.ts'
import { createSpanIds } from '../ids.ts'
import { exportRequest } from '../otlp.ts'
import type { SendResult } from '../sender.ts'
import type { RequestRecord, Span } from '../span.ts'
import { batchesMax, batchSpansMax, SpanBuffer } from '../span-buffer.ts'
import { readTraceParent } from '../trace-context.ts'
import { createTracer } from '../tracer.ts'
import { decodeSpans, startGrpcCollector, startHttpCollector } from './collector.ts'

const seed = Number(process.env.SEED ?? 7)
const ids = createSpanIds(createSeededRandom(seed))
const resource = { attributes: { 'service.name': 'svc' }, version: '1' }

const makeSpan = (name = 'span', more: Partial<Span> = {}): Span => ({
  traceId: ids.traceId(),
  spanId: ids.spanId(),
  parentSpanId: undefined,
  traceState: '',
  name,
  startMs: Date.UTC(2026, 0, 1),
  endMs: Date.UTC(2026, 0, 1) + 1.5,
  attributes: {},
  isFailed: false,
  ...more,
})

const silent = { warn() {}, info() {}, error() {}, debug() {} } as never
const turns = async () => {
  for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
}

function makeExporter(answers: (count: number) => SendResult) {
  const clock = createFakeClock()
  const counted: Record<string, number> = {}
  const sent: number[] = []
  const warnings: string[] = []
  const log = { ...(silent as object), warn: (_: object, text: string) => warnings.push(text) } as never
  const exporter = createExporter({
    clock,
    random: createSeededRandom(seed),
    log,
    resource,
    sender: {
      async send(request) {
        sent.push(decodeSpans(request).length)
        return answers(sent.length)
      },
      async close() {},
    },
    count(result, spans) {
      counted[result] = (counted[result] ?? 0) + spans
    },
  })
  const add = (count: number) => {
    for (let i = 0; i < count; i++) if (exporter.hasRoom()) exporter.add(makeSpan())
  }
  return { exporter, clock, counted, sent, warnings, add }
}

const taken: SendResult = { kind: 'taken', rejectedSpans: 0, message: '' }
const away: SendResult = { kind: 'unavailable', reason: 'away' }

t.test('a batch is sent when it is complete, and after a while', async t => {
  const { exporter, clock, counted, sent, add } = makeExporter(() => taken)
  add(batchSpansMax + 1)
  await turns()
  t.same(sent, [batchSpansMax])
  await clock.advance(batchEveryMs)
  await turns()
  t.same(sent, [batchSpansMax, 1])
  t.same(counted, { exported: batchSpansMax + 1 })
  add(2)
  await exporter.stop()
  t.same(sent, [batchSpansMax, 1, 2], 'the rest at the end')
  add(1)
  t.equal(counted.dropped, 1, 'and nothing after it')
})

t.test('memory is bounded while the collector is down; waiting spans are sent when it is back', async t => {
  let isAway = true
  const { exporter, clock, counted, sent, warnings, add } = makeExporter(() => (isAway ? away : taken))
  const most = batchSpansMax * (batchesMax - 1)
  add(10 * most)
  await turns()
  t.equal(counted.dropped, 9 * most)
  t.same(sent, [batchSpansMax], 'one is tried, the others wait')

  for (let i = 0; i < 20; i++) {
    await clock.advance(pauseMsMax)
    await turns()
  }
  t.ok(sent.length >= 20 && sent.length <= 46, `${sent.length} tries in ten minutes`)
  t.equal(warnings.length, 1, 'said once')
  isAway = false
  const tries = sent.length
  await clock.advance(pauseMsMax)
  await turns()
  t.equal(counted.exported, most)
  t.equal(sent.length - tries, batchesMax - 1)
  add(1)
  await exporter.stop()
  t.equal(counted.exported, most + 1)
  t.equal(clock.pending(), 0)
})

t.test('a buffer never exceeds its maximum size, for any spans', async t => {
  const buffer = new SpanBuffer()
  const attributes = Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`a${i}`, 'x'.repeat(3072)]))
  let bytes = 0
  while (buffer.hasRoom) buffer.add(makeSpan('large', { attributes }))
  for (let batch = buffer.first; batch !== undefined; batch = buffer.first) {
    t.ok(batch.spans.length <= 256 * 1024 + 16 * 1024, `${batch.spans.length}`)
    bytes += batch.spans.length
    buffer.removeFirst()
  }
  t.ok(bytes <= batchesMax * 272 * 1024, `${bytes}`)
})

t.test('spans that the collector rejects are counted, and not sent again', async t => {
  const refusing = makeExporter(() => ({ kind: 'refused', reason: 'it answered 400' }))
  refusing.add(3)
  await refusing.exporter.stop()
  t.same([refusing.sent, refusing.counted], [[3], { rejected: 3 }])
  const picky = makeExporter(() => ({ kind: 'taken', rejectedSpans: 2, message: 'old' }))
  picky.add(3)
  await picky.exporter.stop()
  t.same(picky.counted, { rejected: 2, exported: 1 })
})

t.test('answers of collectors over HTTP', async t => {
  const table: [status: number, headers: Record<string, string>, expected: Partial<SendResult>][] = [
    [400, {}, { kind: 'refused', reason: 'it answered 400' }],
    [401, {}, { kind: 'refused' }],
    [503, { 'retry-after': '3' }, { kind: 'unavailable', afterMs: 3000 }],
    [429, {}, { kind: 'unavailable' }],
    [302, { location: 'http://127.0.0.1:1/' }, { kind: 'refused' }],
  ]
  for (const [status, headers, expected] of table) {
    const collector = await startHttpCollector(t, {
      answer: (_count, response) => {
        response.writeHead(status, headers).end('no')
        return true
      },
    })
    t.match(await sendOverHttp(t, collector.endpoint), expected, `${status}`)
  }
  const partial = await startHttpCollector(t, { rejected: 1 })
  t.same(await sendOverHttp(t, partial.endpoint), { kind: 'taken', rejectedSpans: 1, message: 'too many' })
  const silentOne = await startHttpCollector(t, { answer: () => true })
  t.match(await sendOverHttp(t, silentOne.endpoint, 100), { kind: 'unavailable', reason: /no answer within 100 ms/ })
  t.match(await sendOverHttp(t, 'http://169.254.169.254'), { kind: 'unavailable', reason: /is not allowed/ })
})

async function sendOverHttp(t: Test, endpoint: string, timeoutMs = 10_000): Promise<SendResult> {
  const options = { endpoint, headers: {}, timeoutMs, authoritiesFile: '' }
  const sender = createHttpSender(createTestHttpClient(t), options)
  const result = await sender.send(exportRequest(resource, new Uint8Array()))
  await sender.close()
  return result
}

t.test('answers of collectors over gRPC', async t => {
  const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })
  const { clock } = createSystemPorts()
  const send = async (endpoint: string, timeoutMs = 10_000) => {
    const sender = createGrpcSender({ endpoint, headers: {}, timeoutMs, authoritiesFile: '', guard, clock })
    const result = await sender.send(exportRequest(resource, new Uint8Array()))
    await sender.close()
    return result
  }
  for (const [status, kind] of [
    [3, 'refused'],
    [16, 'refused'],
    [14, 'unavailable'],
    [8, 'unavailable'],
  ] as const) {
    const { endpoint } = await startGrpcCollector(t, { status: () => status })
    t.match(await send(endpoint), { kind, reason: new RegExp(`status ${status} of gRPC: as the test wants`) })
  }
  const partial = await startGrpcCollector(t, { rejected: 2 })
  t.same(await send(partial.endpoint), { kind: 'taken', rejectedSpans: 2, message: 'too many' })
  const gone = await startGrpcCollector(t)
  await gone.stop()
  t.match(await send(gone.endpoint), { kind: 'unavailable', reason: /ECONNREFUSED/ })
  const plainHttp = await startHttpCollector(t)
  t.match(await send(plainHttp.endpoint, 500), { kind: 'unavailable' }, 'no HTTP/2 there')
  t.match(await send('169.254.169.254:4317'), { kind: 'unavailable', reason: /is not allowed/ })
})

t.test('a connection of gRPC that ends is made again', async t => {
  const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })
  const { clock } = createSystemPorts()
  const collector = await startGrpcCollector(t, { status: count => (count === 1 ? 14 : 0) })
  const options = { endpoint: collector.endpoint, headers: { 'x-tenant': '7' }, timeoutMs: 10_000, authoritiesFile: '' }
  const sender = createGrpcSender({ ...options, guard, clock })
  const request = exportRequest(resource, new Uint8Array())
  t.match(await sender.send(request), { kind: 'unavailable' })
  t.match(await sender.send(request), { kind: 'taken' })
  await sender.close()
  t.match(await sender.send(request), { kind: 'unavailable', reason: /closed by us/ })
  t.match(collector.headers, [{ 'x-tenant': '7' }, { 'x-tenant': '7' }])
})

t.test('traceparent', async t => {
  const id = '4bf92f3577b34da6a3ce929d0e0e4736'
  const span = '00f067aa0ba902b7'
  const read = (traceparent: string, tracestate?: string) => readTraceParent({ traceparent, tracestate })
  t.same(read(`00-${id}-${span}-01`, 'a=1'), { traceId: id, spanId: span, isSampled: true, state: 'a=1' })
  t.equal(read(`00-${id}-${span}-00`)!.isSampled, false)
  t.equal(read(`00-${id}-${span}-03`)!.isSampled, true, 'other flags are of no matter')
  t.ok(read(`cc-${id}-${span}-01-what-comes-later`), 'a later version')
  t.equal(read(`00-${id}-${span}-01`, 'x'.repeat(513))!.state, '')
  t.equal(read(`00-${id}-${span}-01`, 'a=\u0001')!.state, '')
  for (const wrong of [
    '',
    `00-${id}-${span}-01-more`,
    `ff-${id}-${span}-01`,
    `00-${id.toUpperCase()}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${id}-${'0'.repeat(16)}-01`,
    `00-${id}-${span}`,
    `00-${id}-${span}-1`,
    ` 00-${id}-${span}-01`,
    `cc-${id}-${span}-01-${'x'.repeat(600)}`,
  ]) {
    t.equal(read(wrong), undefined, wrong.slice(0, 60))
  }
  t.equal(readTraceParent({}), undefined)
})

t.test('the share of traces that begin here', async t => {
  t.comment(`SEED=${seed}`)
  let count = 0
  const exporter = { hasRoom: () => true, add: () => void count++, stop: async () => {} }
  const observe = createTracer(exporter, createSeededRandom(seed), 0.25)
  const record = { path: '/b/k', operation: 'GetObject', status: 200, timeMs: 0, durationMs: 1, key: 'k' }
  for (let i = 0; i < 10_000; i++) observe(record as RequestRecord)
  t.ok(count > 2200 && count < 2800, `${count}`)
})

t.test('names of spans say which API it was', async t => {
  const names: string[] = []
  const exporter = { hasRoom: () => true, add: ({ name }: Span) => void names.push(name), stop: async () => {} }
  const observe = createTracer(exporter, createSeededRandom(seed), 1)
  const record = { path: '/a', operation: 'Read', status: 200, timeMs: 0, durationMs: 1, key: '', query: '' }
  for (const more of [{}, { listener: 's3' }, { listener: 'console' }, { listener: 's3', type: 'web' }]) {
    observe({ ...record, ...more } as RequestRecord)
  }
  observe({ ...record, listener: 's3', path: '/svc/health/live' } as RequestRecord)
  t.same(names, ['s3 Read', 's3 Read', 'admin Read', 'web Read'])
})

t.test('endpoints', async t => {
  t.equal(tracesUrl('http://c:4318'), 'http://c:4318/v1/traces')
  t.equal(tracesUrl('https://c/otlp/'), 'https://c/otlp/v1/traces')
  t.equal(tracesUrl('https://c/otlp/v1/traces'), 'https://c/otlp/v1/traces')
  t.equal(grpcOrigin('c:4317', false), 'http://c:4317')
  t.equal(grpcOrigin('c:4317', true), 'https://c:4317')
  t.equal(grpcOrigin('[::1]:4317', false), 'http://[::1]:4317')
  t.equal(grpcOrigin('http://c:4317', true), 'http://c:4317')
  t.equal(grpcOrigin('https://c:4317/', false), 'https://c:4317')
})

t.test('configuration that is wrong is named, and no secret of it', async t => {
  const problems = (config: object) =>
    tracingProblems({ protocol: 'http/protobuf', sampleRatio: 1, timeoutMs: 1000, ...config } as never)
  t.same(problems({ headers: 'nonsense', resourceAttributes: '=' }), [], 'nobody looks without a collector')
  t.same(problems({ endpoint: 'http://c:4318', headers: 'a=b', resourceAttributes: 'a=b' }), [])
  t.same(problems({ endpoint: 'c:4317', protocol: 'grpc' }), [])
  const table: [config: object, RegExp][] = [
    [{ endpoint: 'collector:4318' }, /^SVC_OTEL_EXPORTER_OTLP_ENDPOINT must be a URL/],
    [{ endpoint: 'ftp://c' }, /must be a URL/],
    [{ endpoint: 'http://u:hunter2@c' }, /no user and no password: set OTEL_EXPORTER_OTLP_HEADERS/],
    [{ endpoint: 'http://c/?key=hunter2' }, /neither a query/],
    [{ endpoint: 'c', protocol: 'grpc' }, /must name the port/],
    [{ endpoint: 'http://c:4317/v1/traces', protocol: 'grpc' }, /without a path/],
    [{ endpoint: 'http://c', headers: 'hunter2' }, /^OTEL_EXPORTER_OTLP_HEADERS must be name=value/],
    [{ endpoint: 'http://c', headers: 'a=%zz' }, /must be name=value/],
    [{ endpoint: 'http://c', headers: 'a b=hunter2' }, /a name that no header can have/],
    [{ endpoint: 'http://c', headers: 'a=hunter2%0A' }, /a value for a with characters/],
    [{ endpoint: 'http://c', headers: 'Host=hunter2' }, /must not set host/],
    [{ endpoint: 'http://c', resourceAttributes: 'x' }, /^OTEL_RESOURCE_ATTRIBUTES must be/],
  ]
  for (const [config, expected] of table) {
    const found = problems(config)
    t.match(found, [expected])
    t.notMatch(found.join(), /hunter2/)
  }
  t.same(readHeaders('Authorization=Bearer%20x, x-b = c'), { authorization: 'Bearer x', 'x-b': 'c' })
})
