/**
 * The code: parity shard r is Σ parityCoefficient(r, c) · data shard c. One matrix of 8 × 16 bytes serves every number of data
 * and parity shards; they take its upper left corner. It is a Cauchy matrix, 1 / (x + y) with x = 16 + r and y = c, whose columns
 * and rows are scaled so that the first row and the first column are ones. Each square part of a Cauchy matrix is invertible and
 * scaling keeps that, so any k shards determine all others. The first parity shard is the exclusive or of the data.
 *
 * docs/design/erasure-code.md describes it for other programs. It must never change: what is on drives was made with it.
 */
import { divide, multiply } from './galois-field.ts'

export const shardCountMax = 16
export const parityCountMax = 8

const firstPoint = 16

/** row: 0…7, the parity shard. column: 0…15, the data shard. */
export function parityCoefficient(row: number, column: number): number {
  const point = firstPoint + row
  // Sums in this field are exclusive ors.
  return divide(multiply(firstPoint ^ column, point), multiply(point ^ column, firstPoint))
}

/**
 * The inverse of a square matrix, by rows; the argument is destroyed. A matrix without inverse cannot come from a set of shards:
 * it is a defect of the caller, and throws.
 */
export function invert(matrix: Uint8Array[]): Uint8Array[] {
  const size = matrix.length
  const inverse = matrix.map((_, index) => {
    const row = new Uint8Array(size)
    row[index] = 1
    return row
  })
  for (let column = 0; column < size; column++) {
    const pivot = matrix.findIndex((row, index) => index >= column && row[column] !== 0)
    if (pivot < 0) throw new Error('the matrix has no inverse')
    swap(matrix, pivot, column)
    swap(inverse, pivot, column)
    const factor = divide(1, matrix[column][column])
    scale(matrix[column], factor)
    scale(inverse[column], factor)
    for (let row = 0; row < size; row++) {
      const multiple = matrix[row][column]
      if (row === column || multiple === 0) continue
      addMultiple(matrix[row], matrix[column], multiple)
      addMultiple(inverse[row], inverse[column], multiple)
    }
  }
  return inverse
}

function swap(rows: Uint8Array[], a: number, b: number): void {
  const row = rows[a]
  rows[a] = rows[b]
  rows[b] = row
}

function scale(row: Uint8Array, factor: number): void {
  for (let index = 0; index < row.length; index++) row[index] = multiply(row[index], factor)
}

/** target += factor · source */
export function addMultiple(target: Uint8Array, source: Uint8Array, factor: number): void {
  for (let index = 0; index < target.length; index++) target[index] ^= multiply(source[index], factor)
}

/**
 * How to compute shards from k others: for each wanted shard a row with one coefficient for each used one, in their order.
 * Shards are numbered 0…k-1 (data) and k… (parity). `used` has k of them, the data shards first, ascending; none of `wanted` is
 * in it.
 */
export function reconstructionRows(
  dataCount: number,
  used: readonly number[],
  wanted: readonly number[],
): Uint8Array[] {
  const lost: number[] = []
  for (let shard = 0; shard < dataCount; shard++) if (!used.includes(shard)) lost.push(shard)
  const haveCount = dataCount - lost.length
  const parities = used.slice(haveCount)
  // Of each used parity shard: what it says about the lost data shards is what is left of it without the data that we have.
  const inverse = invert(
    parities.map(parity => Uint8Array.from(lost, shard => parityCoefficient(parity - dataCount, shard))),
  )
  const remainders = parities.map((parity, index) => {
    const row = new Uint8Array(dataCount)
    for (let have = 0; have < haveCount; have++) row[have] = parityCoefficient(parity - dataCount, used[have])
    row[haveCount + index] = 1
    return row
  })
  const lostRows = inverse.map(coefficients => {
    const row = new Uint8Array(dataCount)
    for (const [index, coefficient] of coefficients.entries()) addMultiple(row, remainders[index], coefficient)
    return row
  })
  return wanted.map(shard => {
    if (shard < dataCount) return lostRows[lost.indexOf(shard)]
    const row = new Uint8Array(dataCount)
    for (let have = 0; have < haveCount; have++) row[have] = parityCoefficient(shard - dataCount, used[have])
    for (const [index, data] of lost.entries())
      addMultiple(row, lostRows[index], parityCoefficient(shard - dataCount, data))
    return row
  })
}
