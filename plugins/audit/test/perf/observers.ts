/**
 * CPU per finished request of the three observers, in this process: node --conditions=svc-src plugins/audit/test/perf/observers.ts
 * Prints microseconds per call, the median of several rounds. Not a test: nothing is asserted.
 */
import { destination, pino } from 'pino'
import type { Logger } from 'svc/kernel'
import { startAdmin } from 'svc/plugins/admin/testing'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { createCollector } from '../../collector.ts'
import { createLineFormat, createLineWriter } from '../../log-line.ts'
import { auditRecordOf } from '../../record.ts'
import { createAuditService } from '../../service.ts'

const identity = { accessKey: 'admin', isRoot: true, ownerId: 'f'.repeat(64), displayName: 'admin' }
const rounds = 7
const calls = 200_000

function recordOf(index: number): S3RequestRecord {
  return {
    operation: 'GetObject',
    requestId: '0123456789ABCDEF',
    method: 'GET',
    path: `/bucket/folder/object-${index & 1023}`,
    query: '',
    bucket: 'bucket',
    key: `folder/object-${index & 1023}`,
    identity,
    clientAddress: '192.0.2.1',
    userAgent: 'aws-sdk-js/3.1169.0',
    status: 200,
    errorCode: undefined,
    timeMs: Date.now(),
    durationMs: (index & 255) / 10,
    receivedBytes: 0,
    sentBytes: 4096,
  }
}

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

async function costOfTurns(): Promise<number> {
  const before = process.cpuUsage()
  for (let index = 0; index < calls; index++) if (index % 64 === 0) await nextTurn()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

async function measure(name: string, call: (record: S3RequestRecord) => void): Promise<void> {
  const figures: number[] = []
  for (let round = 0; round < rounds; round++) {
    const records = Array.from({ length: 1024 }, (_, index) => recordOf(index))
    const empty = await costOfTurns()
    const before = process.cpuUsage()
    for (let index = 0; index < calls; index++) {
      call(records[index & 1023])
      // The log's buffer is written between turns, as in the server.
      if (index % 64 === 0) await nextTurn()
    }
    const { user, system } = process.cpuUsage(before)
    figures.push((user + system - empty) / calls)
  }
  figures.sort((a, b) => a - b)
  process.stdout.write(`${name.padEnd(40)} ${figures[rounds >> 1].toFixed(2)} µs\n`)
}

// An asynchronous destination, as in the server, but one that drops everything.
const sink = destination({ dest: '/dev/null', sync: false, maxLength: 16 << 20 })
const log = pino({ level: 'info' }, sink) as unknown as Logger
const format = createLineFormat('node')
const write = createLineWriter(log)
await measure('audit line, by hand', record => write(format(record, record.timeMs)))
const systemClock = { now: Date.now, monotonicNs: process.hrtime.bigint, after: () => () => {} }
const threads = { handle() {}, callOthers: async () => [], call: async () => undefined } as never
const closed = createAuditService({
  log,
  clock: systemClock,
  threads,
  node: 'node-1',
  outlet: { isOpen: false, add() {} },
})
await measure('audit line and ring', closed.observeS3)
const collector = createCollector({ threads, clock: systemClock, onLost() {} })
collector.isOpen = true
const open = createAuditService({ log, clock: systemClock, threads, node: 'node-1', outlet: collector })
await measure('audit line, ring and a target', open.observeS3)
await measure('audit line, through pino (for comparison)', record =>
  log.info(auditRecordOf(record, 'node', record.timeMs), 'audit'),
)

const { kernel, stop } = await startAdmin()
for (const { plugin, value } of kernel.point('s3.observer').list()) {
  if (plugin !== 'audit') await measure(`observer of ${plugin}`, value)
}
await stop()
