/** Blocks of larger objects: a reader that ends early leaves nothing behind. */
import type { ObjectData } from 'svc/plugins/objects/api'
import type { BlobChunk } from 'svc/plugins/storage/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { createCollapsing } from '../engine/collapsing.ts'
import { createMemory } from '../engine/memory.ts'
import { objectBody } from '../engine/object-body.ts'
import { noTiers } from '../tiers/tiers.ts'

const blockSize = 1024
const bytes = Buffer.from(Array.from({ length: 4 * blockSize }, (_, index) => index % 251))

/** An origin whose chunks come when the test lets them. */
function slowOrigin(chunkBytes: number) {
  const waiting: (() => void)[] = []
  const counts = { lent: 0, closed: 0 }
  const origin = {
    sizeBytes: bytes.length,
    read(start: number, length: number): ObjectData {
      let at = start
      return {
        kind: 'stream',
        async next(): Promise<BlobChunk | undefined> {
          await new Promise<void>(done => waiting.push(done))
          if (at === start + length) return undefined
          const chunk = bytes.subarray(at, Math.min(at + chunkBytes, start + length))
          at += chunk.length
          counts.lent++
          return { bytes: chunk, release: () => void counts.lent-- }
        },
        close: () => void counts.closed++,
      }
    },
  }
  const turn = () => new Promise(resolve => setImmediate(resolve))
  return {
    origin,
    counts,
    turn,
    async give() {
      await turn()
      waiting.shift()?.()
      await turn()
    },
  }
}

t.test('a chunk that comes after its reader has gone begins no block', async t => {
  for (const [chunkBytes, chunks] of [
    [blockSize / 2, 1],
    [blockSize / 2, 2],
    [blockSize, 1],
    [0.75 * blockSize, 2],
  ] as const) {
    const collapsing = createCollapsing(createFakeClock())
    const unfinished = { bytes: 0, bytesMax: 1e6 }
    const context = { memory: createMemory(1e6), tiers: noTiers, collapsing, unfinished }
    const { origin, counts, give, turn } = slowOrigin(chunkBytes)
    const source = {
      identity: 'one',
      sizeBytes: bytes.length,
      blockSize,
      quota: undefined,
      kept: undefined,
      reopen: async () => origin,
    }
    const begun: string[] = []
    const run = collapsing.run
    collapsing.run = (id, work) => {
      begun.push(id)
      run(id, work)
    }
    const opened = await objectBody(context, source, origin).open(0, bytes.length)
    const data = opened?.data
    if (data?.kind !== 'stream') throw new Error('no stream')
    for (let count = 0; count < chunks; count++) {
      const next = data.next()
      await give()
      const chunk = await next
      t.ok(chunk?.bytes.equals(bytes.subarray(count * chunkBytes, (count + 1) * chunkBytes)))
      chunk?.release()
    }
    const second = data.next()
    await turn()
    data.close()
    await give()
    const late = await second
    late?.release()
    await turn()
    t.same(
      begun.map(id => collapsing.running(id)),
      begun.map(() => undefined),
      'nobody waits for a block that will never be whole',
    )
    t.equal(unfinished.bytes, 0)
    t.same(counts, { lent: 0, closed: 1 })
  }
})
