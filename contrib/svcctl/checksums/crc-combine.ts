/**
 * The CRC of a concatenation from the CRCs of its two pieces. With a start value and a final inversion of all ones,
 * crc(A‖B) = crc(A)·x^(8·|B|) mod P + crc(B) over GF(2).
 *
 * Values are bit-reflected: the highest bit is the coefficient of x^0. Source: M. Adler's description of `crc32_combine`.
 */

interface Polynomial {
  readonly bits: 32n | 64n
  /** Reflected, without the leading term. */
  readonly value: bigint
  /** Powers of x that were needed so far. */
  readonly powers: bigint[]
}

const polynomials = {
  CRC32: { bits: 32n, value: 0xedb88320n, powers: [] },
  CRC32C: { bits: 32n, value: 0x82f63b78n, powers: [] },
  CRC64NVME: { bits: 64n, value: 0x9a6c9329ac4bc9b5n, powers: [] },
} as const satisfies Record<string, Polynomial>

export type CombiningAlgorithm = keyof typeof polynomials

export const isCombining = (algorithm: string): algorithm is CombiningAlgorithm => Object.hasOwn(polynomials, algorithm)

/** `a` and `b` are the big-endian digests of A and B; `sizeOfB` is in bytes, an integer from 0 to 2^53 - 1. */
export function combineCrc(algorithm: CombiningAlgorithm, a: Buffer, b: Buffer, sizeOfB: number): Buffer {
  const polynomial = polynomials[algorithm]
  const digestBytes = Number(polynomial.bits) / 8
  if (a.length !== digestBytes || b.length !== digestBytes)
    throw new RangeError(`digests must have ${digestBytes} bytes`)
  if (!Number.isSafeInteger(sizeOfB) || sizeOfB < 0) throw new RangeError('size must be an integer from 0 to 2^53 - 1')
  let value = readBigEndian(a)
  for (let bit = 0, rest = sizeOfB; rest > 0; bit++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) value = multiply(polynomial, value, powerOf(polynomial, bit))
  }
  return writeBigEndian(value ^ readBigEndian(b), digestBytes)
}

/** x^(8·2^bit). */
function powerOf(polynomial: Polynomial, bit: number): bigint {
  const { bits, powers } = polynomial
  if (powers.length === 0) powers.push(1n << (bits - 9n))
  for (let last = powers.length - 1; last < bit; last++) {
    powers.push(multiply(polynomial, powers[last]!, powers[last]!))
  }
  return powers[bit]!
}

/** Modulo the polynomial. */
function multiply({ bits, value: polynomial }: Polynomial, a: bigint, b: bigint): bigint {
  let product = 0n
  let shifted = b
  for (let bit = bits - 1n; bit >= 0n; bit--) {
    if ((a >> bit) & 1n) product ^= shifted
    // Times x: a shift towards the lower bits. The bit that falls out is x^bits, which equals P without its leading term.
    shifted = shifted & 1n ? (shifted >> 1n) ^ polynomial : shifted >> 1n
  }
  return product
}

const readBigEndian = (digest: Buffer): bigint => BigInt(`0x${digest.toString('hex')}`)

const writeBigEndian = (value: bigint, byteCount: number): Buffer =>
  Buffer.from(value.toString(16).padStart(2 * byteCount, '0'), 'hex')
