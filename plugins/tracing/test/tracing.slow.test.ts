/** The real server tells a real collector of its requests, over each protocol. */
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { rootPassword, rootUser, startAdmin, type TestAdmin } from 'svc/plugins/admin/testing'
import { makeCertificates } from 'svc/plugins/http-client/testing'
import 'svc/plugins/metrics/api'
import { outcome } from 'svc/plugins/s3/testing'
import t, { type Test } from 'tap'
import { type Collector, type ReceivedSpan, startGrpcCollector, startHttpCollector } from './collector.ts'

async function startTraced(
  t: Test,
  tracing: Record<string, unknown>,
): Promise<TestAdmin & { end: () => Promise<void> }> {
  const server = await startAdmin({ config: { tracing } })
  let ended: Promise<void> | undefined
  const end = () => (ended ??= server.stop())
  t.teardown(end)
  return { ...server, end }
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'

/** Requests of all kinds; the spans are there when the server has stopped. Resolves with the signature of a link. */
async function work({ s3, s3Port, signed }: TestAdmin): Promise<string> {
  await s3.send(new CreateBucketCommand({ Bucket: 'photos' }))
  await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a/é.txt', Body: 'hello' }))
  const link = await getSignedUrl(s3, new GetObjectCommand({ Bucket: 'photos', Key: 'a/é.txt' }))
  const traceparent = `00-${traceId}-${parentId}-01`
  await (await fetch(link, { headers: { traceparent, tracestate: 'vendor=1' } })).text()
  await outcome(s3.send(new GetObjectCommand({ Bucket: 'photos', Key: 'none' })))
  await (await fetch(`http://127.0.0.1:${s3Port}/svc/health/live`)).text()
  await signed({ path: '/api/v1/info', headers: { traceparent } })
  return new URL(link).searchParams.get('X-Amz-Signature')!
}

function check(t: Test, { spans, bytes }: Collector, signature: string): void {
  const named = (name: string): ReceivedSpan => spans.find(span => span.name === name)!
  t.same(
    spans.map(({ name }) => name),
    ['s3 CreateBucket', 's3 PutObject', 's3 GetObject', 's3 GetObject', 'admin getServerInfo'],
    'health probes have none',
  )
  for (const span of spans) {
    t.match(span, { kind: 2, status: 0, scope: { name: 'svc' }, resource: { 'service.name': 'store-a', zone: 'b c' } })
    t.ok(span.endMs >= span.startMs && Math.abs(Date.now() - span.startMs) < 600_000, 'times of now')
  }
  t.match(named('s3 PutObject'), {
    parentSpanId: '',
    flags: 1,
    attributes: {
      'http.request.method': 'PUT',
      'http.response.status_code': 200,
      'url.path': '/photos/a/%C3%A9.txt',
      'url.scheme': 'http',
      'client.address': '127.0.0.1',
      'aws.s3.bucket': 'photos',
      'aws.s3.key': 'a/é.txt',
      'enduser.id': rootUser,
      'svc.request_id': /^[0-9A-F]{16}$/,
    },
  })
  const [read, missing] = spans.filter(({ name }) => name === 's3 GetObject')
  t.match(read, { traceId, parentSpanId: parentId, traceState: 'vendor=1', flags: 0x301 }, 'the trace goes on')
  t.equal(read!.attributes['http.response.body.size'], 5)
  t.match(read!.attributes['url.query'], /X-Amz-Signature=\*REDACTED\*/)
  t.match(missing!.attributes, { 'http.response.status_code': 404, 'svc.error_code': 'NoSuchKey' })
  t.notOk('error.type' in missing!.attributes, 'of the client, not of the server')
  t.match(named('admin getServerInfo'), { traceId, attributes: { 'url.path': '/api/v1/info' } })
  t.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length)
  t.equal(new Set(spans.map(({ traceId }) => traceId)).size, spans.length - 1)
  for (const secret of [rootPassword, signature, 'token-of-the-collector']) t.notOk(bytes().includes(secret), secret)
}

const named = { serviceName: 'store-a', resourceAttributes: 'zone=b%20c,service.name=other' }

t.test('http/protobuf', async t => {
  const collector = await startHttpCollector(t)
  const server = await startTraced(t, {
    endpoint: `${collector.endpoint}/`,
    headers: 'authorization=Bearer%20token-of-the-collector,x-tenant=7',
    ...named,
  })
  const { telemetry } = (await server.signed({ path: '/api/v1/info' })).json
  t.same(telemetry, {
    enabled: true,
    endpoint: `${collector.endpoint}/`,
    protocol: 'http/protobuf',
    sampleRatio: 1,
  })
  const exported = async () => {
    const families = await server.kernel.services.metrics.sample()
    return families.find(({ name }) => name === 'svc_tracing_spans_total')!.samples
  }
  let samples = await exported()
  while (samples.length === 0) {
    await new Promise(resolve => setTimeout(resolve, 100))
    samples = await exported()
  }
  t.match(samples, [{ labels: { result: 'exported' }, value: 1 }], 'after a while, without a stop')
  await server.end()
  t.match(collector.headers, [
    {
      ':path': '/v1/traces',
      'content-type': 'application/x-protobuf',
      authorization: 'Bearer token-of-the-collector',
      'x-tenant': '7',
    },
  ])
  const second = await startHttpCollector(t)
  const working = await startTraced(t, { endpoint: `${second.endpoint}/v1/traces`, ...named })
  const signature = await work(working)
  await working.end()
  check(t, second, signature)
})

t.test('gRPC', async t => {
  const collector = await startGrpcCollector(t)
  const server = await startTraced(t, {
    endpoint: collector.endpoint,
    protocol: 'grpc',
    headers: 'authorization=Bearer%20token-of-the-collector',
    ...named,
  })
  const signature = await work(server)
  await server.end()
  check(t, collector, signature)
  t.match(collector.headers, [{ authorization: 'Bearer token-of-the-collector' }])
})

t.test('over TLS, with an authority of its own, and with none that knows it', async t => {
  const { server: keys, authority: certificate } = makeCertificates(t)
  for (const [protocol, collector] of [
    ['http/protobuf', await startHttpCollector(t, { tls: keys })],
    ['grpc', await startGrpcCollector(t, { tls: keys })],
  ] as const) {
    const { endpoint } = collector
    const strange = await startTraced(t, {
      endpoint: endpoint.includes('://') ? endpoint : `https://${endpoint}`,
      protocol,
    })
    await strange.signed({ path: '/api/v1/info' })
    await strange.end()
    t.same(collector.spans, [], `${protocol}: a certificate of an unknown authority is refused`)
    const said = strange.kernel.logs.find(({ plugin, level }) => plugin === 'tracing' && level === 'warn')
    t.match(said, { msg: /collector of traces cannot be reached/, reason: /unable to verify|not trusted/ })
    const known = await startTraced(t, { endpoint, protocol, certificate })
    await known.signed({ path: '/api/v1/info' })
    await known.end()
    t.match(collector.spans, [{ name: 'admin getServerInfo' }], protocol)
  }
})

t.test('the sampler follows the parent trace, otherwise the configured fraction', async t => {
  const collector = await startHttpCollector(t)
  const server = await startTraced(t, { endpoint: collector.endpoint, sampleRatio: 0 })
  const call = (traceparent?: string) =>
    server.signed({ path: '/api/v1/info', headers: traceparent === undefined ? {} : { traceparent } })
  await call()
  await call(`00-${traceId}-${parentId}-00`)
  await call(`00-${traceId}-0000000000000000-01`)
  await call(`00-${traceId}-${parentId}-01`)
  await server.end()
  t.match(collector.spans, [{ traceId, parentSpanId: parentId }])
  t.equal(collector.spans.length, 1)
})

t.test(
  'while the collector is down, requests are answered, dropped spans are counted, and a stop ends all work',
  async t => {
    const gone = await startHttpCollector(t)
    await gone.stop()
    const server = await startTraced(t, { endpoint: gone.endpoint })
    await work(server)
    const before = process.getActiveResourcesInfo().length
    await server.end()
    t.ok(process.getActiveResourcesInfo().length <= before)
    t.match(
      server.kernel.logs.filter(({ plugin, level }) => plugin === 'tracing' && level === 'warn'),
      [
        { msg: /cannot be reached/, reason: /refuses connections/ },
        { msg: /these spans are lost/, spans: 5 },
      ],
    )
  },
)

t.test('without a collector no observer is registered', async t => {
  const server = await startTraced(t, {})
  for (const point of ['s3.observer', 'http.observer'] as const) {
    t.notOk(
      server.kernel
        .point(point)
        .list()
        .some(({ plugin }) => plugin === 'tracing'),
      point,
    )
  }
  t.same((await server.signed({ path: '/api/v1/info' })).json.telemetry, {
    enabled: false,
    endpoint: '',
    protocol: 'http/protobuf',
    sampleRatio: 1,
  })
})
