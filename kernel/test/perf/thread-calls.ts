/**
 * The cost of calls between threads: `node --conditions=svc-src kernel/test/perf/thread-calls.ts`. CPU is of the whole
 * process, all threads, per operation; it is more reliable than time on a shared machine.
 */
import { resolveConfiguration } from '../../config/resolve.ts'
import { createKernel } from '../../kernel.ts'
import { createLogger } from '../../program/log.ts'
import { createSystemPorts } from '../../program/system-ports.ts'
import { createThreadPool } from '../../program/thread-pool.ts'
import many from '../fixtures/threads.ts'

const log = createLogger('error', { write: line => process.stderr.write(line) })
const ports = createSystemPorts()
const { sections: config } = resolveConfiguration([many], { argv: [], env: {} })
const modules = [{ name: 'many', url: new URL('../fixtures/threads.ts', import.meta.url).href }]
const common = { config, log, startTimeoutMs: 60_000, stopTimeoutMs: 5000 }
const writeLog = (line: string) => process.stderr.write(line)
const pool = createThreadPool({
  ...common,
  selection: { modules, disabled: [] },
  workerCount: 2,
  logLevel: 'error',
  clock: ports.clock,
  writeLog,
})
const { threads } = pool
const kernel = createKernel({ ...common, plugins: [many], ports, threads })
kernel.setup()
await kernel.start()
await pool.start()
await pool.serve()
await kernel.serve()

async function measure(name: string, count: number, run: (count: number) => Promise<void> | void): Promise<void> {
  await run(Math.ceil(count / 4))
  const cpu = process.cpuUsage()
  const started = performance.now()
  await run(count)
  const { user, system } = process.cpuUsage(cpu)
  const micros = (value: number) => (value / count).toFixed(count >= 1e6 ? 4 : 1).padStart(8)
  const wall = (performance.now() - started) * 1000
  console.log(`${name.padEnd(44)} ${micros(user + system)} µs CPU ${micros(wall)} µs time`)
}

const payload = { key: 'a/b/c', size: 4096, digest: Buffer.alloc(16) }
const inFlight = (concurrency: number, call: () => Promise<unknown>) => async (count: number) => {
  for (let done = 0; done < count; done += concurrency) {
    await Promise.all(Array.from({ length: concurrency }, call))
  }
}
const relayed = { target: 2, name: 'many.told', payload: undefined }
await measure(
  'call to a worker, one at a time',
  5000,
  inFlight(1, () => threads.call(1, 'many.echo', payload)),
)
await measure(
  'call to a worker, 32 in flight',
  20_000,
  inFlight(32, () => threads.call(1, 'many.echo', payload)),
)
await measure(
  'call through a worker to another, 32',
  5000,
  inFlight(32, () => threads.call(1, 'many.ask', relayed)),
)
await measure('post to a worker, answered once per 1000', 50_000, async count => {
  for (let i = 0; i < count; i++) {
    threads.post(1, 'many.tell', i)
    if (i % 1000 === 999) await threads.call(1, 'many.told')
  }
})

await pool.drain()
await pool.stop()
await kernel.stop()
