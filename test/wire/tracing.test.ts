/** Traces of a whole server, all of its threads, as variables of the environment set it up. */
import { makeCertificates } from 'svc/plugins/http-client/testing'
import t from 'tap'
import { startGrpcCollector, startHttpCollector } from '../../plugins/tracing/test/collector.ts'
import { createAdminClient } from './admin.ts'
import { startServer } from './server.ts'

t.test('spans of every worker come to the collector, and the rest when the server stops', async t => {
  const collector = await startGrpcCollector(t)
  const server = await startServer({
    environment: {
      SVC_WORKERS: '2',
      SVC_OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      SVC_OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-token=planted',
      OTEL_SERVICE_NAME: 'store-a',
    },
  })
  t.teardown(() => server.remove())
  // Each over a connection of its own, so that they come to both workers.
  const count = 60
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      fetch(`${server.endpoint}/photos/${i}`, { headers: { connection: 'close' } }).then(answer => answer.text()),
    ),
  )
  await createAdminClient(server).call('GET', '/info')
  t.equal(await server.stop(), 0)
  const paths = collector.spans.map(({ attributes }) => attributes['url.path'])
  t.same(
    paths.filter(path => `${path}`.startsWith('/photos/')).sort(),
    Array.from({ length: count }, (_, i) => `/photos/${i}`).sort(),
  )
  t.ok(paths.includes('/api/v1/info'))
  t.match(collector.spans[0]!.resource, { 'service.name': 'store-a' })
  t.ok(collector.headers.length >= 2, 'more than one thread has sent')
  for (const { 'x-token': token } of collector.headers) t.equal(token, 'planted')
})

t.test('each of the variables has its effect', async t => {
  const { server: keys, authority } = makeCertificates(t)
  const collector = await startHttpCollector(t, { tls: keys })
  const silent = await startHttpCollector(t, { answer: () => true })
  const variables = {
    SVC_OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    SVC_OTEL_TRACES_SAMPLER_ARG: '0',
    OTEL_EXPORTER_OTLP_CERTIFICATE: authority,
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=store-b,rack=a%2C1',
  }
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const server = await startServer({ environment: variables })
  t.teardown(() => server.remove())
  const ask = async (headers: Record<string, string> = {}) =>
    (await fetch(`${server.endpoint}/photos/a`, { headers })).text()
  await ask()
  await ask({ traceparent: `00-${traceId}-00f067aa0ba902b7-01` })
  t.equal(await server.stop(), 0)
  t.match(
    collector.spans,
    [{ traceId, resource: { 'service.name': 'store-b', rack: 'a,1' } }],
    'an authority, the sampler, and attributes',
  )
  t.equal(collector.spans.length, 1, 'the one that began elsewhere')

  await server.start({
    ...variables,
    SVC_OTEL_EXPORTER_OTLP_ENDPOINT: silent.endpoint,
    SVC_OTEL_TRACES_SAMPLER_ARG: '1',
    OTEL_EXPORTER_OTLP_TIMEOUT: '150',
  })
  await ask()
  t.equal(await server.stop(), 0)
  t.match(server.log(), /no answer within 150 ms/, 'the timeout')
})

t.test('a variable that is wrong stops the start, and its secret is not told', async t => {
  const environment = {
    SVC_OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hunter2%0A',
  }
  const error: Error = await startServer({ environment }).then(
    async server => {
      await server.remove()
      return new Error('it has started')
    },
    error => error,
  )
  t.match(error.message, /OTEL_EXPORTER_OTLP_HEADERS has a value for authorization with characters/)
  t.notMatch(error.message, /hunter2/)
})
