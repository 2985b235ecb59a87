/** Late answers of tiers: whose fault they are. The bound of 50 ms holds whoever is to blame. */
import { pbkdf2 } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CacheTier } from 'svc/plugins/cache/api'
import { createFakeClock, createSeededRandom, createSystemPorts } from 'svc/testing'
import t from 'tap'
import { createDiskKind } from '../../cache-disk/kind.ts'
import { alone } from '../../cache-disk/test/tier.ts'
import { createMemoryTier } from '../memory/memory-tier.ts'
import { guardTier } from '../tiers/guarded-tier.ts'

const MiB = 1024 * 1024
const log = { debug() {}, info() {}, warn() {}, error() {} } as never
const id = Buffer.alloc(32)

/** A tier that never answers, and a process of which the witness and the event loop can be told what to be. */
function setUp() {
  const fake = createFakeClock()
  const state = { failures: 0, lateMs: 0, trip: async (): Promise<void> => undefined }
  const clock = { ...fake, monotonicNs: () => fake.monotonicNs() + BigInt(state.lateMs) * 1_000_000n }
  const hangs = () => new Promise<never>(() => undefined)
  const tier: CacheTier = { ...createMemoryTier({ budgetBytes: MiB }), get: hangs, hasAll: hangs }
  const onFailure = () => void state.failures++
  const guarded = guardTier({
    ...{ name: 'shelf', tier, budgetBytes: MiB, clock, log, onFailure },
    witness: () => state.trip(),
  })
  /** The moment of its answer, and of its failure if there is one within six seconds. */
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
  return { state, ask, guarded, fake }
}

t.test('the tier is to blame at once where the process had time for an answer', async t => {
  t.same(await setUp().ask(), { answeredMs: 50, failedMs: 50 })
})

t.test('where the witness is stuck, it is to blame after 250 ms: the process does nothing', async t => {
  const { state, ask } = setUp()
  state.trip = () => new Promise(() => undefined)
  t.same(await ask(), { answeredMs: 50, failedMs: 250 })
})

t.test('where trips take long, as many are granted as a look-up needs', async t => {
  for (const [tripMs, failedMs] of [
    [1, 50],
    [15, 250],
    [60, 1000],
    [200, 5000],
  ] as const) {
    const { state, ask, fake } = setUp()
    state.trip = () => new Promise(done => void fake.after(tripMs, done))
    t.same(await ask(), { answeredMs: 50, failedMs }, `trips of ${tripMs} ms`)
  }
})

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

t.test('a busy process leaves a fast disk switched on', { timeout: 240_000 }, async t => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-busy-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const { clock } = createSystemPorts()
  const random = createSeededRandom(1)
  const budgetBytes = 256 * MiB
  const context = { log, clock, random, budgetBytes, deploymentId: 'one' }
  const tier = createDiskKind({ dir, size: budgetBytes }, alone).create(context)
  await tier.start()
  t.teardown(() => tier.stop())
  const ids = Array.from({ length: 8 }, () => random.bytes(32))
  const body = random.bytes(MiB)
  for (const one of ids) t.ok(await tier.put(one, { head: Buffer.from('head'), body }))
  const warnings: string[] = []
  const hears = { ...(log as object), warn: (_facts: object, text: string) => void warnings.push(text) } as never
  const guarded = guardTier({ name: 'disk', tier, budgetBytes, clock, log: hears, onFailure() {} })
  const origin = join(dir, 'tmp', 'origin')
  writeFileSync(origin, body)

  const derive = promisify(pbkdf2)
  const began = performance.now()
  await derive('x', 'y', 10_000, 32, 'sha256')
  const iterations = Math.ceil((10_000 * 10) / Math.max(1, performance.now() - began))
  let isBusy = true
  /** Twice as much as the pool has threads. */
  const fillPool = async () => {
    while (isBusy) await derive('x', 'y', iterations, 32, 'sha256')
  }
  const pool = Promise.all(Array.from({ length: 8 }, fillPool))
  let late = 0
  for (let round = 0; round < 10; round++) {
    const visits = ids.map(async one => {
      if ((await guarded.get(one)) !== undefined) return
      late++
      // As a request does that misses.
      await readFile(origin)
    })
    const asked = Promise.all(visits)
    // Now and then the event loop does something else, too.
    if (round % 2 === 0) for (const until = performance.now() + 80; performance.now() < until; );
    await asked
  }
  isBusy = false
  await pool
  t.comment(`${late} of ${10 * ids.length} were late`)
  t.ok(late > 10, 'so busy that answers are late')
  t.same(warnings, [], 'it is not left alone')
  let isThere = false
  for (let i = 0; i < 50 && !isThere; i++) isThere = (await guarded.get(ids[0] as Buffer)) !== undefined
  t.ok(isThere, 'and it answers')
})
