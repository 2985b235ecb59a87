/**
 * The cost of limits per request: node --conditions=svc-src plugins/rate-limits/test/perf/take.ts
 * Prints nanoseconds of CPU per call, the least of many short rounds that take turns. Not a test: nothing is asserted.
 */
import { networkOf } from 'svc/plugins/http/api'
import { createSystemPorts } from 'svc/testing'
import { rateOf, TokenBuckets, tokenBucketsBytes } from '../../token-buckets.ts'
import { createWrongSignatures, refusingBytes } from '../../wrong-signatures.ts'

const rounds = 40
const calls = 50_000
const buckets = new TokenBuckets(new SharedArrayBuffer(tokenBucketsBytes), 0x12345678, 0x9abcdef0 | 0)
const rate = rateOf(1_000_000, 1_000_000)
const addresses = Array.from({ length: 1000 }, (_, index) => `198.51.${index >> 8}.${index & 255}`)
const networks = addresses.map((_, index) => `2001:db8:${index.toString(16)}::1`)

const createThrottle = () =>
  createWrongSignatures({
    refusing: new SharedArrayBuffer(refusingBytes),
    buckets,
    keySpace: 8,
    networkSpace: 9,
    clock: { ...createSystemPorts().clock },
  })
const [quiet, busy] = [createThrottle(), createThrottle()]
for (let i = 0; i < 1000; i++) busy.failed('192.0.2.1', 'AKIAIOSFODNN7EXAMPLE')

const ways: Readonly<Record<string, (index: number) => unknown>> = {
  'one limit, IPv4': i => buckets.take(0, networkOf(addresses[i % 1000]!), rate, process.hrtime.bigint()),
  'one limit, IPv6': i => buckets.take(0, networkOf(networks[i % 1000]!), rate, process.hrtime.bigint()),
  'three limits, IPv4': i => {
    buckets.take(0, networkOf(addresses[i % 1000]!), rate, process.hrtime.bigint())
    buckets.take(1, 'AKIAIOSFODNN7EXAMPLE', rate, process.hrtime.bigint())
    buckets.take(2, 'photos', rate, process.hrtime.bigint())
  },
  'signature, none refused': i => quiet.guard(addresses[i % 1000]!)?.('AKIAIOSFODNN7EXAMPLE'),
  'signature, one refused': i => busy.guard(addresses[i % 1000]!)?.('AKIAIOSFODNN7EXAMPLE'),
  'the same, IPv6': i => busy.guard(networks[i % 1000]!)?.('AKIAIOSFODNN7EXAMPLE'),
  'a new address each time': i => buckets.take(0, `a${i}`, rate, process.hrtime.bigint()),
}

const least = new Map<string, number>()
for (let round = 0; round < rounds; round++) {
  for (const [name, call] of Object.entries(ways)) {
    const before = process.cpuUsage()
    for (let i = 0; i < calls; i++) call(i)
    const { user, system } = process.cpuUsage(before)
    least.set(name, Math.min(least.get(name) ?? Number.POSITIVE_INFINITY, ((user + system) * 1000) / calls))
  }
}
for (const [name, nanoseconds] of least) console.log(name.padEnd(26), Math.round(nanoseconds), 'ns')
