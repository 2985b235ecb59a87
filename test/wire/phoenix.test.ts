/** Traces in a real collector, over both protocols, read back from its own API. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type PhoenixSpan, skip, startPhoenix } from '../services/phoenix.ts'
import { startServer } from './server.ts'

t.setTimeout(300_000)
const count = 20
const storedWithinMs = 60_000
/** A trace is in one project. */
const traceIds = { 'http/protobuf': '0af7651916cd43dd8448eb211c80319c', grpc: '4bf92f3577b34da6a3ce929d0e0e4736' }
const pathOf = ({ attributes }: PhoenixSpan) => `${attributes['url.path']}`

t.test('a real collector takes the spans of all threads', { skip }, async t => {
  const phoenix = await startPhoenix(t)
  for (const protocol of ['http/protobuf', 'grpc'] as const) {
    await t.test(protocol, async t => {
      const traceId = traceIds[protocol]
      const project = protocol.replace('/', '-')
      const server = await startServer({
        environment: {
          SVC_WORKERS: '2',
          SVC_OTEL_EXPORTER_OTLP_ENDPOINT: phoenix.endpoints[protocol],
          SVC_OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
          OTEL_RESOURCE_ATTRIBUTES: `openinference.project.name=${project}`,
        },
      })
      t.teardown(() => server.remove())
      await Promise.all(
        Array.from({ length: count }, (_, i) =>
          fetch(`${server.endpoint}/photos/${i}`, { headers: { connection: 'close' } }).then(answer => answer.text()),
        ),
      )
      const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
      await (await fetch(`${server.endpoint}/photos/continued`, { headers })).text()
      t.equal(await server.stop(), 0)
      t.notMatch(server.log(), /"level":"(warn|error)"/)
      // It answers before it has stored them.
      let spans: PhoenixSpan[] = []
      for (const endMs = Date.now() + storedWithinMs; Date.now() < endMs && spans.length <= count; await sleep(100))
        spans = (await phoenix.spans(project)).filter(span => pathOf(span).startsWith('/photos/'))
      const names = Array.from({ length: count }, (_, i) => `/photos/${i}`)
      t.same(spans.map(pathOf).sort(), [...names, '/photos/continued'].sort())
      t.match(
        spans.find(span => pathOf(span) === '/photos/continued'),
        { context: { trace_id: traceId }, attributes: { 'http.response.status_code': 404 } },
        'the trace of the client goes on',
      )
    })
  }
})
