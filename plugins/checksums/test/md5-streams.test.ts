/** MD5 of streams that run at the same time, against `node:crypto`. SEED repeats a run. */
import { createHash, randomInt } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createMd5Streams } from '../md5-streams.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
t.comment(`SEED=${seed}`)
let state = seed
/** A whole number below `max`. */
function below(max: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * max)
}
const bytes = Buffer.alloc(400_000)
for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(below(2 ** 32), at)
const md5 = (piece: Buffer) => createHash('md5').update(piece).digest('hex')

t.test('any size, alone', async t => {
  const streams = createMd5Streams()
  const sizes = [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 131_071, 131_072, 131_073, 131_136, 262_144, 400_000]
  for (const size of sizes) {
    const stream = streams.create()
    await stream.update(bytes.subarray(0, size))
    t.equal((await stream.digest()).toString('hex'), md5(bytes.subarray(0, size)), `${size} bytes`)
    await t.rejects(stream.digest(), /already/)
  }
})

t.test('any sizes at the same time, in any pieces', async t => {
  const streams = createMd5Streams()
  let [ended, mistakes] = [0, 0]
  /** One stream after the other, until there were enough. */
  const client = async (until: number) => {
    while (ended < until) {
      const stream = streams.create()
      const wanted = createHash('md5')
      let left = [below(200), below(20_000), below(2_000_000), 64 * below(6000)][below(4)]!
      let isGivenUp = false
      while (left > 0 && !isGivenUp) {
        const length = Math.min(left, [1 + below(70), 65_536, 1 + below(300_000)][below(3)]!)
        const start = below(bytes.length - length)
        const piece = bytes.subarray(start, start + length)
        const computed = stream.update(piece)
        wanted.update(piece)
        left -= length
        // Also while it waits, as where the client has gone.
        isGivenUp = below(100) === 0
        if (isGivenUp) stream.release()
        await computed
        if (below(4) === 0) await setImmediate()
      }
      if (!isGivenUp && (await stream.digest()).toString('hex') !== wanted.digest('hex')) mistakes++
      stream.release()
      ended++
    }
  }
  // More than there is room for, then fewer and fewer.
  for (const [round, count] of [40, 8, 3, 1].entries()) {
    await Promise.all(Array.from({ length: count }, () => client(150 * (round + 1))))
  }
  t.equal(mistakes, 0, `SEED=${seed}`)
  t.ok(ended >= 600, `${ended} streams`)
})

t.test('a stream that is aborted while its digest is computed rejects', async t => {
  const streams = createMd5Streams()
  const [one, other] = [streams.create(), streams.create()]
  one.update(bytes.subarray(0, 1000))
  const digest = one.digest()
  one.release()
  await t.rejects(digest, /given up/)
  other.update(bytes.subarray(0, 1000))
  t.equal((await other.digest()).toString('hex'), md5(bytes.subarray(0, 1000)))
})

t.test('the first of several streams waits for the others, one that stays alone does so once', async t => {
  const streams = createMd5Streams()
  const piece = bytes.subarray(0, 300_000)
  const first = streams.create()
  const waits = first.update(piece)
  t.ok(waits instanceof Promise, 'others may begin in this turn')
  await waits
  t.equal(first.update(piece), undefined, 'nobody did')
  t.equal((await first.digest()).toString('hex'), md5(Buffer.concat([piece, piece])))

  const both = [streams.create(), streams.create()]
  await Promise.all(both.map(stream => stream.update(piece)))
  const again = both.map(stream => stream.update(piece))
  t.ok(
    again.every(wait => wait instanceof Promise),
    'two are computed together to their end',
  )
  await Promise.all(again)
  for (const stream of both) t.equal((await stream.digest()).toString('hex'), md5(Buffer.concat([piece, piece])))
})
