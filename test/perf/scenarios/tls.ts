/** GET and PUT of 4 KiB with 64 clients over TLS, with HTTP/1.1 and with HTTP/2, against plain HTTP/1.1. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Bench, measureRequests, planFor, ratios, type Sample, type Scenario, sendAll, warmUp } from '../bench.ts'
import { createBucket } from '../control.ts'
import type { Protocol } from '../load-plan.ts'
import type { ServerTarget } from '../targets.ts'

const BUCKET = 'bench'
const SIZE_BYTES = 4096
const CONNECTION_COUNT = 64
const OBJECT_COUNT = 256
const WARM_UP_MS = 4000
const TIME_MS_MAX = 120_000
const TARGETS = { bucket: BUCKET, first: 0, count: OBJECT_COUNT }
const PLAIN = 'plain HTTP/1.1'

interface Contestant {
  readonly name: string
  readonly server: ServerTarget
  readonly protocol: Protocol
}

export const tls: Scenario = {
  name: 'tls',
  summary: 'GET and PUT of 4 KiB, 64 clients, over TLS with HTTP/1.1 and HTTP/2, against plain HTTP',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return bench.say('nothing to compare with: left out')
    const plain = await bench.start({ folder: join(bench.folder, 'plain') })
    await createBucket(plain, BUCKET)
    const encrypted = await startWithTls(bench)
    const contestants: readonly Contestant[] = [
      { name: PLAIN, server: plain, protocol: 'http' },
      { name: 'TLS, HTTP/1.1', server: encrypted, protocol: 'https' },
      { name: 'TLS, HTTP/2', server: encrypted, protocol: 'h2' },
    ]
    for (const { server, protocol } of contestants.slice(0, 2)) {
      const plan = { method: 'PUT', targets: TARGETS, connectionCount: CONNECTION_COUNT, protocol } as const
      await sendAll(bench, planFor(bench, server, { ...plan, bodySizeBytes: SIZE_BYTES }), TIME_MS_MAX)
    }
    for (const method of ['GET', 'PUT'] as const) await contest(bench, contestants, method)
  },
}

/** The bucket is made before it speaks TLS, by a client that does not. */
async function startWithTls(bench: Bench): Promise<ServerTarget> {
  const folder = join(bench.folder, 'tls')
  const first = await bench.start({ folder })
  await createBucket(first, BUCKET)
  await first.stop()
  const certificates = join(bench.folder, 'certificates')
  mkdirSync(certificates)
  const pair = ['-keyout', join(certificates, 'private.key'), '-out', join(certificates, 'public.crt')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  execFileSync('openssl', ['req', '-x509', ...key, ...pair], { stdio: 'ignore' })
  const { drives, credentials } = first
  return bench.start({ folder, drives, credentials, isRestart: true, environment: { SVC_CERTS_DIR: certificates } })
}

async function contest(bench: Bench, contestants: readonly Contestant[], method: 'GET' | 'PUT'): Promise<void> {
  bench.say(`${method} of 4 KiB`)
  const samples = contestants.map((): Sample[] => [])
  for (let round = warmUp; round < (bench.isQuick ? 3 : 7); round++) {
    for (const [index, { server, protocol }] of contestants.entries()) {
      const bodySizeBytes = method === 'PUT' ? SIZE_BYTES : 0
      const plan = { method, targets: TARGETS, connectionCount: CONNECTION_COUNT, protocol, bodySizeBytes }
      await bench.load.prepare(planFor(bench, server, plan))
      const timeMsMax = round === warmUp ? WARM_UP_MS : bench.isQuick ? 1500 : 3000
      const sample = await measureRequests(bench, server, { requestCountMax: 1_000_000, timeMsMax })
      if (round !== warmUp) samples[index].push(sample)
    }
  }
  for (const [index, { name }] of contestants.entries()) {
    for (const [quantity, unit] of [
      ['rate', 'requests/s'],
      ['CPU', 'µs/request'],
      ['CPU of client', 'µs/request'],
      ['p50', 'ms'],
      ['p99', 'ms'],
    ] as const) {
      const [own, ofPlain] = [samples[index], samples[0]].map(rounds => rounds.map(sample => sample[quantity]))
      const label = `${method} of 4 KiB: ${quantity}`
      bench.record({ subject: name, name: label, unit, samples: own })
      if (name !== PLAIN)
        bench.record({ subject: `${name} / plain`, name: label, unit: 'ratio', samples: ratios(own, ofPlain) })
    }
  }
}
