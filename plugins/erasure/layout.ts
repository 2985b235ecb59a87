/**
 * Where the bytes of a body are in its shards. A body of S bytes is cut into stripes of k units; unit i of a stripe belongs to
 * data shard i. Only the last stripe may be shorter: its R bytes are spread over all k shards in units of ⌈R / k⌉, and the last
 * units are padded with zeros. A shard is the concatenation of its units, and parity shards are as long as data shards.
 *
 * 1. The length of a shard is a function of S, k and the unit; it is the same for all shards of a body.
 * 2. Zeros are added in the last stripe only, fewer than k bytes in all.
 * 3. A byte of a shard is computed from the bytes at the same offset of any k others: to reconstruct a part of a shard, the
 *    same part of k others is read, across stripes.
 *
 * A body that is not longer than a stripe is one stripe, so small bodies, whose shards lie beside records, need no rule of their own.
 * Lengths and offsets are in bytes and exact up to 2^53. The layout does not depend on parity.
 *
 * Never changes: data on drives was written with it. Described for other programs in docs/design/erasure-code.md.
 */

export interface BodyLayout {
  readonly bodyBytes: number
  /** k: 1…16. */
  readonly dataCount: number
  /** Of a full stripe, in each shard. Stored with the set, so that a later default does not move bytes. */
  readonly unitBytes: number
}

/** A part of a body that is contiguous in one data shard. */
export interface BodyPiece {
  readonly shard: number
  readonly shardOffset: number
  readonly bodyOffset: number
  readonly length: number
}

/** Bytes start…end, end excluded. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Unit of new sets. A stripe of 12 + 4 shards takes 1 MiB of memory while it is filled, and four units are a block of a blob that has
 * one checksum.
 */
export const defaultUnitBytes = 64 * 1024

/** Length of each shard of a stripe that holds `stripeBytes` of data. */
export function shardUnitOf(stripeBytes: number, dataCount: number): number {
  return Math.ceil(stripeBytes / dataCount)
}

export function stripeCountOf({ bodyBytes, dataCount, unitBytes }: BodyLayout): number {
  return Math.ceil(bodyBytes / (dataCount * unitBytes))
}

/** Length of every shard, data and parity alike. */
export function shardBytesOf({ bodyBytes, dataCount, unitBytes }: BodyLayout): number {
  const stripeBytes = dataCount * unitBytes
  return Math.floor(bodyBytes / stripeBytes) * unitBytes + shardUnitOf(bodyBytes % stripeBytes, dataCount)
}

/** The piece that begins at this byte of the body and ends with its unit or the body. 0 <= bodyOffset < bodyBytes. */
export function pieceAt({ bodyBytes, dataCount, unitBytes }: BodyLayout, bodyOffset: number): BodyPiece {
  const stripeBytes = dataCount * unitBytes
  const stripe = Math.floor(bodyOffset / stripeBytes)
  const stripeStart = stripe * stripeBytes
  const bytesInStripe = Math.min(stripeBytes, bodyBytes - stripeStart)
  const unit = shardUnitOf(bytesInStripe, dataCount)
  const within = bodyOffset - stripeStart
  const shard = Math.floor(within / unit)
  const start = within - shard * unit
  const length = Math.min(unit - start, bytesInStripe - within)
  return { shard, shardOffset: stripe * unitBytes + start, bodyOffset, length }
}

/** The pieces of start…end in the order of the body. 0 <= start <= end <= bodyBytes. */
export function* piecesOf(layout: BodyLayout, start: number, end: number): Generator<BodyPiece, void, undefined> {
  for (let at = start; at < end; ) {
    const piece = pieceAt(layout, at)
    yield at + piece.length <= end ? piece : { ...piece, length: end - at }
    at += piece.length
  }
}

/**
 * The range of one data shard that holds its bytes of start…end of the body; undefined if it holds none. All of the range belongs to
 * start…end.
 */
export function shardRangeOf(layout: BodyLayout, shard: number, start: number, end: number): ByteRange | undefined {
  if (start >= end) return undefined
  const from = firstAtOrAfter(layout, shard, start)
  const to = firstAtOrAfter(layout, shard, end)
  return from < to ? { start: from, end: to } : undefined
}

/** The smallest range that, read from k shards, is enough to reconstruct start…end of the body when shards are lost. */
export function commonRangeOf(layout: BodyLayout, start: number, end: number): ByteRange | undefined {
  let range: ByteRange | undefined
  for (let shard = 0; shard < layout.dataCount; shard++) {
    const one = shardRangeOf(layout, shard, start, end)
    if (one === undefined) continue
    range = range === undefined ? one : { start: Math.min(range.start, one.start), end: Math.max(range.end, one.end) }
  }
  return range
}

/** Shard offset of the first byte of the shard at or after this byte of the body. */
function firstAtOrAfter({ bodyBytes, dataCount, unitBytes }: BodyLayout, shard: number, bodyOffset: number): number {
  const stripeBytes = dataCount * unitBytes
  const stripe = Math.floor(bodyOffset / stripeBytes)
  const stripeStart = stripe * stripeBytes
  const unit = shardUnitOf(Math.min(stripeBytes, bodyBytes - stripeStart), dataCount)
  const before = Math.min(Math.max(bodyOffset - stripeStart - shard * unit, 0), unit)
  return stripe * unitBytes + before
}
