import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { xxh3, xxh64 } from '@node-rs/xxhash'
import fc from 'fast-check'
import t from 'tap'
import type { Checksum, ChecksumAlgorithm } from '../api.ts'
import { createChecksums } from '../checksums.ts'

const checksums = createChecksums()
await checksums.start()

const digestOf = (algorithm: ChecksumAlgorithm, ...pieces: Uint8Array[]): string => {
  const running = checksums.create(algorithm)
  for (const piece of pieces) running.update(piece)
  return running.digest().toString('hex')
}

/** Check values of the CRC catalogue, RFC 1321, FIPS 180-4 and the xxHash specification. */
const knownAnswers: Record<ChecksumAlgorithm, { empty: string; digits: string }> = {
  CRC32: { empty: '00000000', digits: 'cbf43926' },
  CRC32C: { empty: '00000000', digits: 'e3069283' },
  CRC64NVME: { empty: '0000000000000000', digits: 'ae8b14860a799888' },
  SHA1: { empty: 'da39a3ee5e6b4b0d3255bfef95601890afd80709', digits: 'f7c3bc1d808e04732adf679965ccc34ca7ae3441' },
  SHA256: {
    empty: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    digits: '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225',
  },
  SHA512: {
    empty:
      'cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e',
    digits:
      'd9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274ad27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe85',
  },
  MD5: { empty: 'd41d8cd98f00b204e9800998ecf8427e', digits: '25f9e794323b453885f5181f1b624d0b' },
  XXHASH64: { empty: 'ef46db3751d8e999', digits: '8cb841db40e6ae83' },
  XXHASH3: { empty: '2d06800538d394c2', digits: '72dcb18b67a17dff' },
  XXHASH128: { empty: '99aa06d3014798d86001c324468d497f', digits: '33119477ede5dcd5e9716427681d5860' },
}

t.test('every algorithm gives its published check values', async () => {
  assert.deepEqual(Object.keys(knownAnswers).sort(), [...checksums.algorithms].sort())
  for (const algorithm of checksums.algorithms) {
    const { empty, digits } = knownAnswers[algorithm]
    assert.equal(digestOf(algorithm), empty, `${algorithm} of nothing`)
    assert.equal(digestOf(algorithm, Buffer.from('1234'), Buffer.from('56789')), digits, algorithm)
    assert.equal(checksums.compute(algorithm, Buffer.from('123456789')).toString('hex'), digits, algorithm)
    assert.equal(checksums.size(algorithm), digits.length / 2)
  }
})

/** One bit at a time, straight from the definition; shares nothing with what is tested. */
function referenceCrc(bits: bigint, polynomial: bigint, bytes: Uint8Array): string {
  const ones = (1n << bits) - 1n
  let crc = ones
  for (const byte of bytes) {
    crc ^= BigInt(byte)
    for (let i = 0; i < 8; i++) crc = crc & 1n ? (crc >> 1n) ^ polynomial : crc >> 1n
  }
  return (crc ^ ones).toString(16).padStart(Number(bits / 4n), '0')
}

const references: Record<ChecksumAlgorithm, (bytes: Uint8Array) => string> = {
  CRC32: bytes => referenceCrc(32n, 0xedb88320n, bytes),
  CRC32C: bytes => referenceCrc(32n, 0x82f63b78n, bytes),
  CRC64NVME: bytes => referenceCrc(64n, 0x9a6c9329ac4bc9b5n, bytes),
  SHA1: bytes => createHash('sha1').update(bytes).digest('hex'),
  SHA256: bytes => createHash('sha256').update(bytes).digest('hex'),
  SHA512: bytes => createHash('sha512').update(bytes).digest('hex'),
  MD5: bytes => createHash('md5').update(bytes).digest('hex'),
  XXHASH64: bytes => xxh64(bytes).toString(16).padStart(16, '0'),
  XXHASH3: bytes => xxh3.xxh64(bytes).toString(16).padStart(16, '0'),
  XXHASH128: bytes => xxh3.xxh128(bytes).toString(16).padStart(32, '0'),
}

t.test('any pieces give the digest of the whole, equal to an independent implementation', async () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 6 }), pieces => {
      const whole = Buffer.concat(pieces)
      for (const algorithm of checksums.algorithms) {
        const expected = references[algorithm](whole)
        assert.equal(digestOf(algorithm, ...pieces), expected, algorithm)
        assert.equal(checksums.compute(algorithm, whole).toString('hex'), expected, algorithm)
      }
    }),
    { numRuns: 60 },
  )
  // Longer than the window that WebAssembly hashers read through (16 KiB).
  const long = Buffer.alloc(50_001, 'svc')
  for (const algorithm of ['XXHASH64', 'XXHASH3', 'XXHASH128'] as const) {
    assert.equal(digestOf(algorithm, long.subarray(0, 16_385), long.subarray(16_385)), references[algorithm](long))
  }
})

t.test('computations that run at the same time do not disturb each other, finished or abandoned', async () => {
  const step = fc.record({
    which: fc.nat({ max: 4 }),
    bytes: fc.uint8Array({ maxLength: 300 }),
    oneShot: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat({ max: 4 }), (steps, abandoned) => {
      for (const algorithm of ['CRC64NVME', 'XXHASH64', 'XXHASH3', 'XXHASH128', 'CRC32C'] as const) {
        const running: Checksum[] = Array.from({ length: 5 }, () => checksums.create(algorithm))
        const seen: Buffer[] = Array.from({ length: 5 }, () => Buffer.alloc(0))
        for (const { which, bytes, oneShot } of steps) {
          running[which]!.update(bytes)
          seen[which] = Buffer.concat([seen[which]!, bytes])
          if (oneShot) assert.equal(checksums.compute(algorithm, bytes).toString('hex'), references[algorithm](bytes))
        }
        for (let i = 0; i < running.length; i++) {
          if (i === abandoned) continue
          assert.equal(running[i]!.digest().toString('hex'), references[algorithm](seen[i]!), algorithm)
        }
      }
    }),
    { numRuns: 60 },
  )
})

t.test('a computation ends with its digest', async () => {
  for (const algorithm of ['CRC64NVME', 'XXHASH3', 'SHA256'] as const) {
    const running = checksums.create(algorithm)
    running.digest()
    assert.throws(() => running.update(Buffer.from('more')))
  }
})

t.test('combining the checksums of two pieces gives that of their concatenation', async () => {
  const piece = fc.uint8Array({ maxLength: 5000 })
  fc.assert(
    fc.property(piece, piece, piece, (a, b, c) => {
      for (const algorithm of ['CRC32', 'CRC32C', 'CRC64NVME'] as const) {
        const [x, y, z] = [a, b, c].map(bytes => checksums.compute(algorithm, bytes)) as [Buffer, Buffer, Buffer]
        const left = checksums.combine(algorithm, checksums.combine(algorithm, x, y, b.length), z, c.length)
        const right = checksums.combine(algorithm, x, checksums.combine(algorithm, y, z, c.length), b.length + c.length)
        const whole = checksums.compute(algorithm, Buffer.concat([a, b, c]))
        assert.deepEqual(left, whole, algorithm)
        assert.deepEqual(right, whole, algorithm)
      }
    }),
    { numRuns: 200 },
  )
})

t.test('combining works beyond 4 GiB, where sizes no longer fit 32 bits', async () => {
  const step = 2 ** 30
  for (const algorithm of ['CRC32', 'CRC32C', 'CRC64NVME'] as const) {
    // Zeros, because they can be had in any size: 4 KiB are computed, 1 GiB is reached by doubling.
    let zeros = checksums.compute(algorithm, Buffer.alloc(4096))
    for (let size = 4096; size < step; size *= 2) zeros = checksums.combine(algorithm, zeros, zeros, size)
    const start = checksums.compute(algorithm, Buffer.from('start'))
    const byte = checksums.compute(algorithm, Buffer.alloc(1))
    let whole = checksums.combine(algorithm, start, byte, 1)
    let tail = byte
    for (let count = 1; count <= 5 * 1024 + 3; count++) {
      whole = checksums.combine(algorithm, whole, zeros, step)
      tail = checksums.combine(algorithm, tail, zeros, step)
      // The same bytes, once in steps below 2^32 and once with one size above it.
      if (count !== 4 && count !== 9 && count !== 5 * 1024 + 3) continue
      assert.deepEqual(checksums.combine(algorithm, start, tail, count * step + 1), whole, `${algorithm} ${count} GiB`)
    }
  }
})

t.test('checksums that cannot be combined are refused', async () => {
  const crc = Buffer.alloc(4)
  assert.throws(() => checksums.combine('SHA256', Buffer.alloc(32), Buffer.alloc(32), 1), RangeError)
  assert.throws(() => checksums.combine('CRC32', crc, Buffer.alloc(8), 1), RangeError)
  for (const size of [-1, 1.5, Number.NaN, 2 ** 53]) {
    assert.throws(() => checksums.combine('CRC32', crc, crc, size), RangeError)
  }
  assert.throws(() => checksums.composite('CRC64NVME', [Buffer.alloc(8)]), RangeError)
})

t.test('a composite checksum is that of the raw digests of the parts', async () => {
  const parts = [Buffer.from('part one'), Buffer.from('part two')]
  for (const algorithm of checksums.algorithms) {
    if (algorithm === 'CRC64NVME') continue
    const digests = parts.map(part => Buffer.from(references[algorithm](part), 'hex'))
    assert.equal(
      checksums.composite(algorithm, digests).toString('hex'),
      references[algorithm](Buffer.concat(digests)),
      algorithm,
    )
  }
})

t.test('headers and multipart types are those of S3', async () => {
  const table = Object.fromEntries(checksums.algorithms.map(a => [checksums.header(a), checksums.types(a)]))
  assert.deepEqual(table, {
    'x-amz-checksum-crc32': ['COMPOSITE', 'FULL_OBJECT'],
    'x-amz-checksum-crc32c': ['COMPOSITE', 'FULL_OBJECT'],
    'x-amz-checksum-crc64nvme': ['FULL_OBJECT'],
    'x-amz-checksum-sha1': ['COMPOSITE'],
    'x-amz-checksum-sha256': ['COMPOSITE'],
    'x-amz-checksum-sha512': ['COMPOSITE'],
    'x-amz-checksum-md5': ['COMPOSITE'],
    'x-amz-checksum-xxhash64': ['COMPOSITE'],
    'x-amz-checksum-xxhash3': ['COMPOSITE'],
    'x-amz-checksum-xxhash128': ['COMPOSITE'],
  })
  for (const algorithm of checksums.algorithms) {
    assert.equal(checksums.fromHeader(checksums.header(algorithm)), algorithm)
  }
  assert.equal(checksums.fromHeader('x-amz-checksum-crc16'), undefined)
  assert.equal(checksums.fromHeader('constructor'), undefined)
})

t.test('algorithms that need WebAssembly refuse to work before the start', async () => {
  const early = createChecksums()
  assert.throws(() => early.create('CRC64NVME'), /have not been started/)
  assert.equal(early.compute('CRC32', Buffer.from('123456789')).toString('hex'), 'cbf43926')
})
