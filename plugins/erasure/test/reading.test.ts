/** Memory of what is read is used again, and never while anybody still looks at it. */
import type { BlobChunk, BlobReader, Derive } from 'svc/plugins/storage/api'
import { createSeededRandom } from 'svc/testing'
import t from 'tap'
import { WindowPool, windowPool } from '../window-pool.ts'
import { newFolders, openTestSet } from './fixtures/open-set.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const derive: Derive = () => undefined

t.test('many readers at once, some of which end early, get their own bytes, also without some drives', async t => {
  const seed = Number(process.env.SEED ?? 1 + Math.floor(Math.random() * 2 ** 30))
  t.comment(`seed ${seed}`)
  const random = createSeededRandom(seed)
  const set = await openTestSet(await newFolders(t, 6), { procedures: {}, derive, parityCount: 2 })
  t.teardown(() => set.stop())
  const blobs = await Promise.all(
    [1, 70_000, 262_144, 262_145, 1_500_000, 3_000_001].map(async size => {
      const bytes = random.bytes(size)
      const writer = set.backend.createBlob(size)
      for (let at = 0; at < size; at += 200_000) await writer.write(bytes.subarray(at, at + 200_000))
      return { bytes, ref: await writer.finish() }
    }),
  )
  let wrong = 0
  /** Holds chunks for a while, as a slow client does, and looks at them only then. */
  const read = async (isToEnd: boolean): Promise<void> => {
    const { bytes, ref } = random.pick(blobs)
    const start = random.integer(bytes.length)
    const length = 1 + random.integer(bytes.length - start)
    const reader: BlobReader = set.backend.readBlob(ref, start, length)
    const held: { readonly chunk: BlobChunk; readonly at: number }[] = []
    const look = () => {
      const { chunk, at } = held.shift()!
      if (!chunk.bytes.equals(bytes.subarray(at, at + chunk.bytes.length))) wrong++
      chunk.release()
      // A second time it is nobody's business any more.
      chunk.release()
    }
    let at = start
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) {
      held.push({ chunk, at })
      at += chunk.bytes.length
      if (held.length > 2) look()
      if (!isToEnd && random.float() < 0.3) break
    }
    if (isToEnd && at !== start + length) wrong++
    // What was given out is valid after the end, too.
    reader.close()
    while (held.length > 0) look()
  }
  for (const lost of [undefined, 0, 3]) {
    if (lost !== undefined) set.set.onLost(set.set.members[lost]!, new Error('it is lost for this test'))
    for (let round = 0; round < 8; round++) {
      await Promise.all(Array.from({ length: 6 }, (_, i) => read(i % 3 !== 0)))
    }
    t.equal(wrong, 0, `${lost === undefined ? 'all drives' : `without drive ${lost}`}: every byte is right`)
  }
  const { keptBytes } = windowPool
  t.ok(keptBytes > 0, 'memory is kept')
  for (let i = 0; i < 20; i++) await read(true)
  t.equal(windowPool.keptBytes, keptBytes, 'one reader after the other takes what there is, and gives it back')
})

t.test('what is kept is bounded', async t => {
  const pool = new WindowPool(1000)
  const lent = Array.from({ length: 5 }, () => pool.acquire(300))
  for (const buffer of lent) pool.release(buffer)
  t.equal(pool.keptBytes, 900)
  const again = [pool.acquire(300), pool.acquire(300), pool.acquire(300), pool.acquire(300)]
  t.equal(new Set([...again, lent[3], lent[4]]).size, 6, 'none is lent twice, and those beyond the bound are gone')
  t.equal(pool.keptBytes, 0)
})
