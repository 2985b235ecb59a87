import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { createCRC64 } from 'hash-wasm'
import t from 'tap'
import { createCrc64Nvme } from '../crc64-nvme.ts'

const program = new URL('../crc64-nvme.wat.mjs', import.meta.url)
const { distances }: { readonly distances: readonly number[] } = await import(program.href)

const crc64 = createCrc64Nvme()
const other = await createCRC64('9a6c9329ac4bc9b5')
const source = randomBytes(300_000)

const expected = (bytes: Uint8Array): string => other.init().update(bytes).digest()
const whole = (bytes: Uint8Array): string => crc64.compute(bytes).toString('hex')

t.test('the multiple with nine terms is one of the polynomial', async () => {
  // x^(-8·d) modulo P, the highest bit being x^0: a step towards it divides by x.
  const powers: bigint[] = [1n << 63n]
  for (let bits = 1; bits <= 8 * Math.max(...distances); bits++) {
    const power = powers.at(-1)!
    powers.push(power >> 63n ? ((power ^ 0x9a6c9329ac4bc9b5n) << 1n) | 1n : power << 1n)
  }
  const sum = distances.reduce((total, distance) => total ^ powers[8 * distance]!, powers[0]!)
  assert.equal(sum, 0n)
})

t.test(
  'every size from nothing to beyond where the tables alone are used is as another implementation has it',
  async () => {
    for (let size = 0; size <= 2500; size++) {
      const bytes = source.subarray(size, 2 * size)
      assert.equal(whole(bytes), expected(bytes), `${size} bytes`)
    }
    // Around the window.
    for (const size of [65_535, 65_536, 65_537, 131_071, 131_072, 131_073, 300_000]) {
      assert.equal(whole(source.subarray(0, size)), expected(source.subarray(0, size)), `${size} bytes`)
    }
  },
)

t.test('any pieces of any size give the digest of the whole, also of several at a time', async () => {
  const piece = fc.record({ at: fc.nat(200_000), sizeBytes: fc.oneof(fc.nat(100), fc.nat(5000), fc.nat(100_000)) })
  const pieces = fc.array(piece, { maxLength: 6 })
  fc.assert(
    fc.property(pieces, pieces, (...streams) => {
      const running = streams.map(() => crc64.create())
      for (let step = 0; step < 6; step++) {
        for (const [index, stream] of streams.entries()) {
          const next = stream[step]
          if (next !== undefined) running[index]!.update(source.subarray(next.at, next.at + next.sizeBytes))
        }
      }
      for (const [index, stream] of streams.entries()) {
        const bytes = Buffer.concat(stream.map(({ at, sizeBytes }) => source.subarray(at, at + sizeBytes)))
        assert.equal(running[index]!.digest().toString('hex'), expected(bytes))
      }
    }),
    { numRuns: 200 },
  )
})

t.test('bytes that are computed stay as they were', async () => {
  const bytes = Buffer.from(source.subarray(0, 100_000))
  crc64.compute(bytes)
  assert.ok(bytes.equals(source.subarray(0, 100_000)))
})
