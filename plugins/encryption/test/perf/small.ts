/**
 * CPU time that encryption adds to one object of 4 KiB, in process and without a drive: `node --conditions=svc-src
 * plugins/encryption/test/perf/small.ts [count]`. Prints the median of several rounds.
 */
import { createSecretKey, randomBytes } from 'node:crypto'
import type { EncryptionRequest, ObjectData } from 'svc/plugins/objects/api'
import { startServer } from 'svc/plugins/s3/testing'
import { createSystemPorts } from 'svc/testing'
import { createDataKeys } from '../../data-keys.ts'
import { createTransform } from '../../transform.ts'

const count = Number(process.argv[2] ?? 20_000)
const roundCount = 7
const secretKey = `bench:${randomBytes(32).toString('base64')}`
const server = await startServer({ config: { kms: { secretKey } } })
const { random } = createSystemPorts()
const { kms } = server.kernel.services
const transform = createTransform(createDataKeys(kms, random), random, (_, requested) => requested)
const bytes = randomBytes(4096)
const place = { bucket: 'bench', key: 'dir-001/object-000000001' }

/** Everything here answers without a promise; work behind a promise would not be measured. */
function now<T>(value: T | Promise<T>): T {
  if (value instanceof Promise) throw new Error('a promise')
  return value
}

function measure(name: string, run: () => void): void {
  const rounds: number[] = []
  for (let round = 0; round <= roundCount; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < count; i++) run()
    const { user, system } = process.cpuUsage(before)
    if (round > 0) rounds.push((user + system) / count)
  }
  rounds.sort((a, b) => a - b)
  console.log(`${name.padEnd(16)} ${rounds[roundCount >> 1]!.toFixed(1)} µs of CPU`)
}

const customerKey = createSecretKey(randomBytes(32))
const requests: EncryptionRequest[] = [
  { type: 'SSE-S3' },
  { type: 'SSE-KMS', context: { team: 'x' } },
  { type: 'SSE-C', customerKey },
]
for (const requested of requests) {
  const write = () => {
    const transformed = now(transform.begin(place, requested))!
    const stored = transformed.whole(bytes)
    transformed.close()
    return { encryption: transformed.encryption, stored }
  }
  measure(`${requested.type} write`, write)
  const { encryption, stored } = write()
  const version = { ...place, sizeBytes: bytes.length, parts: [], encryption }
  const usedKey = requested.type === 'SSE-C' ? customerKey : undefined
  const from = (): ObjectData => ({ kind: 'whole', bytes: stored })
  measure(`${requested.type} read`, () => now(transform.read(version, 0, bytes.length, usedKey, from)))
}
await server.stop()
