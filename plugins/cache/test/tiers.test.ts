/** Tiers behind memory: the answers that may come from them, and the handling of failing tiers. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { CacheLookup, CacheOrigin, CacheRequest, CacheTier, TierRecord } from 'svc/plugins/cache/api'
import { resolvePolicy } from 'svc/plugins/cache/api'
import { createFakeClock, createSeededRandom, type FakeClock } from 'svc/testing'
import t from 'tap'
import { CacheEngine } from '../engine/engine.ts'
import type { Purges } from '../engine/validity.ts'
import { createMemoryTier } from '../memory/memory-tier.ts'
import { guardTier } from '../tiers/guarded-tier.ts'
import { createSeal } from '../tiers/seal.ts'
import { createTiers } from '../tiers/tiers.ts'

const MiB = 1024 * 1024
const log = { debug() {}, warn() {} } as never

/** A tier whose records the test can read and replace. */
function openTier() {
  const inner = createMemoryTier({ budgetBytes: 64 * MiB, isSelective: false })
  const records = new Map<string, TierRecord>()
  const tier: CacheTier = {
    ...inner,
    get: id => records.get(id.toString('hex')),
    put(id, record) {
      records.set(id.toString('hex'), record)
      return true
    },
    hasAll: ids => ids.every(id => records.has(id.toString('hex'))),
    delete: id => void records.delete(id.toString('hex')),
  }
  return { tier, records }
}

interface Node {
  readonly clock?: FakeClock
  readonly tier: CacheTier
  readonly key?: string
  readonly purges?: Purges
  readonly autoInvalidate?: boolean
}

/** One object in one slot, an origin that has it, and processes that cache it; each starts with an empty memory. */
function createWorld() {
  const object = { identity: 'v1', body: Buffer.from('one'), isEncrypted: false, isAway: false }
  const counts = { metadata: 0, bytes: 0 }
  let touched = 1

  function run({ clock = createFakeClock(), tier, key = 'key', purges, autoInvalidate = true }: Node) {
    const holds = (fences: readonly number[]) => fences.every((value, i) => i % 2 === 0 || value === touched)
    const failures = { count: 0 }
    const guarded = guardTier({
      name: 'shelf',
      tier,
      budgetBytes: MiB,
      clock,
      log,
      onFailure: () => failures.count++,
      witness: async () => undefined,
    })
    const seal = createSeal(createHash('sha256').update(key).digest(), createSeededRandom(1))
    const tiers = createTiers({ tiers: [guarded], seal: () => seal, holds })
    const engine = new CacheEngine({ clock, log, budgetBytes: 16 * MiB, holds, tiers, ...(purges && { purges }) })
    const origin: CacheOrigin = {
      hasObjects: true,
      async fetch() {
        counts.metadata++
        if (object.isAway) throw new Error('away')
        const { identity, body, isEncrypted } = object
        const fences = [{ slot: 0, generation: touched, isSettled: true }]
        return {
          status: 200,
          headers: [['Cache-Control', 'max-age=60']],
          body: {
            sizeBytes: body.length,
            async read(start: number, length: number) {
              counts.bytes += length
              return { kind: 'whole', bytes: body.subarray(start, start + length) }
            },
          },
          record: { identity, value: { is: identity }, tags: ['news'], fences, isEncrypted },
        }
      },
    }
    async function get(path = '/a', range?: readonly [number, number]) {
      const policy = { ...resolvePolicy({ cluster: {} }), autoInvalidate }
      const key = { space: 'site', shape: '', host: 'a.test', path, query: '' }
      const request: CacheRequest = { method: 'GET', headers: {}, key, policy, honorsDirectives: false }
      const found = await engine.lookup(request, origin)
      const read = await bytesOf(found, range ?? [0, object.body.length])
      await new Promise(resolve => setImmediate(resolve))
      return { ...read, result: found.result }
    }
    return { get, engine, tiers, clock, failures }
  }

  return {
    object,
    counts,
    run,
    /** Makes an acknowledged write. */
    write(identity: string, body: string | Buffer) {
      touched++
      Object.assign(object, { identity, body: Buffer.from(body) })
    },
  }
}

async function bytesOf({ body, source }: CacheLookup, [start, end]: readonly [number, number]) {
  if (Buffer.isBuffer(body)) return { text: body.toString('latin1', start, end), source, isCached: true }
  if (body === undefined || !('open' in body)) throw new Error('no body')
  const opened = await body.open(start, end - start)
  if (opened === undefined) return { text: undefined, source: 'gone', isCached: false }
  const { data, isCached } = opened
  if (data.kind === 'whole') return { text: data.bytes.toString('latin1'), source: opened.source, isCached }
  const chunks: Buffer[] = []
  for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
    chunks.push(Buffer.from(chunk.bytes))
    chunk.release()
  }
  data.close()
  return { text: Buffer.concat(chunks).toString('latin1'), source: opened.source, isCached }
}

t.test('what memory lacks comes from a tier once the origin has confirmed it, then from memory', async t => {
  const world = createWorld()
  const { tier, records } = openTier()
  t.match(await world.run({ tier }).get(), { result: 'MISS', text: 'one', source: 'origin' })
  t.equal(records.size, 1)
  const before = { ...world.counts }
  const { get } = world.run({ tier })
  t.match(await get(), { result: 'HIT', text: 'one', source: 'shelf' })
  t.same(
    world.counts,
    { metadata: before.metadata + 1, bytes: before.bytes },
    'its metadata was read, its bytes were not',
  )
  t.match(await get(), { result: 'HIT', text: 'one', source: 'memory' })
  t.same(world.counts.metadata, before.metadata + 1)
})

t.test('an entry of a tier that was written over is never served', async t => {
  const world = createWorld()
  const { tier, records } = openTier()
  await world.run({ tier }).get()
  const [[id, old]] = [...records] as [[string, TierRecord]]
  world.write('v2', 'two')
  const { get } = world.run({ tier })
  t.match(await get(), { result: 'MISS', text: 'two' })
  t.not(records.get(id), old, 'the tier has the new one')
  // The tier comes back with its old record.
  records.set(id, old)
  t.match(await world.run({ tier }).get(), { result: 'MISS', text: 'two' })
})

t.test('what nobody can confirm is not served, not even as STALE', async t => {
  const world = createWorld()
  const { tier } = openTier()
  await world.run({ tier }).get()
  world.object.isAway = true
  await t.rejects(world.run({ tier }).get(), { message: 'away' })
  t.match(await world.run({ tier, autoInvalidate: false }).get('/b').catch(String), 'Error: away')
})

t.test('without autoInvalidate the lifetime alone counts, and it goes on where it was', async t => {
  const world = createWorld()
  const { tier } = openTier()
  const clock = createFakeClock()
  await world.run({ tier, clock, autoInvalidate: false }).get()
  const before = world.counts.metadata
  await clock.advance(30_000)
  t.match(await world.run({ tier, clock, autoInvalidate: false }).get(), { result: 'HIT', source: 'shelf' })
  t.equal(world.counts.metadata, before)
  await clock.advance(31_000)
  t.match(await world.run({ tier, clock, autoInvalidate: false }).get(), { result: 'REVALIDATED', text: 'one' })
  t.equal(world.counts.metadata, before + 1)
  const early = createFakeClock(clock.now() - 3_600_000)
  t.match(
    await world.run({ tier, clock: early, autoInvalidate: false }).get(),
    { result: 'MISS' },
    'a clock that was set back',
  )
})

t.test('an entry of a tier that was purged is not served, and deleted', async t => {
  const world = createWorld()
  const { tier, records } = openTier()
  await world.run({ tier }).get()
  const purges = { sequence: 1, current: () => undefined, isDead: () => true }
  t.match(await world.run({ tier, purges }).get(), { result: 'MISS' })
  t.equal(records.size, 1, 'it was read anew')
})

t.test('records that were changed, cut or exchanged are misses', async t => {
  const world = createWorld()
  const { tier, records } = openTier()
  const first = world.run({ tier })
  await first.get('/a')
  const [id, record] = [...records][0] as [string, TierRecord]
  world.object.identity = 'other'
  world.object.body = Buffer.from('two')
  await first.get('/b')
  const other = [...records][1]?.[1] as TierRecord
  world.object.identity = 'v1'
  world.object.body = Buffer.from('one')
  const random = createSeededRandom(1)
  const flipped = (bytes: Buffer) => {
    const copy = Buffer.from(bytes)
    const at = random.integer(copy.length)
    copy[at] = (copy[at] as number) ^ (1 << random.integer(8))
    return copy
  }
  const bad: TierRecord[] = [
    other,
    { head: record.head, body: other.body },
    { head: record.head, body: record.body.subarray(1) },
    { head: record.head.subarray(0, -1), body: record.body },
    { head: Buffer.alloc(0), body: record.body },
  ]
  for (let i = 0; i < 300; i++) bad.push({ head: flipped(record.head), body: record.body })
  for (let i = 0; i < 20; i++) bad.push({ head: record.head, body: flipped(record.body) })
  for (const one of bad) {
    records.set(id, one)
    const found = await world.run({ tier }).get('/a')
    if (found.result !== 'MISS' || found.text !== 'one') t.fail(`${found.result} ${found.text}: ${one.head.toString()}`)
  }
  records.set(id, record)
  t.match(await world.run({ tier }).get('/a'), { result: 'HIT', text: 'one' }, 'the record itself was right')
})

t.test('what is stored encrypted is encrypted in tiers, and of no use to another process', async t => {
  const world = createWorld()
  Object.assign(world.object, { isEncrypted: true, body: Buffer.from('a secret page') })
  const { tier, records } = openTier()
  await world.run({ tier }).get()
  const [record] = records.values() as unknown as [TierRecord]
  t.notMatch(record.body.toString('latin1') + record.head.toString('latin1'), /secret/)
  t.match(await world.run({ tier }).get(), { result: 'HIT', text: 'a secret page', source: 'shelf' })
  t.match(await world.run({ tier, key: 'of another start' }).get(), { result: 'MISS', text: 'a secret page' })
})

t.test('large objects are read from a tier by their blocks, and a replaced one is not', async t => {
  const world = createWorld()
  const body = createSeededRandom(3).bytes(3 * MiB + 17)
  Object.assign(world.object, { body })
  const { tier, records } = openTier()
  await world.run({ tier }).get()
  t.equal(records.size, 5, 'the entry, three blocks and a part of one')
  const bytes = world.counts.bytes
  const second = world.run({ tier })
  const found = await second.get('/a')
  t.match(found, { result: 'HIT', source: 'shelf', isCached: true })
  t.ok(found.text === body.toString('latin1'), 'every byte')
  t.match(await second.get('/a', [MiB - 5, MiB + 5]), { text: body.toString('latin1', MiB - 5, MiB + 5) })
  t.equal(world.counts.bytes, bytes, 'nothing was read from the origin')
  const [, block] = [...records.keys()] as [string, string]
  records.delete(block)
  const third = await world.run({ tier }).get()
  t.match(third, { source: 'origin', isCached: false })
  t.ok(third.text === body.toString('latin1'), 'every byte, where a block is missing')
  world.write('v2', createSeededRandom(4).bytes(3 * MiB + 17))
  const fourth = await world.run({ tier }).get()
  t.ok(fourth.text === world.object.body.toString('latin1'), 'the new bytes')
  t.match(fourth, { result: 'MISS' })
  t.equal(second.engine.unfinished.bytes, 0, 'no memory is counted any more')
})

t.test('nothing is written to a tier once a write has followed', async t => {
  const world = createWorld()
  const { tier, records } = openTier()
  const { engine, tiers } = world.run({ tier })
  const record = { identity: 'v1', value: 1, tags: [], fences: [0, 0], isEncrypted: false }
  tiers.putBlock('x'.repeat(32), Buffer.from('bytes'), record)
  tiers.putBlock('x'.repeat(32), Buffer.from('bytes'), { ...record, fences: [] })
  t.equal(records.size, 0)
  tiers.putBlock('x'.repeat(32), Buffer.from('bytes'), { ...record, fences: [0, 1] })
  t.equal(records.size, 1)
  t.ok(engine)
})

t.test('a tier that takes 50 ms is a miss; after 5 failures it is left alone for 10 s', async t => {
  const world = createWorld()
  const { tier } = openTier()
  let asked = 0
  let mode: 'hangs' | 'fails' | 'works' = 'hangs'
  const slow: CacheTier = {
    ...tier,
    async get(id) {
      asked++
      if (mode === 'hangs') return new Promise(() => undefined)
      if (mode === 'fails') throw new Error('no')
      return tier.get(id)
    },
  }
  const clock = createFakeClock()
  const { get, failures } = world.run({ tier: slow, clock })
  for (let i = 0; i < 3; i++) {
    const answer = get(`/hangs/${i}`)
    await clock.advance(49)
    t.equal(failures.count, i)
    await clock.advance(1)
    t.match(await answer, { result: 'MISS', text: 'one' })
    t.equal(failures.count, i + 1)
  }
  mode = 'fails'
  for (let i = 0; i < 2; i++) t.match(await get(`/fails/${i}`), { result: 'MISS', text: 'one' })
  t.equal(asked, 5)
  mode = 'works'
  t.match(await get('/paused'), { result: 'MISS', text: 'one' })
  await clock.advance(9999)
  await get('/still')
  t.equal(asked, 5, 'it is not asked')
  await clock.advance(1)
  await get('/again')
  t.equal(asked, 6)
  t.equal(clock.pending(), 0, 'no timer is left')
})

t.test('a tier that hangs for hours is left with a bounded number of calls', async t => {
  const unanswered: (() => void)[] = []
  const hangs = () => new Promise<never>((_resolve, reject) => unanswered.push(() => reject(new Error('gone'))))
  const { tier } = openTier()
  const clock = createFakeClock()
  const hanging: CacheTier = { ...tier, get: hangs, hasAll: hangs, delete: hangs, put: hangs }
  const failures = { count: 0 }
  const onFailure = () => failures.count++
  const guarded = guardTier({ name: 'shelf', tier: hanging, budgetBytes: MiB, clock, log, onFailure })
  const id = Buffer.alloc(32)
  for (let round = 0; round < 50; round++) {
    for (let i = 0; i < 100; i++) {
      void guarded.get(id)
      void guarded.delete(id)
    }
    await clock.advance(60_000)
  }
  t.ok(unanswered.length <= 1200, `${unanswered.length} calls`)
  for (const reject of unanswered.splice(0)) reject()
  await clock.advance(10_000)
  t.not(guarded.get(id), undefined, 'it is asked again when they have ended')
  t.equal(unanswered.length, 1)
  for (const reject of unanswered) reject()
})

t.test('a pause ends after 10 s also where the clock was set back meanwhile', async t => {
  const { tier } = openTier()
  const fake = createFakeClock()
  let backMs = 0
  const clock = { ...fake, now: () => fake.now() - backMs }
  const failing: CacheTier = { ...tier, get: () => Promise.reject(new Error('no')) }
  const guarded = guardTier({ name: 'shelf', tier: failing, budgetBytes: MiB, clock, log, onFailure() {} })
  for (let i = 0; i < 5; i++) await guarded.get(Buffer.alloc(32))
  t.ok(guarded.isPaused)
  backMs = 3_600_000
  t.ok(guarded.isPaused)
  await fake.advance(10_001)
  t.notOk(guarded.isPaused)
})

t.test('a record with right checksums and wrong fields is a miss', async t => {
  const world = createWorld()
  const { tier, records } = openTier()
  await world.run({ tier }).get()
  const [[id, { body }]] = [...records] as [[string, TierRecord]]
  const facts = { v: 1, body: { bytes: body.length, crc: crc32(body) } }
  const wrong = [null, 1, {}, { record: {} }, { record: { value: {} }, sizeBytes: body.length }]
  for (const head of [null, [], { ...facts, body: null }, ...wrong.map(entry => ({ ...facts, entry }))]) {
    const rest = Buffer.from(`-\n${JSON.stringify(head)}`)
    const check = crc32(rest, crc32(Buffer.from(id, 'hex')))
      .toString(16)
      .padStart(8, '0')
    records.set(id, { head: Buffer.concat([Buffer.from(`${check} `), rest]), body })
    const found = await world.run({ tier }).get().catch(String)
    t.match(found, { result: 'MISS', text: 'one' }, JSON.stringify(head))
  }
})
