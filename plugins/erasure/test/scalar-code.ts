/** The code in its plainest form, to compare with: no tables, no matrices of others, one byte at a time. */

export function times(a: number, b: number): number {
  let product = 0
  let multiple = a
  for (let rest = b; rest > 0; rest >>= 1) {
    if (rest & 1) product ^= multiple
    multiple <<= 1
    if (multiple & 0x100) multiple ^= 0x11d
  }
  return product
}

function inverseOf(a: number): number {
  for (let b = 1; b < 256; b++) if (times(a, b) === 1) return b
  throw new Error(`${a} has no inverse`)
}

const cauchy = (row: number, column: number): number => inverseOf((16 + row) ^ column)

export function coefficient(row: number, column: number): number {
  const scaled = times(cauchy(row, column), cauchy(0, 0))
  return times(scaled, inverseOf(times(cauchy(0, column), cauchy(row, 0))))
}

const products = new Map<number, Uint8Array>()

/** All multiples of a factor; only so that the tests do not take an hour. */
function multiplesOf(factor: number): Uint8Array {
  let multiples = products.get(factor)
  if (multiples === undefined) {
    multiples = Uint8Array.from({ length: 256 }, (_, value) => times(factor, value))
    products.set(factor, multiples)
  }
  return multiples
}

const coefficients = Array.from({ length: 8 }, (_, row) =>
  Array.from({ length: 16 }, (_, column) => coefficient(row, column)),
)

export function parityOf(row: number, data: readonly Uint8Array[]): Uint8Array {
  const parity = new Uint8Array(data[0].length)
  for (const [column, shard] of data.entries()) {
    const multiples = multiplesOf(coefficients[row][column])
    for (let index = 0; index < parity.length; index++) parity[index] ^= multiples[shard[index]]
  }
  return parity
}
