/**
 * PUT of 1 GiB with an MD5 ETag: one stream and four, as a plain PUT and as a multipart upload, against the rate of MD5 on
 * one core. The payload is not in the signature (UNSIGNED-PAYLOAD). The drive's sequential rate is shown: it is a ceiling too.
 */
import { type Bench, measureCpu, planFor, ratios, type Scenario } from '../bench.ts'
import { completeUpload, createBucket, createUpload, expectObject, request } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { type HashRate, measureMd5, measureSequentialWrite } from '../raw.ts'
import type { ServerTarget } from '../targets.ts'

const MIB = 2 ** 20
const GIB = 2 ** 30
const BUCKET = 'bench'
const TIME_MS_MAX = 120_000

interface Variant {
  readonly name: string
  readonly streamCount: number
  readonly isMultipart: boolean
  /** Of the one-core MD5 rate. */
  readonly goal: number
}

const VARIANTS: readonly Variant[] = [
  { name: 'plain, 1 stream', streamCount: 1, isMultipart: false, goal: 0.5 },
  { name: 'plain, 4 streams', streamCount: 4, isMultipart: false, goal: 0.9 },
  { name: 'multipart, 1 stream', streamCount: 1, isMultipart: true, goal: 0.5 },
  { name: 'multipart, 4 streams', streamCount: 4, isMultipart: true, goal: 0.9 },
]

export const putLarge: Scenario = {
  name: 'put-large',
  summary: 'PUT of 1 GiB (256 MiB with --quick), 1 and 4 streams, plain and multipart, against one-core MD5',
  async run(bench) {
    const { server } = bench
    if (server !== undefined) await createBucket(server, BUCKET)
    const roundCount = bench.isQuick ? 2 : 3
    const md5: HashRate[] = []
    const sequential: number[] = []
    const rates = VARIANTS.map((): number[] => [])
    const cpus = VARIANTS.map((): number[] => [])
    for (let round = 0; round < roundCount; round++) {
      md5.push(measureMd5(bench.isQuick ? 300 : 1000))
      sequential.push(measureSequentialWrite(bench.folder, bench.isQuick ? GIB / 4 : GIB))
      for (const [index, variant] of VARIANTS.entries()) {
        if (server === undefined) continue
        bench.say(`${variant.name}, round ${round + 1} of ${roundCount}`)
        const { rate, cpu } = await measure(bench, server, variant)
        rates[index].push(rate)
        cpus[index].push(cpu)
      }
    }
    const md5Rates = md5.map(({ rate }) => rate)
    const md5Cpus = md5.map(({ cpuSecondsPerGib }) => cpuSecondsPerGib)
    bench.record({ subject: 'one core', name: 'MD5: rate', unit: 'MB/s', samples: md5Rates })
    bench.record({ subject: 'one core', name: 'MD5: CPU', unit: 's/GiB', samples: md5Cpus })
    bench.record({ subject: 'drive', name: 'sequential write', unit: 'MB/s', samples: sequential })
    if (server === undefined) return
    for (const [index, { name, goal }] of VARIANTS.entries()) {
      bench.record({ subject: 'server', name: `${name}: rate`, unit: 'MB/s', samples: rates[index] })
      bench.record({ subject: 'server', name: `${name}: CPU`, unit: 's/GiB', samples: cpus[index] })
      bench.record({
        subject: 'server / MD5',
        name: `${name}: rate`,
        unit: 'ratio',
        samples: ratios(rates[index], md5Rates),
        goal: { relation: '>=', value: goal },
      })
      const samples = ratios(md5Cpus, cpus[index])
      bench.record({ subject: 'MD5 / server', name: `${name}: CPU`, unit: 'ratio', samples })
    }
  },
}

async function measure(bench: Bench, server: ServerTarget, variant: Variant): Promise<{ rate: number; cpu: number }> {
  const totalBytes = bench.isQuick ? GIB / 4 : GIB
  const target = targetOf(BUCKET, 0)
  const started = performance.now()
  let seconds = 0
  let cpu = 0
  let objects: string[]
  if (variant.isMultipart) {
    objects = [target]
    const partSizeBytes = bench.isQuick ? 16 * MIB : 64 * MIB
    const upload = await createUpload(server, target)
    const targets = Array.from(
      { length: totalBytes / partSizeBytes },
      (_, index) => `${target}?partNumber=${index + 1}&uploadId=${upload.uploadId}`,
    )
    const connectionCount = variant.streamCount
    await bench.load.prepare(
      planFor(bench, server, { method: 'PUT', targets, connectionCount, bodySizeBytes: partSizeBytes }),
    )
    const measured = await measureCpu(server, async () => {
      const begun = performance.now()
      const limits = { requestCountMax: targets.length, timeMsMax: TIME_MS_MAX, wantsEtags: true }
      await completeUpload(server, upload, (await bench.load.run(limits)).etags)
      return (performance.now() - begun) / 1000
    })
    seconds = measured.result
    cpu = measured.cpu
    await expectObject(server, target, totalBytes)
  } else {
    objects = Array.from({ length: variant.streamCount }, (_, index) => targetOf(BUCKET, index))
    const bodySizeBytes = totalBytes / objects.length
    const connectionCount = variant.streamCount
    await bench.load.prepare(
      planFor(bench, server, { method: 'PUT', targets: objects, connectionCount, bodySizeBytes }),
    )
    const limits = { requestCountMax: objects.length, timeMsMax: TIME_MS_MAX }
    const measured = await measureCpu(server, () => bench.load.run(limits))
    seconds = measured.result.seconds
    cpu = measured.cpu
    await expectObject(server, objects[0], bodySizeBytes)
  }
  for (const object of objects) await request(server, 'DELETE', object)
  if (performance.now() - started > TIME_MS_MAX) throw new Error(`${variant.name} took too long.`)
  return { rate: totalBytes / 1e6 / seconds, cpu: (cpu * GIB) / totalBytes }
}
