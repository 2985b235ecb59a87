/** The module md5-lanes.wasm and its memory: the table, a state for lanes without a message, then what its user puts there. */
import { readFileSync } from 'node:fs'

export const blockBytes = 64
export const stateBytes = 16
export const lanesMax = 8
const initial = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476]

interface Exports {
  readonly memory: WebAssembly.Memory
  /** Where the states and slots begin. */
  readonly freeAt: { readonly value: number }
  run1(blocks: number): void
  run4(blocks: number): void
  run8(blocks: number): void
}

export class Md5Module {
  readonly #exports: Exports
  readonly #words: Uint32Array
  readonly bytes: Buffer
  /** Where the states of messages begin. */
  readonly statesAt: number
  /** Where their bytes begin: at a block, behind the states. */
  readonly slotsAt: number

  constructor(stateCount: number, slotsBytes: number) {
    const module = new WebAssembly.Module(readFileSync(new URL('./md5-lanes.wasm', import.meta.url)))
    this.#exports = new WebAssembly.Instance(module).exports as unknown as Exports
    const { memory, freeAt } = this.#exports
    this.statesAt = freeAt.value + stateBytes
    this.slotsAt = Math.ceil((this.statesAt + stateCount * stateBytes) / blockBytes) * blockBytes
    // Takes addresses; the system gives memory when it is written to.
    memory.grow(Math.ceil((this.slotsAt + slotsBytes - memory.buffer.byteLength) / 65_536))
    this.bytes = Buffer.from(memory.buffer)
    this.#words = new Uint32Array(memory.buffer)
  }

  begin(stateAt: number): void {
    this.#words.set(initial, stateAt / 4)
  }

  /** Says where the state and the next block of a lane's message are; for each lane before each run. */
  place(lane: number, stateAt: number, at: number): void {
    this.#words[2 * lane] = stateAt
    this.#words[2 * lane + 1] = at
  }

  /** Computes so many blocks of each of the first `count` lanes, one to eight. */
  run(count: number, blocks: number): void {
    const laneCount = count === 1 ? 1 : count <= 4 ? 4 : lanesMax
    for (let lane = count; lane < laneCount; lane++) this.place(lane, this.#exports.freeAt.value, this.#words[1]!)
    if (laneCount === 1) this.#exports.run1(blocks)
    else if (laneCount === 4) this.#exports.run4(blocks)
    else this.#exports.run8(blocks)
  }

  digest(stateAt: number): Buffer {
    return Buffer.from(this.bytes.subarray(stateAt, stateAt + stateBytes))
  }
}

/** What RFC 1321 appends: a bit, zeros up to a whole block less eight bytes, and the length in bits. */
export function paddingOf(sizeBytes: number): Buffer {
  const rest = sizeBytes % blockBytes
  const padding = Buffer.alloc((rest < blockBytes - 8 ? blockBytes : 2 * blockBytes) - rest)
  padding[0] = 0x80
  padding.writeBigUInt64LE(BigInt(sizeBytes) * 8n, padding.length - 8)
  return padding
}
