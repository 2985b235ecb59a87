/** Late answers of tiers, and when the tier is blamed. The limit of 50 ms holds in any case. */
import type { CacheTier } from 'svc/plugins/cache/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { createMemoryTier } from '../memory/memory-tier.ts'
import { guardTier } from '../tiers/guarded-tier.ts'

const MiB = 1024 * 1024
const log = { debug() {}, info() {}, warn() {}, error() {} } as never
const id = Buffer.alloc(32)

/** A tier that never answers, in a process whose witness and event loop the test controls. */
function setUp() {
  const fake = createFakeClock()
  const state = { failures: 0, lateMs: 0, busyShare: 0, trip: async (): Promise<void> => undefined }
  const clock = { ...fake, monotonicNs: () => fake.monotonicNs() + BigInt(state.lateMs) * 1_000_000n }
  const hangs = () => new Promise<never>(() => undefined)
  const tier: CacheTier = { ...createMemoryTier({ budgetBytes: MiB }), get: hangs, hasAll: hangs }
  const onFailure = () => void state.failures++
  const guarded = guardTier({
    ...{ name: 'shelf', tier, budgetBytes: MiB, clock, log, onFailure },
    witness: () => state.trip(),
    wantedMs: () => (Number(clock.monotonicNs()) / 1e6) * state.busyShare,
  })
  /** Resolves with the time of the answer, and with that of the failure if there is one within six seconds. */
  async function ask(work: () => unknown = () => guarded.get(id)) {
    const before = state.failures
    const found: { answeredMs?: number; failedMs?: number } = {}
    let nowMs = 0
    void Promise.resolve(work()).then(() => {
      found.answeredMs = nowMs
    })
    for (nowMs = 1; nowMs <= 6000; nowMs++) {
      await fake.advance(1)
      if (state.failures > before) found.failedMs ??= nowMs
    }
    t.equal(fake.pending(), 0, 'no timer is left')
    return found
  }
  return { state, ask, guarded, fake, tier }
}

t.test('the tier is to blame at once where the process had time for an answer', async t => {
  t.same(await setUp().ask(), { answeredMs: 50, failedMs: 50 })
})

t.test('where the witness is stuck, it is to blame after 250 ms: the process does nothing', async t => {
  const { state, ask } = setUp()
  state.trip = () => new Promise(() => undefined)
  t.same(await ask(), { answeredMs: 50, failedMs: 250 })
})

t.test('where trips of a busy process take long, as many are granted as a look-up needs', async t => {
  for (const [tripMs, failedMs] of [
    [1, 50],
    [15, 250],
    [60, 1000],
    [200, 5000],
  ] as const) {
    const { state, ask, fake } = setUp()
    state.busyShare = 0.9
    state.trip = () => new Promise(done => void fake.after(tripMs, done))
    t.same(await ask(), { answeredMs: 50, failedMs }, `trips of ${tripMs} ms`)
  }
})

t.test(
  'where the calls of the tier make trips long, it is to blame after 250 ms: the process does nothing',
  async t => {
    const { state, ask, fake } = setUp()
    state.trip = () => new Promise(done => void fake.after(100, done))
    t.same(await ask(), { answeredMs: 50, failedMs: 250 })
  },
)

t.test(
  'an answer after 150 ms and more is a failure where the process does nothing; its memory is given back',
  async t => {
    for (const [answerMs, busyShare, failedMs] of [
      [140, 0, undefined],
      [200, 0, 200],
      [200, 0.9, undefined],
    ] as const) {
      const { state, ask, fake, tier } = setUp()
      let released = 0
      const record = { head: Buffer.alloc(1), body: Buffer.alloc(1), release: () => void released++ }
      tier.get = () => new Promise(done => void fake.after(answerMs, () => done(record)))
      state.busyShare = busyShare
      state.trip = () => new Promise(done => void fake.after(100, done))
      const found = await ask()
      t.same(found, { answeredMs: 50, ...(failedMs !== undefined && { failedMs }) }, `${answerMs} ms, ${busyShare}`)
      t.equal(released, 1)
    }
  },
)

t.test('an event loop that comes late says nothing of the tier, up to five seconds', async t => {
  const { state, ask, guarded, fake } = setUp()
  let answeredMs = 0
  let nowMs = 0
  void Promise.resolve(guarded.get(id)).then(() => {
    answeredMs = nowMs
  })
  for (nowMs = 1; nowMs <= 1500; nowMs++) {
    // Each timer is 20 ms late.
    if ([20, 45, 200, 900].includes(nowMs)) state.lateMs += 20
    await fake.advance(1)
  }
  t.ok(answeredMs <= 50, `${answeredMs}`)
  t.equal(state.failures, 0)
  await fake.advance(4000)
  t.equal(state.failures, 1)
  t.same(await ask(), { answeredMs: 50, failedMs: 50 })
})

t.test('whether the tier has records is no I/O: only five seconds without an answer count', async t => {
  const { ask, guarded } = setUp()
  t.same(await ask(() => guarded.hasAll([id])), { answeredMs: 50, failedMs: 5000 })
})
