/**
 * The cost of a span in the thread that answers, in process: recorded, sampled out, and while the collector is down and the buffer full.
 *
 *     node --conditions=svc-src plugins/tracing/test/perf/observe.ts
 */
import { createSystemPorts } from 'svc/testing'
import { createExporter } from '../../exporter.ts'
import type { SendResult } from '../../sender.ts'
import type { RequestRecord } from '../../span.ts'
import { createTracer } from '../../tracer.ts'

const count = 200_000
const rounds = 7
const ports = createSystemPorts()
const taken: SendResult = { kind: 'taken', rejectedSpans: 0, message: '' }
const away: SendResult = { kind: 'unavailable', reason: 'away' }
const silent = { warn() {}, info() {} } as never

const record = {
  operation: 'GetObject',
  requestId: '3AC3996EF92D7010',
  method: 'GET',
  path: '/photos/2026/01/a-photo.jpg',
  query: '',
  bucket: 'photos',
  key: '2026/01/a-photo.jpg',
  identity: { accessKey: 'ada', isRoot: false, ownerId: '', displayName: 'ada' },
  clientAddress: '192.0.2.1',
  userAgent: '',
  status: 200,
  errorCode: undefined,
  timeMs: Date.now(),
  durationMs: 1.2,
  receivedBytes: 0,
  sentBytes: 4096,
  request: { headers: {}, httpVersion: '1.1', socket: {} },
} as unknown as RequestRecord

function makeTracer(result: SendResult, sampleRatio: number) {
  const sender = { send: async () => result, close: async () => {} }
  const resource = { attributes: {}, version: '1' }
  const exporter = createExporter({ sender, resource, ...ports, log: silent, count() {} })
  return { observe: createTracer(exporter, ports.random, sampleRatio), stop: exporter.stop }
}

for (const [name, result, sampleRatio] of [
  ['recorded', taken, 1],
  ['sampled out', taken, 0],
  ['collector away, no room', away, 1],
] as const) {
  const { observe, stop } = makeTracer(result, sampleRatio)
  const micros: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < count; i++) {
      observe(record)
      // Batches leave between turns of the event loop.
      if (i % 500 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    const { user, system } = process.cpuUsage(before)
    micros.push((user + system) / count)
  }
  await stop()
  console.log(`${name}: ${micros.sort((a, b) => a - b)[Math.floor(rounds / 2)]!.toFixed(2)} µs of CPU a request`)
}
