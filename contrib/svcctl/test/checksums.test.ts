/** Digests against those of Node.js and of the server, whose code svcctl does not load. */
import { hash, randomBytes } from 'node:crypto'
import { createChecksums } from 'svc/plugins/checksums/api'
import t from 'tap'
import {
  type ChecksumAlgorithm,
  combineChecksums,
  computeChecksum,
  createChecksum,
  loadChecksum,
} from '../checksums/checksums.ts'

const server = createChecksums()
await server.start()
for (const algorithm of server.algorithms) await loadChecksum(algorithm)

/** Of the nine digits `123456789`. */
const checkValues: Partial<Record<ChecksumAlgorithm, string>> = {
  CRC32: 'cbf43926',
  CRC32C: 'e3069283',
  CRC64NVME: 'ae8b14860a799888',
  MD5: hash('md5', '123456789'),
  SHA256: hash('sha256', '123456789'),
}

t.test('each algorithm has the digests of the server', t => {
  for (const algorithm of server.algorithms) {
    const known = checkValues[algorithm]
    if (known !== undefined) t.equal(computeChecksum(algorithm, Buffer.from('123456789')).toString('hex'), known)
    for (const size of [0, 1, 15, 4096, 300_001]) {
      const bytes = randomBytes(size)
      t.same(computeChecksum(algorithm, bytes), server.compute(algorithm, bytes), `${algorithm} of ${size} bytes`)
    }
  }
  t.end()
})

t.test('computations of one algorithm may take turns', t => {
  for (const algorithm of server.algorithms) {
    const pieces = [randomBytes(70_000), randomBytes(1), randomBytes(999)]
    const whole = Buffer.concat(pieces)
    const [a, b] = [createChecksum(algorithm), createChecksum(algorithm)]
    for (const piece of pieces) {
      a.update(piece)
      b.update(whole)
    }
    t.same(a.digest(), server.compute(algorithm, whole), algorithm)
    t.same(b.digest(), server.compute(algorithm, Buffer.concat([whole, whole, whole])), algorithm)
  }
  t.end()
})

t.test('the CRC of a whole follows from those of its parts', t => {
  for (const algorithm of ['CRC32', 'CRC32C', 'CRC64NVME'] as const) {
    for (const [sizeOfA, sizeOfB] of [
      [0, 0],
      [5, 0],
      [0, 5],
      [1000, 65_537],
      [3, 1 << 20],
    ] as const) {
      const [a, b] = [randomBytes(sizeOfA), randomBytes(sizeOfB)]
      const combined = combineChecksums(
        algorithm,
        computeChecksum(algorithm, a),
        computeChecksum(algorithm, b),
        sizeOfB,
      )
      t.same(combined, computeChecksum(algorithm, Buffer.concat([a, b])), `${algorithm}: ${sizeOfA} and ${sizeOfB}`)
    }
    const [a, b] = [computeChecksum(algorithm, randomBytes(9)), computeChecksum(algorithm, randomBytes(9))]
    const size = Number.MAX_SAFE_INTEGER
    t.same(combineChecksums(algorithm, a, b, size), server.combine(algorithm, a, b, size))
    t.throws(() => combineChecksums(algorithm, a, b, -1), RangeError)
    t.throws(() => combineChecksums(algorithm, a.subarray(1), b, 1), RangeError)
  }
  t.throws(() => combineChecksums('MD5', Buffer.alloc(16), Buffer.alloc(16), 1), /cannot be computed from its parts/)
  t.end()
})
