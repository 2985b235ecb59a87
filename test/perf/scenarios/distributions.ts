/**
 * A website against nginx with the same files: CPU of a page of 4 KiB, and the rate of files of 1 MiB. A bare `node:http` server shows
 * what of the CPU is not ours. And what distributions cost S3: GET
 * of 4 KiB from a server that has none, and from one that has many, against one without the plugin. CPU of as many requests each time,
 * compared with the requests just before and just after of the server without the plugin, which is also compared with itself: that
 * difference is chance.
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
  recordRequests,
  type Sample,
  type Samples,
  type Scenario,
  sendAll,
  warmUp,
  warmUpMs,
} from '../bench.ts'
import { createBucket, publish } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { type ServerTarget, startBareHttp, startNginx, type Target } from '../targets.ts'
import { hasWrk, runWrk } from '../wrk.ts'

const BUCKET = 'bench'
const HOST = 'www.example.test'
const CPU_RATIO_GOAL = 3
const RATE_RATIO_GOAL = 0.8
const S3_RATIO_GOAL = 1.01
const MANY = 100
const CONNECTION_COUNT = 64
const sizes = [
  { label: '4 KiB', sizeBytes: 4096, count: 256, connectionCount: CONNECTION_COUNT },
  { label: '1 MiB', sizeBytes: 2 ** 20, count: 32, connectionCount: 16 },
] as const

export const distributions: Scenario = {
  name: 'distributions',
  summary: 'a website against nginx with the same files, 4 KiB and 1 MiB; S3 beside distributions',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return
    const site = await bench.start({ folder: `${bench.folder}/site`, environment: { SVC_WEB_ADDRESS: '127.0.0.1:0' } })
    await createBucket(site, BUCKET)
    // Its keys are what nginx has behind the name of the bucket.
    await publish(site, BUCKET, 'www', HOST)
    if (hasWrk()) for (const size of sizes) await contestNginx(bench, site, size)
    else bench.say('wrk is not installed: websites are left out')
    await site.stop()
    await contestS3(bench)
  },
}

async function contestNginx(bench: Bench, site: ServerTarget, size: (typeof sizes)[number]): Promise<void> {
  const { label, sizeBytes, count, connectionCount } = size
  bench.say(`a website, ${label}`)
  const root = join(bench.folder, `static-${sizeBytes}`)
  const targets = Array.from({ length: count }, (_, index) => targetOf(BUCKET, index))
  // On a website the path is the key; S3 and nginx have the bucket before it.
  const paths = targets.map(target => target.slice(BUCKET.length + 1))
  for (const target of targets) {
    mkdirSync(dirname(join(root, target)), { recursive: true })
    writeFileSync(join(root, target), randomBytes(sizeBytes))
  }
  const plan = { method: 'PUT', targets, bodySizeBytes: sizeBytes, connectionCount: 16 } as const
  await sendAll(bench, planFor(bench, site, plan), 120_000)
  const nginx = await startNginx(bench.folder, join(root, BUCKET), bench.workers)
  const website: Target = { ...site, name: 'server', port: site.webPort }
  const isSmall = sizeBytes < 2 ** 20
  const bare = isSmall ? await startBareHttp(bench.folder) : undefined
  const contestants = [website, nginx, bare].filter(target => target !== undefined)
  try {
    const rounds = bench.isQuick ? 7 : 11
    const samples = await alternate(rounds, contestants, async (target, round): Promise<Sample> => {
      const seconds = round === warmUp ? warmUpMs / 1000 : bench.isQuick ? 2 : 4
      const { host, port } = target
      const options = { host, port, connectionCount, seconds, folder: bench.folder, targets: paths, namedHost: HOST }
      const { result, cpu } = await measureCpu(target, () => runWrk(options))
      return {
        rate: result.requestCount / result.seconds,
        CPU: (cpu * 1e6) / result.requestCount,
        p50: result.p50Ms,
        p99: result.p99Ms,
      }
    })
    recordRequests(bench, samples, label)
    if (nginx === undefined) return
    // Whatever else the machine does adds CPU and takes rate: the least disturbed round of each tells what it costs.
    const cpu = leastOf(samples, 'server', 'CPU') / leastOf(samples, 'nginx', 'CPU')
    const rate = mostOf(samples, 'server', 'rate') / mostOf(samples, 'nginx', 'rate')
    const subject = 'server / nginx'
    bench.record({
      subject,
      name: `${label}: least CPU`,
      unit: 'ratio',
      samples: [cpu],
      ...(isSmall ? { goal: { relation: '<=', value: CPU_RATIO_GOAL } } : {}),
    })
    bench.record({
      subject,
      name: `${label}: best rate`,
      unit: 'ratio',
      samples: [rate],
      ...(isSmall ? {} : { goal: { relation: '>=', value: RATE_RATIO_GOAL } }),
    })
  } finally {
    await nginx?.stop()
    await bare?.stop()
  }
}

const leastOf = (samples: Samples, contestant: string, quantity: string): number =>
  Math.min(...column(samples, contestant, quantity))
const mostOf = (samples: Samples, contestant: string, quantity: string): number =>
  Math.max(...column(samples, contestant, quantity))

async function contestS3(bench: Bench): Promise<void> {
  bench.say('S3 beside distributions')
  const disable = '["svc/plugins/standard",{"disable":["distributions","website","s3-domains"]}]'
  const start = (name: string, environment: Readonly<Record<string, string>>) =>
    bench.start({ name, folder: `${bench.folder}/${name}`, environment })
  const without = await start('no plugin', { SVC_PLUGINS: disable })
  const none = await start('no distributions', { SVC_S3_DISTRIBUTIONS: 'on' })
  const many = await start(`${MANY} distributions`, { SVC_S3_DISTRIBUTIONS: 'on' })
  const range = { bucket: BUCKET, first: 0, count: 256 }
  for (const server of [without, none, many]) {
    await createBucket(server, BUCKET)
    const plan = { method: 'PUT', targets: range, bodySizeBytes: 4096, connectionCount: 16 } as const
    await sendAll(bench, planFor(bench, server, plan), 30_000)
  }
  for (let index = 0; index < MANY; index++) await publish(many, BUCKET, `d${index}`, `d${index}.example.test`)
  const contestants = [
    { name: 'no plugin, again', server: without },
    { name: none.name, server: none },
    { name: many.name, server: many },
  ]
  const measure = async (server: ServerTarget, isWarmUp: boolean): Promise<number> => {
    const plan = { method: 'GET', targets: range, connectionCount: CONNECTION_COUNT } as const
    await bench.load.prepare(planFor(bench, server, plan))
    const limits = isWarmUp
      ? { requestCountMax: 2_000_000, timeMsMax: warmUpMs }
      : { requestCountMax: bench.isQuick ? 10_000 : 20_000, timeMsMax: 120_000 }
    return (await measureRequests(bench, server, limits)).CPU
  }
  for (const server of [without, none, many]) await measure(server, true)
  const found = new Map<string, number[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < (bench.isQuick ? 5 : 9); round++) {
    for (const { name, server } of contestants) {
      const before = await measure(without, false)
      const own = await measure(server, false)
      const after = await measure(without, false)
      found.get(name)!.push(own / ((before + after) / 2))
    }
  }
  for (const [name, samples] of found) {
    const isGoal = name === none.name
    bench.record({
      subject: `${name} / no plugin`,
      name: 'S3 GET of 4 KiB: CPU',
      unit: 'ratio',
      samples,
      ...(isGoal ? { goal: { relation: '<=', value: S3_RATIO_GOAL } } : {}),
    })
  }
}
