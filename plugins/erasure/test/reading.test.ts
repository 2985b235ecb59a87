/** Memory of read windows is reused, and never while a reader still uses it. */
import type { BlobChunk, BlobReader, BlobRef, Derive } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { createSeededRandom } from 'svc/testing'
import t from 'tap'
import { SetBlobReader } from '../blob-reading.ts'
import { readShards } from '../body-reading.ts'
import { Codes } from '../codec/codes.ts'
import { ShardMemory } from '../codec/shard-memory.ts'
import { encodeRecord, plainHead } from '../set-record.ts'
import type { SetView } from '../set-view.ts'
import { WindowPool, windowPool } from '../window-pool.ts'
import { newFolders, openTestSet } from './fixtures/open-set.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const derive: Derive = () => undefined
/** Joins nothing. */
const lengthOf = (chunk: BlobChunk) => chunk.pieces?.reduce((sum, piece) => sum + piece.length, 0) ?? chunk.bytes.length

t.test('concurrent readers get their own bytes, even if some end early or drives are offline', async t => {
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
  let scattered = 0
  /** Holds chunks for a while, as a slow client does, and looks at them only then. */
  const read = async (isToEnd: boolean): Promise<void> => {
    const { bytes, ref } = random.pick(blobs)
    const start = random.integer(bytes.length)
    const length = 1 + random.integer(bytes.length - start)
    const reader: BlobReader = set.backend.readBlob(ref, start, length)
    const held: { readonly chunk: BlobChunk; readonly at: number }[] = []
    const look = () => {
      const { chunk, at } = held.shift()!
      const length = lengthOf(chunk)
      const expected = bytes.subarray(at, at + length)
      if (chunk.pieces !== undefined && !Buffer.concat(chunk.pieces).equals(expected)) wrong++
      // Joined only now.
      if (random.float() < 0.5 && !chunk.bytes.equals(expected)) wrong++
      chunk.release()
      // Releasing a second time has no effect.
      chunk.release()
    }
    let at = start
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) {
      held.push({ chunk, at })
      at += lengthOf(chunk)
      scattered += chunk.pieces === undefined || chunk.pieces.length === 1 ? 0 : 1
      if (held.length > 2) look()
      if (!isToEnd && random.float() < 0.3) break
    }
    if (isToEnd && at !== start + length) wrong++
    // Chunks stay valid after the end of the reader.
    reader.close()
    while (held.length > 0) look()
  }
  for (const lost of [undefined, 0, 3]) {
    if (lost !== undefined) set.set.onLost(set.set.members[lost]!, new Error('it is lost for this test'))
    for (let round = 0; round < 8; round++) {
      await Promise.all(Array.from({ length: 6 }, (_, i) => read(i % 3 !== 0)))
    }
    t.equal(windowPool.lentBytes, 0, 'all memory is returned, also by readers that ended early')
    if (lost === undefined) t.ok(scattered > 0, 'units are given away where they lie')
    t.equal(wrong, 0, `${lost === undefined ? 'all drives' : `without drive ${lost}`}: every byte is right`)
  }
  // Buffers are reused by their length, and the length follows from what is read: the same reads again need no other buffers.
  const readWhole = async () => {
    for (const { bytes, ref } of blobs) {
      const reader = set.backend.readBlob(ref, 0, bytes.length)
      for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) chunk.release()
      reader.close()
    }
  }
  await readWhole()
  const { keptBytes } = windowPool
  t.ok(keptBytes > 0, 'memory is kept')
  for (let i = 0; i < 5; i++) await readWhole()
  t.equal(windowPool.keptBytes, keptBytes, 'consecutive readers reuse the same memory')
})

t.test('a reader that is closed at any moment gives its memory back', async t => {
  const [dataCount, unitBytes] = [2, 64 * 1024]
  const codes = new Codes(new ShardMemory(0), dataCount + 1)
  const size = 3 * dataCount * unitBytes
  const bytes = Buffer.alloc(size / dataCount, 7)
  let heldOfDrives = 0
  /** Drives that answer at once: what happens between two answers is a matter of microtasks alone. */
  const drive = {
    readBlob: (_ref: BlobRef, start: number, length: number) => {
      let isOver = false
      return {
        async next() {
          if (isOver) return undefined
          isOver = true
          heldOfDrives++
          const release = () => heldOfDrives--
          return { bytes: bytes.subarray(start, start + length), release }
        },
        close() {},
      }
    },
  }
  let offline: number | undefined
  const view = {
    dataCount,
    unitBytes,
    parityCount: 1,
    slotCount: dataCount + 1,
    codeOf: (parityCount: number) => codes.of(parityCount),
    driveAt: (slot: number) => (slot === offline ? undefined : drive),
    ready: () => undefined,
  } as unknown as SetView
  const before = windowPool.lentBytes
  const reader = () => new SetBlobReader(view, { id: '0'.repeat(26), size, check: 2 }, 0, size)
  for (const without of [undefined, 0]) {
    offline = without
    let wasRead = false
    for (let turns = 0; turns < 60; turns++) {
      const one = reader()
      const outcome = one.next()
      for (let turn = 0; turn < turns; turn++) await undefined
      one.close()
      const chunk = await outcome
      wasRead ||= chunk !== undefined
      if (turns % 2 === 0) t.equal(chunk?.bytes.length ?? size, size)
      chunk?.release()
      t.equal(windowPool.lentBytes, before, `closed after ${turns} microtasks`)
      t.equal(heldOfDrives, 0, 'and to the drives theirs')
    }
    t.ok(wasRead, 'the last ones were closed after their answer')
  }
})

t.test('the pool keeps a bounded amount of memory', async t => {
  const pool = new WindowPool(1000)
  const lent = Array.from({ length: 5 }, () => pool.acquire(300))
  for (const buffer of lent) pool.release(buffer)
  t.equal(pool.keptBytes, 900)
  const again = [pool.acquire(300), pool.acquire(300), pool.acquire(300), pool.acquire(300)]
  t.equal(
    new Set([...again, lent[3], lent[4]]).size,
    6,
    'no buffer is acquired twice, and buffers beyond the bound are dropped',
  )
  t.equal(pool.keptBytes, 0)
})

t.test('buffers of a length that is used no more make room for those that are', async t => {
  const pool = new WindowPool(1000)
  for (const buffer of Array.from({ length: 10 }, () => pool.acquire(100))) pool.release(buffer)
  t.equal(pool.keptBytes, 1000)
  const long = pool.acquire(550)
  pool.release(long)
  t.equal(pool.keptBytes, 950)
  t.equal(pool.acquire(550), long, 'it was kept')
  t.equal(pool.lentBytes, 550)
})

t.test('a body is damaged if too few shards are left, not if other drives do not have its record yet', async t => {
  const [slotCount, dataCount] = [6, 4]
  const generations = Buffer.from([1, 1, 1, 1, 0, 1])
  const counts = { dataCount, parityCount: slotCount - dataCount, bodyBytes: 4000, generations }
  const head = { ...plainHead, ...counts, body: 'sharded' as const, identity: 7 }
  const body = { segment: 1, offset: 0, size: 1000, check: 0 }
  const value = encodeRecord(head, Buffer.from('value'))
  const readWith = (recordCount: number, damagedCount: number) => {
    const driveAt = (slot: number) => ({
      get: () => (slot < recordCount ? { value, body: slot === 4 ? undefined : body } : undefined),
      readBody: async () => {
        if (slot < damagedCount) throw storageErrors.gone()
        return Buffer.alloc(1000)
      },
    })
    const view = {
      slotCount,
      driveAt,
      generationAt: () => 1,
      onMissingShard: () => undefined,
      ready: () => undefined,
      leader: () => ({ slot: 3, drive: driveAt(0) }),
    }
    return readShards(view as unknown as SetView, Buffer.from('key'), head)
  }
  t.equal((await readWith(6, 1)).present, 0b101110)
  await t.rejects(readWith(4, 1), { code: 'unavailable' }, 'the others get the record in a moment')
  await t.rejects(readWith(6, 2), { code: 'corrupt' })
  await t.rejects(readWith(4, 2), { code: 'corrupt' })
})
