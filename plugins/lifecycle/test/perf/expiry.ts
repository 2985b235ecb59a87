/**
 * Cost of the index of due times for a small PUT, and of expiring objects: CPU of the process with all threads of Node.js. `node
 * --conditions=svc-src plugins/lifecycle/test/perf/expiry.ts [objects]`
 */
import type { Body } from 'svc/plugins/objects/api'
import { dayMs, startLifecycle } from '../start.ts'

const count = Number(process.argv[2] ?? 100_000)
const rounds = 4
const server = await startLifecycle({ byHand: true, atNoon: true })
const { objects, lifecycle, iam } = server.kernel.services
const attributes = { system: {}, user: {}, storageClass: 'STANDARD' }
const bytes = Buffer.alloc(100, 1)
const body = (): Body => ({
  sizeBytes: bytes.length,
  expectedDigests: () => ({ md5: undefined, checksum: undefined }),
  async consume(sink) {
    await sink(bytes)
  },
})

async function measure(what: string, unitCount: number, work: () => Promise<unknown>): Promise<number> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  const micros = (user + system) / unitCount
  const seconds = (performance.now() - start) / 1000
  console.log(`${what}: ${micros.toFixed(1)} µs CPU each, ${seconds.toFixed(1)} s`)
  return micros
}

async function fill(bucket: string, from: number, to: number): Promise<void> {
  let next = from
  const writer = async () => {
    while (next < to) {
      const i = next++
      // Scattered, like keys of applications.
      const key = `photos/${(Math.imul(i, 2_654_435_761) >>> 0).toString(16)}/img-${i}.jpg`
      await objects.putObject({ bucket, key, attributes, body: body(), checksumAlgorithm: undefined })
    }
  }
  await Promise.all(Array.from({ length: 64 }, writer))
}

for (const bucket of ['plain', 'ruled']) await objects.createBucket(bucket, { region: 'us-east-1', owner: iam.owner })
const rule = { id: 'r', enabled: true, prefix: '', expiration: { days: 30 } }
await lifecycle.replace('ruled', [rule])
await fill('plain', 0, 10_000)
const each = Math.ceil(count / rounds)
const sums = { plain: 0, ruled: 0 }
for (let round = 0; round < rounds; round++) {
  for (const bucket of ['plain', 'ruled'] as const) {
    const from = 10_000 + round * each
    sums[bucket] += await measure(`PUT, ${bucket}`, each, () => fill(bucket, from, from + each))
  }
}
console.log(`the index adds ${((sums.ruled - sums.plain) / rounds).toFixed(1)} µs to a PUT`)

await measure('nothing due: a run', 1, () => lifecycle.run('ruled'))
server.advanceDays(32)
await measure('expiry', each * rounds, async () => console.log(await lifecycle.run('ruled')))
const lateMs = server.now() % dayMs
console.log(`${Math.round(lateMs / 3_600_000)} h after midnight, by the clock of the test`)

await lifecycle.replace('plain', [{ ...rule, expiration: { days: 300 } }])
await measure('rules for objects that were there before: the index is built', each * rounds + 10_000, () =>
  lifecycle.run('plain'),
)
await lifecycle.replace('plain', [rule])
await measure('and they expire', each * rounds + 10_000, () => lifecycle.run('plain'))
await server.stop()
