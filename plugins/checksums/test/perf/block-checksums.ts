/**
 * GB/s (10⁹ bytes) of checksums of one block of a blob, 256 KiB, on one core: what blocks could be verified with.
 *
 *     node --conditions=svc-src plugins/checksums/test/perf/block-checksums.ts [ROUNDS]
 *
 * Rounds of two calls take turns; by the clock, because CPU time is counted in ticks that are longer than a round. The upper quartile
 * leaves out the rounds that other work interrupted. `in place`: the block is in the memory of the WebAssembly module; `copied`: it is copied
 * there. CRC-32 is compared with that of zlib first. Not a test of speed: nothing is asserted about it.
 */
import assert from 'node:assert/strict'
import { randomFillSync } from 'node:crypto'
import { crc32 as zlibCrc32 } from 'node:zlib'
import { crc32 } from '@node-rs/crc32'
import { xxh3 } from '@node-rs/xxhash'
import createWabt from 'wabt'

const blockBytes = 256 * 1024
const blockAt = 1024 * 1024
const kernels: {
  sparseCrc32Text(): string
  xxh3LoopText(): string
} = await import(new URL('block-kernels.mjs', import.meta.url).href)

interface Kernel {
  readonly memory: WebAssembly.Memory
  update(at: number, size: number, crc: number): number | bigint
}

const wabt = await createWabt()

function instantiate(name: string, text: string): Kernel {
  const { buffer } = wabt.parseWat(name, text, { simd: true }).toBinary({})
  return new WebAssembly.Instance(new WebAssembly.Module(buffer)).exports as unknown as Kernel
}

/** Table k, at 256·k: the remainders of all bytes followed by k zeros. */
function fillTables(tables: Uint32Array): void {
  for (let byte = 0; byte < 256; byte++) {
    let remainder = byte
    for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1
    tables[byte] = remainder
  }
  for (let entry = 256; entry < tables.length; entry++) {
    const before = tables[entry - 256]!
    tables[entry] = (before >>> 8) ^ tables[before & 255]!
  }
}

const sparse = instantiate('sparse-crc32.wat', kernels.sparseCrc32Text())
fillTables(new Uint32Array(sparse.memory.buffer, 0, 8 * 256))
const xxh3Loop = instantiate('xxh3-loop.wat', kernels.xxh3LoopText())
randomFillSync(new Uint8Array(xxh3Loop.memory.buffer, 0, 192))

const block = randomFillSync(Buffer.allocUnsafeSlow(blockBytes))
const [inSparse, inXxh3] = [sparse, xxh3Loop].map(({ memory }) => Buffer.from(memory.buffer, blockAt, blockBytes))
block.copy(inSparse!)
block.copy(inXxh3!)
for (let size = 0; size <= blockBytes; size += size < 20_000 ? 61 : 9973) {
  for (const initial of [0, 0xdeadbeef]) {
    const found = Number(sparse.update(blockAt, size, initial)) >>> 0
    assert.equal(found, zlibCrc32(block.subarray(0, size), initial), `${size} bytes`)
    assert.equal(crc32(block.subarray(0, size), initial), found)
  }
}

const contestants: Readonly<Record<string, () => unknown>> = {
  'CRC-32, node:zlib': () => zlibCrc32(block),
  'CRC-32, @node-rs/crc32': () => crc32(block),
  'CRC-32, WebAssembly, in place': () => sparse.update(blockAt, blockBytes, 0),
  'CRC-32, WebAssembly, copied': () => {
    block.copy(inSparse!)
    return sparse.update(blockAt, blockBytes, 0)
  },
  'XXH3, @node-rs/xxhash': () => xxh3.xxh64(block),
  'XXH3 (loop alone), WebAssembly, in place': () => xxh3Loop.update(blockAt, blockBytes, 0),
  'XXH3 (loop alone), WebAssembly, copied': () => {
    block.copy(inXxh3!)
    return xxh3Loop.update(blockAt, blockBytes, 0)
  },
}
const rates = new Map(Object.keys(contestants).map(name => [name, [] as number[]]))
const roundCount = Number(process.argv[2] ?? 500)
for (let round = 0; round < roundCount; round++) {
  for (const [name, work] of Object.entries(contestants)) {
    const began = performance.now()
    work()
    work()
    rates.get(name)!.push((2 * blockBytes) / (performance.now() - began) / 1e6)
  }
}
for (const [name, found] of rates) {
  found.sort((a, b) => a - b)
  const [median, quartile] = [found[found.length >> 1]!, found[(3 * found.length) >> 2]!].map(rate => rate.toFixed(1))
  console.log(`${name.padEnd(42)} median ${median!.padStart(5)}, upper quartile ${quartile!.padStart(5)} GB/s`)
}
