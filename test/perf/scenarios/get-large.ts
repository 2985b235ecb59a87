/** GET of 1 GiB over one connection, against nginx with sendfile. */
import { randomFillSync } from 'node:crypto'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { alternate, column, measureCpu, planFor, ratios, type Scenario, sendAll } from '../bench.ts'
import { createBucket } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { startNginx } from '../targets.ts'

const GIB = 2 ** 30
const BUCKET = 'bench'
const RATE_RATIO_GOAL = 0.9
const RECEIVE_BUFFER_BYTES = 2 ** 20

export const getLarge: Scenario = {
  name: 'get-large',
  summary: 'GET of 1 GiB (256 MiB with --quick), against nginx with sendfile',
  async run(bench) {
    const sizeBytes = bench.isQuick ? GIB / 4 : GIB
    const readCount = bench.isQuick ? 4 : 2
    const targets = [targetOf(BUCKET, 0)]
    const root = join(bench.folder, 'static')
    writeRandomFile(join(root, targets[0]), sizeBytes)
    const { server } = bench
    if (server !== undefined) {
      await createBucket(server, BUCKET)
      const plan = { method: 'PUT', targets, bodySizeBytes: sizeBytes, connectionCount: 1 } as const
      await sendAll(bench, planFor(bench, server, plan), 120_000)
    }
    const nginx = await startNginx(bench.folder, root, bench.workers)
    const contestants = [server, nginx].filter(target => target !== undefined)
    try {
      const samples = await alternate(bench.isQuick ? 3 : 5, contestants, async target => {
        const plan = { method: 'GET', targets, connectionCount: 1, receiveBufferBytes: RECEIVE_BUFFER_BYTES } as const
        await bench.load.prepare(planFor(bench, target, plan))
        const limits = { requestCountMax: readCount, timeMsMax: 60_000 }
        const { result, cpu } = await measureCpu(target, () => bench.load.run(limits))
        if (result.receivedBodyBytes !== result.requestCount * sizeBytes) throw new Error('A body was cut short.')
        return {
          rate: result.receivedBodyBytes / 1e6 / result.seconds,
          CPU: (cpu * GIB) / result.receivedBodyBytes,
          'CPU of client': (result.clientCpuSeconds * GIB) / result.receivedBodyBytes,
        }
      })
      for (const subject of Object.keys(samples)) {
        bench.record({ subject, name: 'rate', unit: 'MB/s', samples: column(samples, subject, 'rate') })
        bench.record({ subject, name: 'CPU', unit: 's/GiB', samples: column(samples, subject, 'CPU') })
        bench.record({
          subject,
          name: 'CPU of client',
          unit: 's/GiB',
          samples: column(samples, subject, 'CPU of client'),
        })
      }
      if (server === undefined || nginx === undefined) return
      bench.record({
        subject: 'server / nginx',
        name: 'rate',
        unit: 'ratio',
        samples: ratios(column(samples, 'server', 'rate'), column(samples, 'nginx', 'rate')),
        goal: { relation: '>=', value: RATE_RATIO_GOAL },
      })
      bench.record({
        subject: 'nginx / server',
        name: 'CPU',
        unit: 'ratio',
        samples: ratios(column(samples, 'nginx', 'CPU'), column(samples, 'server', 'CPU')),
      })
    } finally {
      await nginx?.stop()
    }
  },
}

/** Through the page cache, where nginx then finds it. */
function writeRandomFile(path: string, sizeBytes: number): void {
  mkdirSync(dirname(path), { recursive: true })
  const chunk = randomFillSync(Buffer.alloc(2 ** 20))
  const file = openSync(path, 'w')
  for (let written = 0; written < sizeBytes; written += chunk.length) writeSync(file, chunk)
  closeSync(file)
}
