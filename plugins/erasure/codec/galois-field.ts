/**
 * GF(2⁸) as bytes: addition is exclusive or, multiplication that of polynomials over GF(2) modulo x⁸ + x⁴ + x³ + x² + 1
 * (0x11d), of which x (the byte 2) generates all elements but zero.
 */
const polynomial = 0x11d

/** Powers of 2, twice over, so that a sum of two logarithms needs no reduction. */
const powers = new Uint8Array(510)
const logarithms = new Uint8Array(256)

for (let exponent = 0, value = 1; exponent < 255; exponent++) {
  powers[exponent] = value
  powers[exponent + 255] = value
  logarithms[value] = exponent
  value <<= 1
  if (value > 255) value ^= polynomial
}

export function multiply(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : powers[logarithms[a] + logarithms[b]]
}

/** b must not be zero. */
export function divide(a: number, b: number): number {
  if (b === 0) throw new RangeError('division by zero in GF(256)')
  return a === 0 ? 0 : powers[logarithms[a] + 255 - logarithms[b]]
}
