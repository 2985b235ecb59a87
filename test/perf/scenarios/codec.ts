/**
 * The erasure code alone, in the bench's own process: what one core encodes, and what it makes anew for every number of lost shards,
 * against the copying of as many bytes. A GB is 10⁹ bytes of data, whatever is lost of it; seconds are CPU time of the thread.
 */
import { randomFillSync } from 'node:crypto'
import { ErasureCode } from '../../../plugins/erasure/codec/erasure-code.ts'
import { ShardMemory } from '../../../plugins/erasure/codec/shard-memory.ts'
import { defaultUnitBytes } from '../../../plugins/erasure/layout.ts'
import { type Bench, ratios, type Scenario, warmUp } from '../bench.ts'

const SHAPES = [
  [2, 1],
  [4, 2],
  [8, 4],
  [12, 4],
] as const
const MEMORY_BYTES = 4 * 2 ** 20
const MEMCPY = 'memcpy'

interface Work {
  readonly name: string
  readonly run: () => void
}

export const codec: Scenario = {
  name: 'codec',
  summary: 'the erasure code on one core, 2+1 to 12+4, every number of lost shards, against memcpy',
  startsOwnServers: true,
  async run(bench) {
    for (const [dataCount, parityCount] of SHAPES) {
      bench.say(`${dataCount}+${parityCount}`)
      measureShape(bench, dataCount, parityCount)
    }
  },
}

function measureShape(bench: Bench, dataCount: number, parityCount: number): void {
  const bytes = dataCount * defaultUnitBytes
  const works = worksOf(dataCount, parityCount)
  const rates = works.map((): number[] => [])
  const roundCount = bench.isQuick ? 3 : 9
  for (let round = warmUp; round < roundCount; round++) {
    for (const [index, { run }] of works.entries()) {
      const rate = gigabytesPerSecond(bytes, run, bench.isQuick ? 80 : 200)
      if (round !== warmUp) rates[index].push(rate)
    }
  }
  const copying = rates[works.findIndex(({ name }) => name === MEMCPY)]
  for (const [index, { name }] of works.entries()) {
    const subject = `${dataCount}+${parityCount}`
    bench.record({ subject, name, unit: 'GB/s', samples: rates[index] })
    if (name === MEMCPY) continue
    bench.record({ subject: `${subject} / memcpy`, name, unit: 'ratio', samples: ratios(rates[index], copying) })
  }
}

/** On shards of one stripe: in the codec's memory, as uploads have them, and elsewhere, as reads have them. */
function worksOf(dataCount: number, parityCount: number): Work[] {
  const memory = new ShardMemory(MEMORY_BYTES)
  const code = new ErasureCode(memory, dataCount, parityCount)
  const inside = Array.from({ length: code.shardCount }, () => memory.allocate(defaultUnitBytes)!)
  for (const shard of inside) randomFillSync(shard)
  code.encode(inside)
  const outside = inside.map(shard => Buffer.from(shard))
  const source = randomFillSync(Buffer.alloc(dataCount * defaultUnitBytes))
  const target = Buffer.alloc(source.length)
  const works: Work[] = [
    { name: MEMCPY, run: () => source.copy(target) },
    { name: 'encode, in place', run: () => code.encode(inside) },
    { name: 'encode, copied', run: () => code.encode(outside) },
  ]
  const all = (1 << code.shardCount) - 1
  for (let count = 1; count <= parityCount; count++) {
    const lost = (1 << count) - 1
    requireRight(code, outside, all & ~lost, lost)
    works.push(
      { name: `${count} lost, in place`, run: () => code.reconstruct(inside, all & ~lost, lost) },
      { name: `${count} lost, copied`, run: () => code.reconstruct(outside, all & ~lost, lost) },
    )
  }
  return works
}

/** Throws where shards that are made anew are not what they were: a code that computes nothing is fast. */
function requireRight(code: ErasureCode, shards: readonly Buffer[], present: number, lost: number): void {
  const emptied = shards.map((shard, number) => ((lost & (1 << number)) === 0 ? shard : Buffer.alloc(shard.length)))
  code.reconstruct(emptied, present, lost)
  if (emptied.every((shard, number) => shard.equals(shards[number]))) return
  throw new Error(`${code.dataCount}+${code.parityCount}: shards of the mask ${lost} were made anew wrong.`)
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function gigabytesPerSecond(bytes: number, work: () => void, timeMs: number): number {
  let callCount = 0
  const began = performance.now()
  const cpuBegan = cpuMs()
  do {
    work()
    callCount++
  } while (performance.now() - began < timeMs)
  return (callCount * bytes) / (cpuMs() - cpuBegan) / 1e6
}
