/** Token buckets against a slow, obvious one, and with more names than there are slots. */
import { createSeededRandom } from 'svc/testing'
import t from 'tap'
import { type Rate, rateOf, TokenBuckets, tokenBucketsBytes } from '../token-buckets.ts'

const create = () => new TokenBuckets(new SharedArrayBuffer(tokenBucketsBytes), 1, 2)
const second = 1_000_000_000n

/** What is in the bucket, in nanoseconds of filling; one token is `intervalNs` of it. */
class ObviousBucket {
  #levelNs: bigint
  #atNs = 0n
  readonly #rate: Rate

  constructor(rate: Rate) {
    this.#rate = rate
    this.#levelNs = rate.capacityNs
  }

  take(nowNs: bigint): bigint {
    const { intervalNs, capacityNs } = this.#rate
    const filled = this.#levelNs + (nowNs - this.#atNs)
    this.#levelNs = filled > capacityNs ? capacityNs : filled
    this.#atNs = nowNs
    if (this.#levelNs < intervalNs) return intervalNs - this.#levelNs
    this.#levelNs -= intervalNs
    return 0n
  }
}

t.test('each request is decided as an obvious bucket decides it', async t => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  t.comment(`SEED=${seed}`)
  const random = createSeededRandom(seed)
  for (let round = 0; round < 200; round++) {
    const perSecond = 1 + random.integer(random.pick([3, 100, 5000]))
    const rate = rateOf(perSecond, 1 + random.integer(20))
    const buckets = create()
    const names = Array.from({ length: 1 + random.integer(5) }, (_, index) => `client-${index}`)
    const obvious = new Map(names.map(name => [name, new ObviousBucket(rate)]))
    let nowNs = second
    const differing: string[] = []
    for (let i = 0; i < 300; i++) {
      nowNs += BigInt(random.integer(Math.floor(3e9 / perSecond / names.length)))
      const name = random.pick(names)
      const [wanted, got] = [obvious.get(name)!.take(nowNs), buckets.take(7, name, rate, nowNs)]
      if (wanted !== got) differing.push(`${round}/${i}: ${got} instead of ${wanted}`)
    }
    t.same(differing, [])
  }
})

t.test('all threads that share the memory share the tokens, and limits do not share names', async t => {
  const memory = new SharedArrayBuffer(tokenBucketsBytes)
  const [one, other] = [new TokenBuckets(memory, 1, 2), new TokenBuckets(memory, 1, 2)]
  const rate = rateOf(1, 4)
  const taken = Array.from({ length: 6 }, (_, index) => (index % 2 ? one : other).take(0, 'a', rate, second) === 0n)
  t.same(taken, [true, true, true, true, false, false])
  t.equal(one.take(0, 'a', rate, second), second, 'a whole second until the next')
  t.equal(one.take(1, 'a', rate, second), 0n, 'another limit')
  t.equal(one.take(0, 'b', rate, second), 0n, 'another name')
})

t.test('a limit that becomes lower does not count as a debt', async t => {
  const buckets = create()
  for (let i = 0; i < 1000; i++) buckets.take(0, 'a', rateOf(1, 1000), second)
  t.equal(buckets.take(0, 'a', rateOf(10, 5), second), second / 10n)
  t.equal(buckets.take(0, 'a', rateOf(10, 5), second + second / 10n), 0n)
})

t.test('a count is of all threads, and over when its window is', async t => {
  const memory = new SharedArrayBuffer(tokenBucketsBytes)
  const [one, other] = [new TokenBuckets(memory, 1, 2), new TokenBuckets(memory, 1, 2)]
  const window = { lengthNs: 60n * second, max: 4 }
  const startNs = 5n * second
  t.equal(one.exhaustedUntil(3, 'a', window, startNs), 0n)
  for (let i = 0; i < 3; i++) t.equal((i % 2 ? one : other).count(3, 'a', window, startNs + BigInt(i)), 0n)
  t.equal(one.exhaustedUntil(3, 'a', window, startNs + 3n), 0n)
  const endNs = one.count(3, 'a', window, startNs + 30n * second)
  t.ok(endNs > 65n * second - 10_000n && endNs <= 65n * second, 'the window begins with the first')
  for (const buckets of [one, other]) t.equal(buckets.exhaustedUntil(3, 'a', window, endNs - 1n), endNs)
  t.equal(one.count(3, 'a', window, endNs - 1n), endNs, 'more do not lengthen it')
  t.equal(one.exhaustedUntil(3, 'b', window, endNs - 1n), 0n, 'another name')
  t.equal(one.exhaustedUntil(4, 'a', window, endNs - 1n), 0n, 'another space')
  t.equal(one.exhaustedUntil(3, 'a', window, endNs), 0n)
  t.equal(one.count(3, 'a', window, endNs), 0n, 'a new window')
})

t.test('a flood of names causes no refusal of clients with few requests', async t => {
  const buckets = create()
  const rate = rateOf(1, 2)
  let refused = 0
  for (let i = 0; i < 500_000; i++) if (buckets.take(0, `10.${i}`, rate, second) !== 0n) refused++
  t.equal(refused, 0)
})
