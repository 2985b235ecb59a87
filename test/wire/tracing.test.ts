/** Traces of a whole server, all of its threads, as variables of the environment set it up. */
import t from 'tap'
import { startGrpcCollector } from '../../plugins/tracing/test/collector.ts'
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
