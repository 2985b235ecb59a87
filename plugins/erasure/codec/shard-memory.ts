/**
 * Memory that the codec computes in without copies, and from which its users allocate what they want to encode: one piece of
 * WebAssembly memory, never grown, so that its buffers never move. Allocations are aligned to 4 KiB pages, as O_DIRECT requires.
 *
 * The beginning is reserved for the codec: addresses for a call, the tables of loss patterns, and a staging area for shards outside.
 */
import { Buffer } from 'node:buffer'
import { bestVariant, instantiateKernels, type Kernels, type KernelVariant } from './kernels.ts'
import { shardCountMax } from './matrix.ts'
import { PlanCache } from './plan.ts'

const wasmPageBytes = 65_536
const pageBytes = 4096

/** Shards that lie outside of this memory pass through it in pieces of this length: two dozen of them fit a level-2 cache. */
export const pieceBytes = 16 * 1024
/**
 * From one piece to the next. Not a power of two: lines at the same place of 16 shards would share one set of the level-1
 * cache, which has room for 8.
 */
const stagingStep = pieceBytes + 256

const inputsAddress = 0
const outputsAddress = 64
const plansAddress = pageBytes
const stagingAddress = plansAddress + PlanCache.bytes
const reservedBytes = Math.ceil((stagingAddress + shardCountMax * stagingStep) / pageBytes) * pageBytes

interface Span {
  start: number
  end: number
}

export class ShardMemory {
  readonly memory: WebAssembly.Memory
  readonly kernels: Kernels
  readonly plans: PlanCache
  /** Every byte. Its `buffer` is what tells that a view lies in this memory. */
  readonly bytes: Buffer
  readonly #view: DataView
  /** Ascending, never adjacent. */
  readonly #free: Span[]
  /** Lengths by address. */
  readonly #allocated = new Map<number, number>()

  /** `sizeBytes`: how much can be allocated, at least; some 600 KiB are added. `variant` is for tests. */
  constructor(sizeBytes: number, variant: KernelVariant = bestVariant()) {
    const pages = Math.ceil((reservedBytes + sizeBytes) / wasmPageBytes)
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
    this.kernels = instantiateKernels(this.memory, variant)
    this.bytes = Buffer.from(this.memory.buffer)
    this.#view = new DataView(this.memory.buffer)
    this.plans = new PlanCache(this.bytes, plansAddress)
    this.#free = [{ start: reservedBytes, end: this.bytes.length }]
  }

  /** Memory aligned to 4 KiB, with arbitrary content; undefined if there is none. To be released with `release`. */
  allocate(sizeBytes: number): Buffer | undefined {
    const length = Math.max(1, Math.ceil(sizeBytes / pageBytes)) * pageBytes
    const index = this.#free.findIndex(span => span.end - span.start >= length)
    if (index < 0) return undefined
    const span = this.#free[index]
    const { start } = span
    span.start += length
    if (span.start === span.end) this.#free.splice(index, 1)
    this.#allocated.set(start, length)
    return this.bytes.subarray(start, start + sizeBytes)
  }

  /** Takes back what `allocate` returned. */
  release(buffer: Uint8Array): void {
    const start = buffer.byteOffset
    const length = this.#allocated.get(start)
    if (buffer.buffer !== this.bytes.buffer || length === undefined) {
      throw new Error('memory was released that is not allocated here')
    }
    this.#allocated.delete(start)
    const end = start + length
    let index = this.#free.findIndex(span => span.start >= end)
    if (index < 0) index = this.#free.length
    this.#free.splice(index, 0, { start, end })
    this.#join(index)
    this.#join(index - 1)
  }

  /** Merges a free span and the next one if they are adjacent. */
  #join(index: number): void {
    const span = this.#free[index]
    const next = this.#free[index + 1]
    if (span === undefined || next === undefined || span.end !== next.start) return
    span.end = next.end
    this.#free.splice(index + 1, 1)
  }

  /** Where the kernels find the addresses of inputs and outputs. */
  readonly inputsAddress = inputsAddress
  readonly outputsAddress = outputsAddress

  setInput(index: number, address: number): void {
    this.#view.setUint32(inputsAddress + index * 4, address, true)
  }

  setOutput(index: number, address: number): void {
    this.#view.setUint32(outputsAddress + index * 4, address, true)
  }

  /** Room of `pieceBytes` for a piece of a shard, by the shard's number in its code. */
  stagingOf(shard: number): number {
    return stagingAddress + shard * stagingStep
  }
}
