/**
 * GB/s of data that one core encodes and reconstructs, shards in the codec's memory and shards elsewhere:
 *
 *     node --conditions=svc-src plugins/erasure/test/perf/codec.ts [SECONDS of each figure]
 *
 * A GB is 10⁹ bytes of data: k times the length of a shard, however much of it is lost. Seconds are CPU time of the thread. Each figure is the median of rounds that
 * alternate between all figures of a shape, and the best of them in parentheses. `spread`: shards that do not begin on pages, so
 * that their lines do not meet in one set of the level-1 cache. Not a test: nothing is asserted.
 */
import { randomFillSync } from 'node:crypto'
import { ErasureCode } from '../../codec/erasure-code.ts'
import { bestVariant, type KernelVariant } from '../../codec/kernels.ts'
import { ShardMemory } from '../../codec/shard-memory.ts'

const roundCount = 9
const roundMs = (Number(process.argv[2] ?? 0.5) * 1000) / roundCount
const shapes = [
  [2, 1],
  [4, 2],
  [8, 4],
  [12, 4],
  [8, 8],
] as const
const headings = ['encode', 'spread', 'copied', 'one lost', 'all parity used', 'copied', 'verify']

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function gigabytesPerSecond(bytes: number, work: () => void): number {
  let callCount = 0
  const began = performance.now()
  const cpuBegan = cpuMs()
  do {
    work()
    callCount++
  } while (performance.now() - began < roundMs)
  return (callCount * bytes) / (cpuMs() - cpuBegan) / 1e6
}

function measure(memory: ShardMemory, dataCount: number, parityCount: number, shardBytes: number): string[] {
  const code = new ErasureCode(memory, dataCount, parityCount)
  const inside = Array.from({ length: code.shardCount }, () => memory.allocate(shardBytes)!)
  for (const shard of inside) randomFillSync(shard)
  const room = Array.from({ length: code.shardCount }, () => memory.allocate(shardBytes + 4096)!)
  const spread = room.map((bytes, shard) => bytes.subarray(shard * 192, shard * 192 + shardBytes))
  for (const shard of spread) randomFillSync(shard)
  const outside = inside.map(shard => Buffer.from(shard))
  const all = (1 << code.shardCount) - 1
  const lost = (1 << parityCount) - 1
  const works = [
    () => code.encode(inside),
    () => code.encode(spread),
    () => code.encode(outside),
    () => code.reconstruct(inside, all & ~1, 1),
    () => code.reconstruct(inside, all & ~lost, lost),
    () => code.reconstruct(outside, all & ~lost, lost),
    () => {
      code.verify(inside)
    },
  ]
  const rates: number[][] = works.map(() => [])
  for (let round = -1; round < roundCount; round++) {
    for (const [index, work] of works.entries()) {
      const rate = gigabytesPerSecond(dataCount * shardBytes, work)
      if (round >= 0) rates[index].push(rate)
    }
  }
  for (const shard of [...inside, ...room]) memory.release(shard)
  return rates.map(list => {
    const sorted = list.sort((a, b) => b - a)
    return `${sorted[roundCount >> 1].toFixed(1)} (${sorted[0].toFixed(1)})`
  })
}

const variants: readonly KernelVariant[] = bestVariant() === 'relaxed' ? ['relaxed', 'plain'] : ['plain']
for (const variant of variants) {
  const memory = new ShardMemory(36 << 20, variant)
  process.stdout.write(`${variant.padEnd(18)}${headings.map(heading => heading.padStart(16)).join('')}\n`)
  for (const [dataCount, parityCount] of shapes) {
    for (const shardBytes of [64 * 1024, 1024 * 1024]) {
      const label = `${dataCount}+${parityCount}, ${shardBytes / 1024} KiB`
      const cells = measure(memory, dataCount, parityCount, shardBytes)
      process.stdout.write(`${label.padEnd(18)}${cells.map(cell => cell.padStart(16)).join('')}\n`)
    }
  }
}
