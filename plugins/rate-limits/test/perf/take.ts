/**
 * The cost of limits per request: node --conditions=svc-src plugins/rate-limits/test/perf/take.ts
 * Prints nanoseconds per call, the median of several rounds. Not a test: nothing is asserted.
 */
import { networkOf } from 'svc/plugins/http/api'
import { rateOf, TokenBuckets, tokenBucketsBytes } from '../../token-buckets.ts'

const rounds = 9
const calls = 500_000
const buckets = new TokenBuckets(new SharedArrayBuffer(tokenBucketsBytes), 0x12345678, 0x9abcdef0 | 0)
const rate = rateOf(1_000_000, 1_000_000)
const addresses = Array.from({ length: 1000 }, (_, index) => `198.51.${index >> 8}.${index & 255}`)
const networks = addresses.map((_, index) => `2001:db8:${index.toString(16)}::1`)

const ways: Readonly<Record<string, (index: number) => unknown>> = {
  'one limit, IPv4': i => buckets.take(0, networkOf(addresses[i % 1000]!), rate, process.hrtime.bigint()),
  'one limit, IPv6': i => buckets.take(0, networkOf(networks[i % 1000]!), rate, process.hrtime.bigint()),
  'three limits, IPv4': i => {
    buckets.take(0, networkOf(addresses[i % 1000]!), rate, process.hrtime.bigint())
    buckets.take(1, 'AKIAIOSFODNN7EXAMPLE', rate, process.hrtime.bigint())
    buckets.take(2, 'photos', rate, process.hrtime.bigint())
  },
  'a new address each time': i => buckets.take(0, `a${i}`, rate, process.hrtime.bigint()),
}

for (const [name, call] of Object.entries(ways)) {
  const figures: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now()
    for (let i = 0; i < calls; i++) call(i)
    figures.push(((performance.now() - startedMs) * 1e6) / calls)
  }
  console.log(name.padEnd(26), Math.round(figures.sort((a, b) => a - b)[rounds >> 1]!), 'ns')
}
