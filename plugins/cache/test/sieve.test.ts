/** SIEVE against an obvious one, and against LRU on a trace. */
import { LRUCache } from 'lru-cache'
import { createSeededRandom, type SeededRandom, seeded } from 'svc/testing'
import t from 'tap'
import { Ghosts } from '../memory/ghosts.ts'
import { Sieve } from '../memory/sieve.ts'

interface SlowEntry {
  readonly key: string
  readonly value: number
  readonly bytes: number
  isMarked: boolean
}

/** An array from the oldest to the newest, and the position of the hand: everything is looked for. */
class SlowSieve {
  entries: SlowEntry[] = []
  hand = 0
  readonly budget: number

  constructor(budget: number) {
    this.budget = budget
  }

  get bytes(): number {
    return this.entries.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  get(key: string): number | undefined {
    const entry = this.entries.find(one => one.key === key)
    if (entry !== undefined) entry.isMarked = true
    return entry?.value
  }

  delete(key: string): boolean {
    const at = this.entries.findIndex(one => one.key === key)
    if (at < 0) return false
    this.entries.splice(at, 1)
    if (at < this.hand) this.hand--
    return true
  }

  set(key: string, value: number, bytes: number): boolean {
    const isMarked = this.entries.find(one => one.key === key)?.isMarked ?? false
    this.delete(key)
    if (bytes > this.budget) return false
    while (this.bytes + bytes > this.budget) this.evict()
    // A hand that has passed the newest begins anew with the oldest, not with the entry that comes now.
    if (this.hand >= this.entries.length) this.hand = 0
    this.entries.push({ key, value, bytes, isMarked })
    return true
  }

  evict(): void {
    for (;;) {
      if (this.hand >= this.entries.length) this.hand = 0
      const entry = this.entries[this.hand] as SlowEntry
      if (!entry.isMarked) break
      entry.isMarked = false
      this.hand++
    }
    this.entries.splice(this.hand, 1)
  }
}

t.test('it keeps what an obvious SIEVE keeps, whatever is asked, set and deleted', async t => {
  await seeded(t, random => {
    for (let round = 0; round < 60; round++) {
      const budgetBytes = 1 + random.integer(400)
      const fast = new Sieve<number>({ budgetBytes })
      const slow = new SlowSieve(budgetBytes)
      for (let step = 0; step < 400; step++) {
        const key = String(random.integer(40))
        const choice = random.integer(10)
        const bytes = random.integer(60)
        const change = (sieve: Pick<SlowSieve, 'get' | 'set' | 'delete'>) => {
          if (choice < 5) return sieve.get(key)
          return choice < 9 ? sieve.set(key, step, bytes) : sieve.delete(key)
        }
        const answers = [change(fast), change(slow)]
        if (answers[0] !== answers[1] || fast.bytes !== slow.bytes || fast.bytes > budgetBytes) {
          t.same([answers[0], fast.bytes], [answers[1], slow.bytes], `round ${round}, step ${step}`)
        }
      }
      t.same(
        [...fast.keys()],
        slow.entries.map(({ key }) => key),
      )
    }
  })
})

t.test('evicted entries are told; replaced and deleted ones are not', t => {
  const gone: [string, number][] = []
  const sieve = new Sieve<number>({ budgetBytes: 10, onEvict: (key, value) => gone.push([key, value]) })
  sieve.set('a', 1, 5)
  sieve.set('a', 2, 5)
  sieve.set('b', 3, 5)
  sieve.delete('b')
  t.same(gone, [])
  sieve.get('a')
  sieve.set('b', 4, 5)
  sieve.set('c', 5, 5)
  t.same(gone, [['b', 4]], 'the one that nobody asked for')
  t.equal(sieve.evictions, 1)
  sieve.budgetBytes = 0
  t.equal(sieve.size, 0)
  t.equal(sieve.bytes, 0)
  t.end()
})

/** Keys 0 … count - 1, the nth as often as 1 / n ** exponent. */
function zipf(random: SeededRandom, count: number, exponent: number): () => number {
  const sums = new Float64Array(count)
  let sum = 0
  for (let i = 0; i < count; i++) {
    sum += 1 / (i + 1) ** exponent
    sums[i] = sum
  }
  return () => {
    const wanted = random.float() * sum
    let low = 0
    let high = count - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] as number) < wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}

t.test('on a Zipf trace of exponent 0.9, with a tenth of the bytes, it hits 4 points more often than LRU', async t => {
  await seeded(t, ({ seed }) => {
    const random = createSeededRandom(seed)
    const count = 20_000
    const sizes = Array.from({ length: count }, () => 100 + random.integer(900))
    const budgetBytes = Math.floor(sizes.reduce((sum, size) => sum + size, 0) / 10)
    const sieve = new Sieve<true>({ budgetBytes })
    const lru = new LRUCache<number, true>({ maxSize: budgetBytes })
    const next = zipf(random, count, 0.9)
    const hits = { sieve: 0, lru: 0 }
    const requests = 300_000
    for (let i = -requests; i < requests; i++) {
      const key = next()
      const size = sizes[key] as number
      // The first half fills them.
      if (sieve.get(String(key)) === undefined) sieve.set(String(key), true, size)
      else if (i >= 0) hits.sieve++
      if (lru.get(key) === undefined) lru.set(key, true, { size })
      else if (i >= 0) hits.lru++
    }
    const points = ((hits.sieve - hits.lru) / requests) * 100
    t.comment(
      `SIEVE ${((hits.sieve / requests) * 100).toFixed(1)} %, LRU ${((hits.lru / requests) * 100).toFixed(1)} %`,
    )
    t.ok(points >= 4, `${points.toFixed(1)} points`)
  })
})

t.test('the ghosts remember an id at its second request, and forget old ones', t => {
  const random = createSeededRandom(3)
  const ghosts = new Ghosts()
  const ids = Array.from({ length: 1000 }, () => random.bytes(32))
  for (const id of ids) ghosts.remember(id)
  t.ok(ids.filter(id => ghosts.remember(id)).length > 950)
  const one = random.bytes(32)
  t.equal(ghosts.remember(one), false)
  t.equal(ghosts.remember(one), true)
  ghosts.forget(one)
  t.equal(ghosts.remember(one), false)
  t.end()
})
