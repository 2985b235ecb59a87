/** What encryption costs: PUT and GET of 4 KiB and of 1 GiB with each kind of keys, against the same without. */
import {
  type Bench,
  measureCpu,
  measureRequests,
  planFor,
  ratios,
  type Sample,
  type Scenario,
  sendAll,
  warmUp,
  warmUpMs,
} from '../bench.ts'
import { createBucket, expectObject } from '../control.ts'
import { type LoadPlan, targetOf } from '../load-plan.ts'
import { customerHeaders, LOAD_ENVIRONMENT } from '../loads.ts'
import type { ServerTarget } from '../targets.ts'

const SMALL_BYTES = 4096
const GIB = 2 ** 30
const CONNECTION_COUNT = 64
const OBJECT_COUNT = 256
const LARGE_INDEX = 1_000_000
const TIME_MS_MAX = 120_000
/** CPU that a small object may cost more than without encryption. */
const SMALL_GOAL_MICROS = 15
const PLAIN = 'none'

interface Kind {
  readonly name: string
  readonly bucket: string
  /** Of writes, and of reads. */
  readonly put: Readonly<Record<string, string>>
  readonly get: Readonly<Record<string, string>>
}

const customer = customerHeaders()
const KINDS: readonly Kind[] = [
  { name: PLAIN, bucket: 'plain', put: {}, get: {} },
  { name: 'SSE-S3', bucket: 'sse-s3', put: { 'x-amz-server-side-encryption': 'AES256' }, get: {} },
  { name: 'SSE-KMS', bucket: 'sse-kms', put: { 'x-amz-server-side-encryption': 'aws:kms' }, get: {} },
  { name: 'SSE-C', bucket: 'sse-c', put: customer, get: customer },
]

type Measure = (kind: Kind, round: number) => Promise<Sample>

export const encryption: Scenario = {
  name: 'encryption',
  summary: 'PUT and GET of 4 KiB and of 1 GiB (256 MiB with --quick), encrypted in each way, against no encryption',
  environment: LOAD_ENVIRONMENT,
  async run(bench) {
    const { server } = bench
    if (server === undefined) return
    for (const { bucket } of KINDS) await createBucket(server, bucket)
    const sizeBytes = bench.isQuick ? GIB / 4 : GIB
    await contest(bench, 'PUT of 4 KiB', (kind, round) => measureSmall(bench, server, kind, 'PUT', round), true)
    await contest(bench, 'GET of 4 KiB', (kind, round) => measureSmall(bench, server, kind, 'GET', round), true)
    const large = bench.isQuick ? '256 MiB' : '1 GiB'
    for (const method of ['PUT', 'GET'] as const) {
      await contest(bench, `${method} of ${large}`, kind => measureLarge(bench, server, kind, method, sizeBytes), false)
    }
  },
}

/** The kinds in turn, so that what else the machine does touches all alike. */
async function contest(bench: Bench, label: string, measure: Measure, isSmall: boolean): Promise<void> {
  bench.say(label)
  const samples = new Map<string, Sample[]>(KINDS.map(({ name }) => [name, []]))
  for (let round = warmUp; round < (bench.isQuick ? 3 : 5); round++) {
    for (const kind of KINDS) {
      const sample = await measure(kind, round)
      if (round !== warmUp) samples.get(kind.name)!.push(sample)
    }
  }
  const column = (name: string, quantity: string) => samples.get(name)!.map(sample => sample[quantity]!)
  for (const { name } of KINDS) {
    const [rateUnit, cpuUnit] = isSmall ? ['requests/s', 'µs/request'] : ['MB/s', 's/GiB']
    const cpu = column(name, 'CPU')
    bench.record({ subject: name, name: `${label}: rate`, unit: rateUnit, samples: column(name, 'rate') })
    bench.record({ subject: name, name: `${label}: CPU`, unit: cpuUnit, samples: cpu })
    if (name === PLAIN) continue
    const plain = column(PLAIN, 'CPU')
    bench.record({ subject: `${name} / none`, name: `${label}: CPU`, unit: 'ratio', samples: ratios(cpu, plain) })
    if (!isSmall) continue
    bench.record({
      subject: `${name} − none`,
      name: `${label}: CPU`,
      unit: cpuUnit,
      samples: cpu.map((value, round) => value - plain[round]!),
      goal: { relation: '<=', value: SMALL_GOAL_MICROS },
    })
  }
}

async function measureSmall(bench: Bench, server: ServerTarget, kind: Kind, method: 'PUT' | 'GET', round: number) {
  const { bucket } = kind
  const targets = { bucket, first: 0, count: OBJECT_COUNT }
  const plan: Partial<LoadPlan> =
    method === 'PUT' ? { bodySizeBytes: SMALL_BYTES, headers: kind.put } : { headers: kind.get }
  const full = planFor(bench, server, { method, targets, connectionCount: CONNECTION_COUNT, ...plan })
  // Whatever is read was written before: the contest of PUT comes first, but it may not have come to all objects.
  if (method === 'GET' && round === warmUp) {
    const put = { method: 'PUT', targets, connectionCount: CONNECTION_COUNT } as const
    await sendAll(bench, planFor(bench, server, { ...put, bodySizeBytes: SMALL_BYTES, headers: kind.put }), TIME_MS_MAX)
  }
  await bench.load.prepare(full)
  const timeMsMax = round === warmUp ? warmUpMs / 2 : bench.isQuick ? 1500 : 3000
  return await measureRequests(bench, server, { requestCountMax: 1_000_000, timeMsMax })
}

async function measureLarge(
  bench: Bench,
  server: ServerTarget,
  { bucket, put, get }: Kind,
  method: 'PUT' | 'GET',
  sizeBytes: number,
): Promise<Sample> {
  const target = targetOf(bucket, LARGE_INDEX)
  const headers = method === 'PUT' ? put : get
  const bodySizeBytes = method === 'PUT' ? sizeBytes : 0
  const plan = { method, targets: [target], connectionCount: 1, receiveBufferBytes: 2 ** 20, bodySizeBytes, headers }
  await bench.load.prepare(planFor(bench, server, plan))
  const limits = { requestCountMax: 1, timeMsMax: TIME_MS_MAX }
  const { result, cpu } = await measureCpu(server, () => bench.load.run(limits))
  if (method === 'GET' && result.receivedBodyBytes !== sizeBytes) throw new Error('A body was cut short.')
  if (method === 'PUT' && Object.keys(get).length === 0) await expectObject(server, target, sizeBytes)
  return { rate: sizeBytes / 1e6 / result.seconds, CPU: (cpu * GIB) / sizeBytes }
}
