/** Resident memory: at rest, and under 256 concurrent uploads of 64 MiB. What the index maps is counted apart. */
import { setTimeout as sleep } from 'node:timers/promises'
import { planFor, type Scenario, sendAll } from '../bench.ts'
import { createBucket, expectObject } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { freeBytes, memoryOf, peakResidentBytes, threadCountOf } from '../machine.ts'

const MIB = 2 ** 20
const BUCKET = 'bench'
const UPLOAD_COUNT = 256
const IDLE_GOAL_MB = 120
const BUSY_GOAL_MB = 350
const SETTLE_MS = 3000
const SAMPLE_INTERVAL_MS = 250
const TIME_MS_MAX = 600_000

export const memory: Scenario = {
  name: 'memory',
  summary: 'resident memory idle and under 256 concurrent uploads of 64 MiB (8 MiB with --quick)',
  async run(bench) {
    const { server } = bench
    if (server === undefined) return bench.say('nothing to compare with: left out')
    const bodySizeBytes = bench.isQuick ? 8 * MIB : 64 * MIB
    if (freeBytes(bench.folder) < 1.5 * UPLOAD_COUNT * bodySizeBytes)
      throw new Error('The drive has too little free space.')
    const pid = server.pids()[0]
    const own = (): number => {
      const { residentBytes, mappedBytes } = memoryOf(pid, server.drive)
      return (residentBytes - mappedBytes) / 1e6
    }
    await createBucket(server, BUCKET)
    await sleep(SETTLE_MS)
    const idleMb = own()

    bench.say(`${UPLOAD_COUNT} uploads of ${bodySizeBytes / MIB} MiB`)
    const range = { bucket: BUCKET, first: 0, count: UPLOAD_COUNT }
    const plan = planFor(bench, server, { method: 'PUT', targets: range, bodySizeBytes, connectionCount: UPLOAD_COUNT })
    let busyMb = 0
    const sampling = setInterval(() => {
      busyMb = Math.max(busyMb, own())
    }, SAMPLE_INTERVAL_MS)
    const result = await sendAll(bench, plan, TIME_MS_MAX).finally(() => clearInterval(sampling))
    await expectObject(server, targetOf(BUCKET, 0), bodySizeBytes)
    await sleep(SETTLE_MS)
    const peakMb = peakResidentBytes(pid) / 1e6

    const record = (name: string, unit: string, value: number, goal?: number): void =>
      bench.record({
        subject: 'server',
        name,
        unit,
        samples: [value],
        goal: goal === undefined ? undefined : { relation: '<=', value: goal },
      })
    record('idle, without the mapped index', 'MB', idleMb, IDLE_GOAL_MB)
    record('under uploads, largest sample without the mapped index', 'MB', busyMb, BUSY_GOAL_MB)
    record('under uploads, peak with everything (VmHWM)', 'MB', peakMb)
    record('after the uploads, without the mapped index', 'MB', own())
    record('upload rate', 'MB/s', result.sentBodyBytes / 1e6 / result.seconds)
    record('threads', 'threads', threadCountOf(pid))
  },
}
