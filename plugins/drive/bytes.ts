/** A key as the key of a JavaScript map: Latin-1, one character per byte, so that string order equals byte order. */

export function keyText(key: Uint8Array): string {
  return Buffer.isBuffer(key)
    ? key.latin1Slice(0, key.length)
    : Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}

export function keyBytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Counters are stored as little-endian doubles, exact within ±2^53. */
export function encodeCounter(sums: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(sums.length * 8)
  for (let i = 0; i < sums.length; i++) bytes.writeDoubleLE(sums[i]!, i * 8)
  return bytes
}

export function decodeCounter(bytes: Buffer): number[] {
  const sums: number[] = new Array(bytes.length >>> 3)
  for (let i = 0; i < sums.length; i++) sums[i] = bytes.readDoubleLE(i * 8)
  return sums
}

export function addSums(left: readonly number[], right: readonly number[]): number[] {
  const [long, short] = left.length >= right.length ? [left, right] : [right, left]
  const sums = long.slice()
  for (let i = 0; i < short.length; i++) sums[i]! += short[i]!
  return sums
}
