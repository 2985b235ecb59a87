/**
 * The contract suite of the extension point `cache.tier`: what the plugin `cache` relies on. `test/contract.test.ts` of each tier runs it:
 *
 *     t.test('the tier keeps the contract', t => cacheTierContract(t, async t => ({
 *       open: budgetBytes => kind.create({ log, clock, random, budgetBytes }),
 *       keepsRecords: true,
 *       damage: id => …,
 *     })))
 */
import { createHash } from 'node:crypto'
import { type ContractSuite, contractSuite, createSeededRandom, type SeededRandom, seeded } from 'svc/testing'
import type { Test } from 'tap'
import { type CacheTier, type TierRecord, tierBodyBytesMax, tierHeadBytesMax } from './api.ts'

export interface CacheTierSubject {
  /** A tier over the place of this subject, which is empty at first. A second call comes after the first tier was stopped. */
  open(budgetBytes: number): CacheTier | Promise<CacheTier>
  /** Whether records outlive the tier. Default false. */
  readonly keepsRecords?: boolean
  /** Whether `heads` lists records. Default true. */
  readonly lists?: boolean
  /** The stored bytes by the place itself, for tiers whose `usage` is an estimate. Default: `usage().bytes`. */
  readonly storedBytes?: () => number | Promise<number>
  /** Changes, cuts and removes stored bytes of every record; undefined if nobody but the tier can change them. */
  readonly damage?: (random: SeededRandom) => Promise<void>
  /** Waits until what was put can be read, for places that are slow. */
  readonly settled?: () => Promise<void>
}

const MiB = 1024 * 1024
const idOf = (name: string | number) => createHash('sha256').update(String(name)).digest()

function recordOf(random: SeededRandom, headBytes: number, bodyBytes: number): TierRecord {
  return { head: random.bytes(headBytes), body: random.bytes(bodyBytes) }
}

async function opened(t: Test, subject: CacheTierSubject, budgetBytes = 64 * MiB): Promise<CacheTier> {
  const tier = await subject.open(budgetBytes)
  t.teardown(() => tier.stop())
  await tier.start()
  return tier
}

/** Whether a record that a tier returned is one of those that were put. */
function isOneOf(found: TierRecord, records: readonly TierRecord[]): boolean {
  return records.some(({ head, body }) => found.head.equals(head) && found.body.equals(body))
}

async function allHeads(tier: CacheTier, limit: number) {
  const found: { readonly id: Buffer; readonly head: Buffer }[] = []
  for (let after: Buffer | undefined; ; ) {
    const page = await tier.heads(after, limit)
    if (page.length === 0) return found
    if (page.length > limit) throw new Error(`${page.length} heads where ${limit} were asked for`)
    found.push(...page)
    after = page.at(-1)?.id
  }
}

export const cacheTierContract: ContractSuite<CacheTierSubject> = contractSuite('cache tier', {
  'a record comes back as it was put, from nothing to a mebibyte': async (t, subject) => {
    const tier = await opened(t, subject)
    const random = createSeededRandom(1)
    t.equal(await tier.get(idOf('never put')), undefined)
    const sizes = [
      [0, 0],
      [1, 0],
      [0, 1],
      [300, 4096],
      [tierHeadBytesMax, 65_537],
      [tierHeadBytesMax, tierBodyBytesMax],
    ] as const
    for (const [headBytes, bodyBytes] of sizes) {
      const record = recordOf(random, headBytes, bodyBytes)
      const id = idOf(`${headBytes} ${bodyBytes}`)
      // A tier may take a large record at its second `put` only.
      if (!(await tier.put(id, record))) t.ok(await tier.put(id, record), 'it is taken the second time')
      await subject.settled?.()
      const found = await tier.get(id)
      t.ok(found !== undefined && isOneOf(found, [record]), `head ${headBytes}, body ${bodyBytes}`)
    }
    t.equal(tier.usage().entries, sizes.length)
  },

  'the last of several records of an id is the one that comes back': async (t, subject) => {
    const tier = await opened(t, subject)
    const random = createSeededRandom(2)
    for (const bodyBytes of [100, 20_000, 0, 7]) {
      const record = recordOf(random, 10, bodyBytes)
      t.ok(await tier.put(idOf('one'), record))
      await subject.settled?.()
      const found = await tier.get(idOf('one'))
      t.ok(found !== undefined && isOneOf(found, [record]), `body ${bodyBytes}`)
    }
    t.equal(tier.usage().entries, 1)
  },

  'a deleted record is gone, and may be deleted again': async (t, subject) => {
    const tier = await opened(t, subject)
    const random = createSeededRandom(3)
    for (const name of ['one', 'two']) t.ok(await tier.put(idOf(name), recordOf(random, 10, 1000)))
    await subject.settled?.()
    for (let i = 0; i < 2; i++) await tier.delete(idOf('one'))
    await tier.delete(idOf('never put'))
    t.equal(await tier.get(idOf('one')), undefined)
    t.ok(await tier.get(idOf('two')), 'the other one stays')
    t.equal(await tier.hasAll([idOf('two')]), true)
    t.equal(await tier.hasAll([idOf('two'), idOf('one')]), false, 'it says that one is missing')
    t.equal(tier.usage().entries, 1)
  },

  'the budget is kept, whatever is put': async (t, subject) => {
    await seeded(t, async random => {
      const budgetBytes = 4 * MiB
      const tier = await opened(t, subject, budgetBytes)
      let isWithin = true
      let wrong = 0
      const sums = new Map<number, string[]>()
      for (let i = 0; i < 10_000; i++) {
        const name = random.integer(3000)
        const large = random.integer(500) === 0
        const record = recordOf(random, random.integer(400), random.integer(large ? 300_000 : 3000))
        const sum = createHash('sha256').update(record.head).update('|').update(record.body).digest('hex')
        sums.set(name, [...(sums.get(name) ?? []), sum])
        await tier.put(idOf(name), record)
        isWithin &&= tier.usage().bytes <= budgetBytes
        if (i % 1000 === 999) isWithin &&= ((await subject.storedBytes?.()) ?? 0) <= budgetBytes
        if (i % 10 !== 0) continue
        const asked = random.integer(3000)
        const found = await tier.get(idOf(asked))
        if (found === undefined) continue
        const foundSum = createHash('sha256').update(found.head).update('|').update(found.body).digest('hex')
        if (sums.get(asked)?.includes(foundSum) !== true) wrong++
      }
      t.ok(isWithin, 'never more than the budget')
      t.equal(wrong, 0, 'every record is one that was put under its id')
      t.ok(tier.usage().evictions > 0, 'records gave way')
      t.ok(tier.usage().entries > 100, 'and others stayed')
    })
  },

  'what is larger than the budget is not taken, and harms nothing': async (t, subject) => {
    const tier = await opened(t, subject, MiB)
    const random = createSeededRandom(5)
    t.ok(await tier.put(idOf('small'), recordOf(random, 10, 1000)))
    const large = recordOf(random, tierHeadBytesMax, tierBodyBytesMax)
    for (let i = 0; i < 2; i++) t.equal(await tier.put(idOf('large'), large), false)
    await subject.settled?.()
    t.equal(await tier.get(idOf('large')), undefined)
    t.ok(await tier.get(idOf('small')), 'the small one is still there')
  },

  'a get beside puts and deletes of its id finds one whole record, or none': async (t, subject) => {
    const tier = await opened(t, subject)
    const random = createSeededRandom(6)
    const records = [0, 10, 5000, 60_000].map(bytes => recordOf(random, 200, bytes))
    const id = idOf('busy')
    const checks: Promise<boolean>[] = []
    const put = async (record: TierRecord) => tier.put(id, record)
    const check = async () => {
      const found = await tier.get(id)
      return found === undefined || isOneOf(found, records)
    }
    for (let i = 0; i < 100; i++) {
      const work = [put(records[i % 4] as TierRecord), check(), i % 7 === 0 ? tier.delete(id) : undefined, check()]
      checks.push(work[1] as Promise<boolean>, work[3] as Promise<boolean>)
      await Promise.all(work)
    }
    t.ok((await Promise.all(checks)).every(Boolean))
  },

  'heads lists every record once': async (t, subject) => {
    const tier = await opened(t, subject)
    const random = createSeededRandom(7)
    const heads = new Map<string, Buffer>()
    for (let i = 0; i < 250; i++) {
      const record = recordOf(random, 20 + (i % 50), 100)
      heads.set(idOf(i).toString('hex'), record.head)
      t.ok(await tier.put(idOf(i), record))
    }
    await subject.settled?.()
    const found = await allHeads(tier, 100)
    if (subject.lists === false) {
      t.same(found, [])
      return
    }
    t.equal(found.length, heads.size)
    t.equal(new Set(found.map(({ id }) => id.toString('hex'))).size, heads.size, 'each once')
    t.ok(found.every(({ id, head }) => heads.get(id.toString('hex'))?.equals(head)))
    await tier.delete(found[99]?.id as Buffer)
    t.ok((await tier.heads(found[99]?.id, 100)).length <= 100, 'a listing may go on from a record that has gone')
  },

  'after a restart records are whole, or missing': async (t, subject) => {
    const random = createSeededRandom(8)
    const records = Array.from({ length: 20 }, (_, i) => recordOf(random, 100, i * 1000))
    const first = await opened(t, subject)
    for (const [i, record] of records.entries()) t.ok(await first.put(idOf(i), record))
    await subject.settled?.()
    for (let i = 0; i < 2; i++) await first.stop()
    const second = await opened(t, subject)
    await subject.settled?.()
    let kept = 0
    for (const [i, record] of records.entries()) {
      const found = await second.get(idOf(i))
      if (found === undefined) continue
      kept++
      t.ok(isOneOf(found, [record]), `record ${i}`)
    }
    t.equal(kept, subject.keepsRecords === true ? records.length : 0)
    t.ok(await second.put(idOf('new'), recordOf(random, 1, 1)), 'it takes records as before')
  },

  'damaged records are missing, and are replaced': async (t, subject) => {
    if (subject.damage === undefined) {
      t.pass('nobody else can reach its records')
      return
    }
    const random = createSeededRandom(9)
    const tier = await opened(t, subject)
    const records = Array.from({ length: 20 }, (_, i) => recordOf(random, 100, 1 + i * 1000))
    for (const [i, record] of records.entries()) t.ok(await tier.put(idOf(i), record))
    await subject.settled?.()
    await subject.damage(random)
    for (const i of records.keys()) t.equal(await tier.get(idOf(i)), undefined, `record ${i}`)
    for (const [i, record] of records.entries()) t.ok(await tier.put(idOf(i), record))
    await subject.settled?.()
    const found = await tier.get(idOf(3))
    t.ok(found !== undefined && isOneOf(found, [records[3] as TierRecord]))
  },

  'a tier that was never started stops, and one that has stopped stops again': async (t, subject) => {
    const tier = await subject.open(MiB)
    for (let i = 0; i < 2; i++) await tier.stop()
    t.pass()
  },
})
