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

t.test('a flood of names causes no refusal of clients with few requests', async t => {
  const buckets = create()
  const rate = rateOf(1, 2)
  let refused = 0
  for (let i = 0; i < 500_000; i++) if (buckets.take(0, `10.${i}`, rate, second) !== 0n) refused++
  t.equal(refused, 0)
})
