/** Memory of tiers is released once, when nobody reads it any more, and never before. */
import { createHash } from 'node:crypto'
import { createFakeClock, createSeededRandom } from 'svc/testing'
import t from 'tap'
import type { CacheTier } from '../api.ts'
import { createCollapsing } from '../engine/collapsing.ts'
import { createMemory } from '../engine/memory.ts'
import { type ObjectSource, objectBody } from '../engine/object-body.ts'
import { createMemoryTier } from '../memory/memory-tier.ts'
import { guardTier } from '../tiers/guarded-tier.ts'
import { createSeal } from '../tiers/seal.ts'
import { createTiers } from '../tiers/tiers.ts'

const KiB = 1024
const blockSize = 128 * KiB
const log = { debug() {}, warn() {} } as never

/** A tier that returns copies, and overwrites each when it is released. */
function poisonedTier() {
  const inner = createMemoryTier({ budgetBytes: 64 * KiB * KiB, isSelective: false })
  const out = { given: 0, released: 0, twice: 0 }
  const tier: CacheTier = {
    ...inner,
    async get(id) {
      const record = await inner.get(id)
      if (record === undefined) return undefined
      const body = Buffer.from(record.body)
      let isOut = true
      out.given++
      return {
        head: record.head,
        body,
        release() {
          if (isOut) out.released++
          else out.twice++
          isOut = false
          body.fill(0xdd)
        },
      }
    },
  }
  return { tier, out }
}

function createBody(memoryBytes: number, isEncrypted: boolean) {
  const clock = createFakeClock()
  const random = createSeededRandom(7)
  const bytes = random.bytes(5 * blockSize + 1000)
  const { tier, out } = poisonedTier()
  const guarded = guardTier({ name: 'shelf', tier, budgetBytes: 1 << 26, clock, log, onFailure() {} })
  const seal = createSeal(createHash('sha256').update('key').digest(), random)
  const tiers = createTiers({ tiers: [guarded], seal: () => seal, holds: () => true })
  const context = {
    memory: createMemory(memoryBytes),
    tiers,
    collapsing: createCollapsing(clock),
    unfinished: { bytes: 0, bytesMax: 1 << 26 },
  }
  const source: ObjectSource = {
    identity: 'v1',
    sizeBytes: bytes.length,
    blockSize,
    quota: undefined,
    kept: { identity: 'v1', value: undefined, fences: [1, 1], tags: [], isEncrypted },
    reopen: async () => origin,
  }
  const origin = {
    sizeBytes: bytes.length,
    read: (start: number, length: number) => ({ kind: 'whole', bytes: bytes.subarray(start, start + length) }) as const,
  }
  return { body: objectBody(context, source, origin), bytes, out, context }
}

for (const isEncrypted of [false, true]) {
  t.test(`${isEncrypted ? 'encrypted' : 'plain'} blocks: readers of every speed, some of which leave`, async t => {
    const { body, bytes, out, context } = createBody(3 * blockSize, isEncrypted)
    const random = createSeededRandom(11)
    const below = (limit: number) => random.bytes(4).readUInt32LE() % limit

    async function read(isPatient: boolean): Promise<void> {
      const start = below(bytes.length)
      const length = 1 + below(bytes.length - start)
      const opened = await body.open(start, length)
      const data = opened!.data
      if (data.kind === 'whole') {
        t.ok(data.bytes.equals(bytes.subarray(start, start + length)), 'from memory')
        return
      }
      const chunks: { bytes: Buffer; release(): void }[] = []
      let at = start
      let isRight = true
      const check = () => {
        const chunk = chunks.shift()!
        isRight &&= chunk.bytes.equals(bytes.subarray(at, at + chunk.bytes.length))
        at += chunk.bytes.length
        chunk.release()
      }
      for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
        chunks.push(chunk)
        // A slow client: several chunks are unread.
        if (chunks.length > below(3)) check()
        if (!isPatient && below(3) === 0) break
      }
      const isClosedFirst = below(2) === 0
      if (isClosedFirst) data.close()
      while (chunks.length > 0) check()
      if (!isClosedFirst) data.close()
      t.ok(isRight, `${start}, ${length}`)
      if (isPatient) t.equal(at, start + length)
    }

    // Reads everything, which fills the tier.
    const { data } = (await body.open(0, bytes.length))!
    if (data.kind === 'stream') {
      for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) chunk.release()
      data.close()
    }
    for (let round = 0; round < 20; round++)
      await Promise.all([read(true), read(true), read(false), read(true), read(false)])
    t.ok(out.given > 50, 'the tier was asked')
    t.equal(out.released, out.given)
    t.equal(out.twice, 0)
    t.equal(context.unfinished.bytes, 0)
  })
}
