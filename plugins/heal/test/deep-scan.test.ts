/** When a scrub begins and where it continues, on a fake clock. */
import type { RedundantSet } from 'svc/plugins/erasure/api'
import { createFakeClock, startKernel } from 'svc/testing'
import t from 'tap'
import { createDeepScan, type DeepScans } from '../deep-scan.ts'

const day = 86_400_000

t.test('a scrub is due one cycle after the last one, and a restart continues where it was', async t => {
  const clock = createFakeClock()
  const { log } = await startKernel({ plugins: [], until: 'set-up' })
  let document: unknown
  const scans = {
    get: () => (document === undefined ? undefined : { value: document }),
    put: async (_id: string, value: unknown) => {
      document = value
    },
  } as unknown as DeepScans
  const read: number[] = []
  const set = {
    canWrite: true,
    counts: { damaged: 0 },
    async scrubSome(from: Buffer) {
      read.push(from[0]!)
      await clock.advance(31_000)
      return from[0] === 3 ? undefined : Buffer.from([from[0]! + 1])
    },
  } as unknown as RedundantSet
  let passes = 0
  let cycle = 2 * day
  const start = () =>
    createDeepScan({
      redundancy: { storage: () => set },
      scans,
      clock,
      log,
      cycleMs: async () => cycle,
      onPass: () => {
        passes++
      },
    })
  const { signal } = new AbortController()
  let scan = start()
  t.equal(await scan.work(signal), 'idle', 'the set is new, so no scrub is due')
  await clock.advance(2 * day - 1)
  t.equal(await start().work(signal), 'idle', 'also after a restart')
  await clock.advance(1)
  t.equal(await scan.work(signal), 'more')
  t.equal(await scan.work(signal), 'more')
  scan = start()
  t.equal(await scan.work(signal), 'more')
  t.equal(await scan.work(signal), 'more')
  t.same(read, [0, 1, 2, 3], 'not from the beginning')
  t.equal(passes, 1)
  t.equal(await scan.work(signal), 'idle')
  cycle = 0
  await clock.advance(10 * day)
  t.equal(await scan.work(signal), 'idle', 'never')
})
