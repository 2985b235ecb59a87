/** Compares the layout with a model that places byte by byte; reads bodies back through stripes, losses and ranges. */
import fc from 'fast-check'
import t from 'tap'
import { ErasureCode } from '../codec/erasure-code.ts'
import { ShardMemory } from '../codec/shard-memory.ts'
import { StripeBuffer } from '../codec/stripe-buffer.ts'
import {
  type BodyLayout,
  commonRangeOf,
  defaultUnitBytes,
  pieceAt,
  piecesOf,
  shardBytesOf,
  shardRangeOf,
  stripeCountOf,
} from '../layout.ts'

/** The model: shard and offset of each byte of a body, and the length of shards, as the head of layout.ts says. */
function placesOf({ bodyBytes, dataCount, unitBytes }: BodyLayout): { places: [number, number][]; shardBytes: number } {
  const places: [number, number][] = []
  let shardBytes = 0
  for (let start = 0; start < bodyBytes; start += dataCount * unitBytes) {
    const count = Math.min(bodyBytes - start, dataCount * unitBytes)
    let unit = 0
    while (unit * dataCount < count) unit++
    for (let index = 0; index < count; index++) {
      places.push([Math.floor(index / unit), shardBytes + (index % unit)])
    }
    shardBytes += unit
  }
  return { places, shardBytes }
}

const layouts = fc
  .tuple(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 40 }), fc.nat(1500))
  .map(([dataCount, unitBytes, bodyBytes]): BodyLayout => ({ bodyBytes, dataCount, unitBytes }))

t.test('each byte is where the model puts it', t => {
  const property = fc.property(layouts, fc.nat(1500), fc.nat(1500), (layout, a, b) => {
    const { bodyBytes, dataCount } = layout
    const { places, shardBytes } = placesOf(layout)
    if (shardBytesOf(layout) !== shardBytes) throw new Error('length of shards')
    const padding = shardBytes * dataCount - bodyBytes
    if (padding < 0 || (padding >= dataCount && bodyBytes > 0)) throw new Error(`${padding} bytes of padding`)
    const start = Math.min(a, b, bodyBytes)
    const end = Math.min(Math.max(a, b), bodyBytes)
    const seen: [number, number][] = []
    let count = 0
    for (const { shard, shardOffset, bodyOffset, length } of piecesOf(layout, start, end)) {
      if (bodyOffset !== start + seen.length || length < 1) throw new Error('pieces in order')
      for (let index = 0; index < length; index++) seen.push([shard, shardOffset + index])
      count++
    }
    if (JSON.stringify(seen) !== JSON.stringify(places.slice(start, end))) throw new Error('places')
    if (count > stripeCountOf(layout) * dataCount) throw new Error('more pieces than units')
    const wanted = places.slice(start, end)
    let least = Number.POSITIVE_INFINITY
    let most = -1
    for (let shard = 0; shard < dataCount; shard++) {
      const offsets = wanted.filter(place => place[0] === shard).map(place => place[1])
      const range = shardRangeOf(layout, shard, start, end)
      if (offsets.length === 0) {
        if (range !== undefined) throw new Error(`shard ${shard} is read for nothing`)
        continue
      }
      if (range?.start !== Math.min(...offsets) || range.end !== Math.max(...offsets) + 1) throw new Error('range')
      if (range.end - range.start !== offsets.length) throw new Error('something in between is not needed')
      least = Math.min(least, range.start)
      most = Math.max(most, range.end)
    }
    const common = commonRangeOf(layout, start, end)
    if (most < 0 ? common !== undefined : common?.start !== least || common.end !== most)
      throw new Error('common range')
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 1500 }))
  t.end()
})

t.test('lengths are exact beyond 32 bits', t => {
  const property = fc.property(
    fc.integer({ min: 1, max: 16 }),
    fc.integer({ min: 0, max: 50 * 2 ** 40 }),
    (dataCount, bodyBytes) => {
      const layout = { bodyBytes, dataCount, unitBytes: defaultUnitBytes }
      const stripe = BigInt(dataCount * defaultUnitBytes)
      const rest = BigInt(bodyBytes) % stripe
      const whole = (BigInt(bodyBytes) / stripe) * BigInt(defaultUnitBytes)
      const expected = whole + (rest + BigInt(dataCount) - 1n) / BigInt(dataCount)
      if (BigInt(shardBytesOf(layout)) !== expected) throw new Error('length of shards')
      if (bodyBytes === 0) return
      const { shard, shardOffset, length } = pieceAt(layout, bodyBytes - 1)
      if (length !== 1 || shard >= dataCount || shardOffset >= shardBytesOf(layout)) throw new Error('last byte')
    },
  )
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2000 }))
  t.same(shardBytesOf({ bodyBytes: 0, dataCount: 4, unitBytes: defaultUnitBytes }), 0, 'an empty body')
  t.same(shardBytesOf({ bodyBytes: 1, dataCount: 4, unitBytes: defaultUnitBytes }), 1, 'one byte')
  t.same(shardBytesOf({ bodyBytes: 128 * 1024, dataCount: 4, unitBytes: defaultUnitBytes }), 32 * 1024, 'a small body')
  t.end()
})

t.test('bodies are reconstructed from the remaining shards, whole and in ranges', t => {
  const memory = new ShardMemory(1 << 20)
  const property = fc.property(
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 0, max: 4 }),
    fc.constantFrom(1, 17, 64, 1000, 4096),
    fc.nat(30_000),
    fc.integer({ min: 1, max: 7000 }),
    fc.nat(0xffff),
    fc.nat(30_000),
    fc.nat(30_000),
    (dataCount, parityCount, unitBytes, bodyBytes, chunkBytes, lostWish, a, b) => {
      const code = new ErasureCode(memory, dataCount, parityCount)
      const layout = { bodyBytes, dataCount, unitBytes }
      const body = Buffer.from(Array.from({ length: bodyBytes }, (_, index) => (index * 31 + (index >> 7)) & 0xff))
      const pieces: Buffer[][] = Array.from({ length: code.shardCount }, () => [])
      const stripe = StripeBuffer.create(code, unitBytes)!
      const finish = (): void => {
        for (const [shard, bytes] of stripe.finish().entries()) pieces[shard].push(Buffer.from(bytes))
        stripe.clear()
      }
      let stripeCount = 0
      for (let at = 0; at < bodyBytes; at += chunkBytes) {
        const chunk = body.subarray(at, at + chunkBytes)
        for (let from = 0; from < chunk.length; ) {
          from += stripe.append(chunk, from)
          if (!stripe.isFull) continue
          finish()
          stripeCount++
        }
      }
      if (stripe.filledBytes > 0) {
        finish()
        stripeCount++
      }
      stripe.release()
      if (stripeCount !== stripeCountOf(layout)) throw new Error(`${stripeCount} stripes`)
      const shards = pieces.map(list => Buffer.concat(list))
      if (shards.some(shard => shard.length !== shardBytesOf(layout))) throw new Error('length of shards')
      if (parityCount > 0 && bodyBytes > 0 && !code.verify(shards)) throw new Error('not verified')

      // Loses up to parityCount of the shards in the mask.
      let lost = 0
      for (let shard = 0, count = 0; shard < code.shardCount && count < parityCount; shard++) {
        if ((lostWish >> shard) & 1) {
          lost |= 1 << shard
          shards[shard].fill(0xee)
          count++
        }
      }
      const start = Math.min(a, b, bodyBytes)
      const end = Math.min(Math.max(a, b), bodyBytes)
      const range = commonRangeOf(layout, start, end)
      const all = (1 << code.shardCount) - 1
      if (range !== undefined)
        code.reconstruct(shards, all & ~lost, lost & ((1 << dataCount) - 1), range.start, range.end)
      const read = [...piecesOf(layout, start, end)].map(({ shard, shardOffset, length }) =>
        shards[shard].subarray(shardOffset, shardOffset + length),
      )
      if (!Buffer.concat(read).equals(body.subarray(start, end))) throw new Error('the range differs')
    },
  )
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300 }))
  const code = new ErasureCode(memory, 4, 2)
  const stripes = [StripeBuffer.create(code, 64 * 1024), StripeBuffer.create(code, 64 * 1024)]
  t.ok(stripes.every(stripe => stripe !== undefined))
  t.ok(
    stripes[0]!.finish().every(shard => shard.length === 0),
    'an empty stripe has empty shards',
  )
  t.equal(stripes[0]!.append(Buffer.alloc(300_000, 1)), 4 * 64 * 1024, 'takes as much as fits')
  t.ok(
    stripes[0]!.finish().every(shard => shard.byteOffset % 4096 === 0),
    'shards begin on pages',
  )
  t.equal(StripeBuffer.create(code, 64 * 1024), undefined, 'memory is bounded')
  stripes[0]!.clear()
  stripes[0]!.append(Buffer.from([1, 2, 3, 4, 5]))
  const short = stripes[0]!.finish().map(shard => [...shard])
  t.same(
    short.slice(0, 4),
    [
      [1, 2],
      [3, 4],
      [5, 0],
      [0, 0],
    ],
    'zeros at the end, nothing of the stripe before',
  )
  t.same(short[4], [1 ^ 3 ^ 5, 2 ^ 4], 'and parity of it')
  stripes[0]!.release()
  t.ok(StripeBuffer.create(code, 64 * 1024), 'and comes back')
  t.end()
})
