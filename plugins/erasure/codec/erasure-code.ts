/**
 * Reed–Solomon over the shards of one stripe: `dataCount` shards of data, `parityCount` of parity, any `dataCount` of which
 * determine the others. Shards are numbered, data first, and passed as an array by number; sets of shards are bit masks.
 *
 * 1. Shards of one call have the same length, at least `end`; bytes outside of start…end are neither read nor written.
 * 2. A byte of a shard depends on the bytes at the same place of the others and on nothing else: a range may be computed from
 *    the same range of the others.
 * 3. Shards may lie anywhere. Those in the codec's own memory (`ShardMemory`) are worked on where they are, unless the range is
 *    shorter than 64 bytes; others are copied through it in pieces that stay in the cache.
 * 4. What is written overlaps nothing that is read or written in the same call.
 */
import { setImmediate } from 'node:timers/promises'
import { strideBytesMax } from './kernels.ts'
import { parityCountMax, shardCountMax } from './matrix.ts'
import type { Plan } from './plan.ts'
import { pieceBytes, type ShardMemory } from './shard-memory.ts'

/** By number; undefined where a call neither reads nor writes a shard. */
export type Shards = readonly (Uint8Array | undefined)[]

/** Input bytes after which the event loop gets a turn. */
const turnBytesMax = 256 * 1024

export class ErasureCode {
  readonly memory: ShardMemory
  readonly dataCount: number
  readonly parityCount: number
  readonly shardCount: number
  readonly #dataMask: number
  readonly #allMask: number

  /** 1…16 shards in all, at most 8 of them parity. */
  constructor(memory: ShardMemory, dataCount: number, parityCount: number) {
    const shardCount = dataCount + parityCount
    const areIntegers = Number.isInteger(dataCount) && Number.isInteger(parityCount)
    if (
      !areIntegers ||
      dataCount < 1 ||
      parityCount < 0 ||
      parityCount > parityCountMax ||
      shardCount > shardCountMax
    ) {
      throw new RangeError(`there is no erasure code of ${dataCount} + ${parityCount} shards`)
    }
    this.memory = memory
    this.dataCount = dataCount
    this.parityCount = parityCount
    this.shardCount = shardCount
    this.#dataMask = (1 << dataCount) - 1
    this.#allMask = (1 << shardCount) - 1
  }

  /** Computes the parity shards of all data shards. */
  encode(shards: Shards, start = 0, end = lengthOf(shards)): void {
    if (this.parityCount > 0) this.reconstruct(shards, this.#dataMask, this.#allMask ^ this.#dataMask, start, end)
  }

  /**
   * Computes the shards of the mask `wanted` from those of the mask `present`, of which the first `dataCount` are read. A shard
   * in both masks is left as it is.
   */
  reconstruct(shards: Shards, present: number, wanted: number, start = 0, end = lengthOf(shards)): void {
    const missing = wanted & ~present
    this.#requireShards(present, missing)
    if (missing === 0) return
    const plan = this.memory.plans.get(this.dataCount, present, missing)
    requireRanges(plan, shards, start, end)
    if (end - start >= strideBytesMax && this.#areInside(plan, shards)) this.#runInside(plan, start, end)
    else this.#runPieces(plan, shards, start, end, false)
  }

  /**
   * Whether the shards of `present` are consistent: the first `dataCount` determine the others. Does not tell which one is wrong. Throws
   * if there are no more than `dataCount`.
   */
  verify(shards: Shards, present = this.#allMask, start = 0, end = lengthOf(shards)): boolean {
    this.#requireShards(present, 0)
    let surplus = present
    for (let count = 0; count < this.dataCount; count++) surplus &= surplus - 1
    if (surplus === 0) throw new RangeError('there is no shard to verify the others with')
    const plan = this.memory.plans.get(this.dataCount, present ^ surplus, surplus)
    requireRanges(plan, shards, start, end)
    return this.#runPieces(plan, shards, start, end, true)
  }

  /** `encode` for shards of any length: yields to the event loop after every 256 KiB of data. */
  encodeInTurns(shards: Shards, end = lengthOf(shards)): Promise<void> {
    return this.reconstructInTurns(shards, this.#dataMask, this.#allMask ^ this.#dataMask, end)
  }

  /** `reconstruct` in the same way. The shards must not be changed before it has resolved. */
  async reconstructInTurns(shards: Shards, present: number, wanted: number, end = lengthOf(shards)): Promise<void> {
    const step = Math.floor(turnBytesMax / this.dataCount / strideBytesMax) * strideBytesMax
    for (let at = 0; at < end; at += step) {
      if (at > 0) await setImmediate()
      this.reconstruct(shards, present, wanted, at, Math.min(end, at + step))
    }
  }

  #requireShards(present: number, wanted: number): void {
    let count = 0
    for (let rest = present; rest !== 0; rest &= rest - 1) count++
    if (count < this.dataCount || ((present | wanted) & ~this.#allMask) !== 0) {
      throw new RangeError(`${count} shards given, ${this.dataCount} of ${this.shardCount} needed`)
    }
  }

  /** Whether all shards lie in our memory; if so, the kernels know their addresses. */
  #areInside({ inputs, outputs }: Plan, shards: Shards): boolean {
    const { memory } = this
    const { buffer } = memory.bytes
    for (let index = 0; index < inputs.length; index++) {
      const shard = shards[inputs[index]]!
      if (shard.buffer !== buffer) return false
      memory.setInput(index, shard.byteOffset)
    }
    for (let index = 0; index < outputs.length; index++) {
      const shard = shards[outputs[index]]!
      if (shard.buffer !== buffer) return false
      memory.setOutput(index, shard.byteOffset)
    }
    return true
  }

  #runInside(plan: Plan, start: number, end: number): void {
    // One pass reads everything once anyway; more passes find what the first one read in the cache.
    const step = plan.runs.length === 1 ? end - start : pieceBytes
    for (let at = start; at < end; ) {
      const next = end - at - step < strideBytesMax ? end : at + step
      this.#runKernels(plan, at, next)
      at = next
    }
  }

  /** In pieces, copying shards that are not in this memory. Returns whether all outputs equal the present shards. */
  #runPieces(plan: Plan, shards: Shards, start: number, end: number, isComparison: boolean): boolean {
    const { inputs, outputs } = plan
    const { memory } = this
    const { bytes } = memory
    for (let at = start; at < end; at += pieceBytes) {
      const length = Math.min(pieceBytes, end - at)
      const isLong = length >= strideBytesMax
      for (let index = 0; index < inputs.length; index++) {
        const shard = shards[inputs[index]]!
        const isInside = isLong && shard.buffer === bytes.buffer
        const address = isInside ? shard.byteOffset + at : memory.stagingOf(inputs[index])
        if (!isInside) bytes.set(shard.subarray(at, at + length), address)
        memory.setInput(index, address)
      }
      for (let index = 0; index < outputs.length; index++) {
        const shard = shards[outputs[index]]!
        const isInside = isLong && !isComparison && shard.buffer === bytes.buffer
        memory.setOutput(index, isInside ? shard.byteOffset + at : memory.stagingOf(outputs[index]))
      }
      // Behind a short piece the kernels compute with arbitrary bytes of the staging area; the results are ignored.
      this.#runKernels(plan, 0, Math.max(length, strideBytesMax))
      for (const output of outputs) {
        const shard = shards[output]!
        const address = memory.stagingOf(output)
        if (isComparison) {
          if (bytes.compare(shard, at, at + length, address, address + length) !== 0) return false
        } else if (!isLong || shard.buffer !== bytes.buffer) bytes.copy(shard, at, address, address + length)
      }
    }
    return true
  }

  #runKernels({ inputs, runs }: Plan, start: number, end: number): void {
    const { kernels, inputsAddress, outputsAddress } = this.memory
    for (let index = 0; index < runs.length; index++) {
      const { hasSum, productCount, plain, firstOutput, tables } = runs[index]
      const kernel = (hasSum ? kernels.sums : kernels.products)[productCount]
      kernel(inputsAddress, inputs.length, plain, outputsAddress + firstOutput * 4, tables, start, end)
    }
  }
}

function lengthOf(shards: Shards): number {
  for (let index = 0; index < shards.length; index++) if (shards[index] !== undefined) return shards[index]!.length
  return 0
}

/** The kernels do not check where a shard ends: a range that is too long would read and write other shards. */
function requireRanges({ inputs, outputs }: Plan, shards: Shards, start: number, end: number): void {
  if (!(Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end)) {
    throw new RangeError(`${start}…${end} is no range`)
  }
  for (let index = 0; index < inputs.length; index++) requireLength(shards, inputs[index], end)
  for (let index = 0; index < outputs.length; index++) {
    const output = requireLength(shards, outputs[index], end)
    for (let other = 0; other < inputs.length; other++) requireApart(output, shards[inputs[other]]!, end - start)
    for (let other = 0; other < index; other++) requireApart(output, shards[outputs[other]]!, end - start)
  }
}

function requireLength(shards: Shards, number: number, end: number): Uint8Array {
  const shard = shards[number]
  if (shard === undefined || shard.length < end) throw new RangeError(`shard ${number} has not the ${end} bytes needed`)
  return shard
}

function requireApart(a: Uint8Array, b: Uint8Array, length: number): void {
  if (a.buffer === b.buffer && Math.abs(a.byteOffset - b.byteOffset) < length) throw new RangeError('shards overlap')
}
