/**
 * GET of 4 KiB: presigned URLs by wrk and signed headers by the own load generator, against nginx with the same files. A bare
 * `node:http` server shows what of the CPU is not ours.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  alternate,
  type Bench,
  column,
  measureCpu,
  measureRequests,
  planFor,
  ratios,
  recordRequests,
  type Sample,
  type Samples,
  type Scenario,
  sendAll,
  warmUp,
  warmUpMs,
} from '../bench.ts'
import { createBucket, expectObject } from '../control.ts'
import { type TargetRange, targetOf } from '../load-plan.ts'
import { createSigner } from '../signature.ts'
import { startBareHttp, startNginx, type Target } from '../targets.ts'
import { hasWrk, runWrk } from '../wrk.ts'

const SIZE_BYTES = 4096
const OBJECT_COUNT = 256
const CONNECTION_COUNT = 64
const CPU_GOAL_MICROS = 32
const RATE_RATIO_GOAL = 0.33
const BUCKET = 'bench'
const RANGE: TargetRange = { bucket: BUCKET, first: 0, count: OBJECT_COUNT }

export const getSmall: Scenario = {
  name: 'get-small',
  summary: 'GET of 4 KiB, signed, against nginx with static files',
  async run(bench) {
    const roundCount = bench.isQuick ? 3 : 5
    const seconds = bench.isQuick ? 2 : 4
    const root = join(bench.folder, 'static')
    for (let index = 0; index < OBJECT_COUNT; index++) {
      const path = join(root, targetOf(BUCKET, index))
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, randomBytes(SIZE_BYTES))
    }
    if (bench.server !== undefined) await fill(bench)
    const nginx = await startNginx(bench.folder, root, bench.workers)
    const bare = await startBareHttp(bench.folder)
    const contestants = [bench.server, nginx, bare].filter(target => target !== undefined)
    try {
      if (hasWrk()) {
        bench.say('presigned URLs, wrk')
        const samples = await alternate(roundCount, contestants, (target, round) =>
          measureWrk(bench, target, round === warmUp ? warmUpMs / 1000 : seconds),
        )
        recordContest(bench, samples, 'presigned')
      } else {
        bench.say('wrk is not installed: presigned URLs are left out')
      }
      bench.say('signed headers')
      const samples = await alternate(roundCount, contestants, async (target, round) => {
        const plan = planFor(bench, target, { method: 'GET', targets: RANGE, connectionCount: CONNECTION_COUNT })
        await bench.load.prepare(plan)
        return measureRequests(bench, target, {
          requestCountMax: 2_000_000,
          timeMsMax: round === warmUp ? warmUpMs : seconds * 1000,
        })
      })
      recordContest(bench, samples, 'signed header')
    } finally {
      await nginx?.stop()
      await bare.stop()
    }
  },
}

async function fill(bench: Bench): Promise<void> {
  const server = bench.server!
  await createBucket(server, BUCKET)
  const plan = { method: 'PUT', targets: RANGE, bodySizeBytes: SIZE_BYTES, connectionCount: 16 } as const
  await sendAll(bench, planFor(bench, server, plan), 30_000)
  await expectObject(server, targetOf(BUCKET, OBJECT_COUNT - 1), SIZE_BYTES)
}

async function measureWrk(bench: Bench, target: Target, seconds: number): Promise<Sample> {
  const signer = createSigner(bench.credentials, bench.signedHost)
  const targets = Array.from({ length: OBJECT_COUNT }, (_, index) =>
    signer.presign('GET', targetOf(BUCKET, index), 3600),
  )
  const { host, port } = target
  const options = { host, port, connectionCount: CONNECTION_COUNT, seconds, folder: bench.folder, targets }
  const { result, cpu } = await measureCpu(target, () => runWrk(options))
  return {
    rate: result.requestCount / result.seconds,
    CPU: (cpu * 1e6) / result.requestCount,
    p50: result.p50Ms,
    p99: result.p99Ms,
  }
}

function recordContest(bench: Bench, samples: Samples, label: string): void {
  recordRequests(bench, samples, label, CPU_GOAL_MICROS)
  if (samples.server === undefined || samples.nginx === undefined) return
  bench.record({
    subject: 'server / nginx',
    name: `${label}: rate`,
    unit: 'ratio',
    samples: ratios(column(samples, 'server', 'rate'), column(samples, 'nginx', 'rate')),
    goal: { relation: '>=', value: RATE_RATIO_GOAL },
  })
  bench.record({
    subject: 'nginx / server',
    name: `${label}: CPU`,
    unit: 'ratio',
    samples: ratios(column(samples, 'nginx', 'CPU'), column(samples, 'server', 'CPU')),
  })
}
