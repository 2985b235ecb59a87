/**
 * The CRC of a concatenation from the CRCs of its pieces. With the usual start value and final inversion of all ones,
 * crc(A‖B) = crc(A)·x^(8·|B|) mod P + crc(B), all over GF(2). The power of x is the product of x^(8·2^k) over the bits k of
 * |B|; those 53 powers are computed once per polynomial, so that combining costs at most 53 multiplications.
 *
 * Values are bit-reflected, as these CRCs keep them: the highest bit is the coefficient of x^0. 64-bit values are pairs of
 * unsigned 32-bit halves. Source: M. Adler's description of `crc32_combine`; the arithmetic here follows the definition.
 */

/** Sizes are integers up to 2^53 - 1. */
const sizeBits = 53

interface Polynomial {
  /** Reflected, without the leading term; for 32 bits all in `high`. */
  readonly high: number
  readonly low: number
  readonly bits: 32 | 64
  /** Entry k: x^(8·2^k) mod P, at 2k (high half) and 2k+1 (low half). */
  readonly powers: Uint32Array
}

/** Result of the last multiplication: high and low half. Module scope spares an allocation per multiplication. */
const product = new Uint32Array(2)

function multiply(p: Polynomial, aHigh: number, aLow: number, bHigh: number, bLow: number): void {
  let high = 0
  let low = 0
  let shiftedHigh = bHigh
  let shiftedLow = bLow
  for (let bit = 0; bit < p.bits; bit++) {
    const half = bit < 32 ? aHigh : aLow
    if ((half >>> (31 - (bit & 31))) & 1) {
      high ^= shiftedHigh
      low ^= shiftedLow
    }
    // Times x: towards the lower bits; what falls out of the end is x^bits, which is P without its leading term.
    const out = p.bits === 32 ? shiftedHigh & 1 : shiftedLow & 1
    if (p.bits === 64) shiftedLow = (shiftedLow >>> 1) | (shiftedHigh << 31)
    shiftedHigh >>>= 1
    if (out) {
      shiftedHigh ^= p.high
      shiftedLow ^= p.low
    }
  }
  product[0] = high
  product[1] = low
}

function polynomial(bits: 32 | 64, high: number, low: number): Polynomial {
  const p: Polynomial = { bits, high, low, powers: new Uint32Array(2 * sizeBits) }
  // x^8 in reflected form, then square again and again.
  let powerHigh = 0x80000000 >>> 8
  let powerLow = 0
  for (let k = 0; k < sizeBits; k++) {
    p.powers[2 * k] = powerHigh
    p.powers[2 * k + 1] = powerLow
    multiply(p, powerHigh, powerLow, powerHigh, powerLow)
    powerHigh = product[0]!
    powerLow = product[1]!
  }
  return p
}

export const combinePolynomials = {
  CRC32: polynomial(32, 0xedb88320, 0),
  CRC32C: polynomial(32, 0x82f63b78, 0),
  CRC64NVME: polynomial(64, 0x9a6c9329, 0xac4bc9b5),
} as const

/** `a` and `b` are big-endian digests of A and B; `sizeOfB` is in bytes, an integer from 0 to 2^53 - 1. */
export function combineCrc(p: Polynomial, a: Buffer, b: Buffer, sizeOfB: number): Buffer {
  const sizeBytes = p.bits / 8
  if (a.length !== sizeBytes || b.length !== sizeBytes) throw new RangeError(`digests must have ${sizeBytes} bytes`)
  if (!Number.isSafeInteger(sizeOfB) || sizeOfB < 0) throw new RangeError('size must be an integer from 0 to 2^53 - 1')
  let high = a.readUInt32BE(0)
  let low = p.bits === 64 ? a.readUInt32BE(4) : 0
  let rest = sizeOfB
  for (let k = 0; rest > 0; k++) {
    if (rest % 2 === 1) {
      multiply(p, high, low, p.powers[2 * k]!, p.powers[2 * k + 1]!)
      high = product[0]!
      low = product[1]!
    }
    rest = Math.floor(rest / 2)
  }
  const combined = Buffer.allocUnsafe(sizeBytes)
  combined.writeUInt32BE((high ^ b.readUInt32BE(0)) >>> 0, 0)
  if (p.bits === 64) combined.writeUInt32BE((low ^ b.readUInt32BE(4)) >>> 0, 4)
  return combined
}
