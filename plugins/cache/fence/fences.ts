/**
 * Lets a thread check in shared memory, without a message, whether a cached answer still agrees with its bucket. The memory has two counters for
 * each of 65 536 slots; an object key belongs to the slot of its hash:
 *
 * - *touched* counts changes of the slot's keys. The storage thread increments it inside the commit, before the change is durable and so
 *   before anybody can be told of it.
 * - *settled* is the value of *touched* up to which every change is durable or has failed.
 *
 * A *fence* is a slot with the value of *touched* from before the key was read.
 *
 * Invariants (1 and 2 for answers whose policy has `autoInvalidate`):
 *
 * 1. An answer is stored only if *settled* was equal to *touched* when its fences were taken: then it has every change that they count.
 * 2. A stored answer is used only while *touched* still has the value of each of its fences. A write raises *touched* before it is
 *    acknowledged, so after the acknowledgement no thread passes that comparison with an answer from before it.
 * 3. Changes of a bucket are counted from the moment at which it is *watched*. Fences of it are taken only after that, and after every
 *    commit that had begun before has ended (`armed`): no change of a watched bucket is missed.
 *
 * No time, message or timer is part of this. Two keys in one slot cost a look at the metadata, nothing else. Counters wrap after 4 billion
 * changes of one slot.
 */
const slotCount = 65_536
const bucketBits = 65_536
const bucketCells = bucketBits / 32

export const fencesBytes = (2 * slotCount + 2 * bucketCells) * 4

/** Slot and generation in turn, one pair for each key that an answer depends on. */
export type FenceList = readonly number[]

export interface Fence {
  readonly slot: number
  readonly generation: number
  /** Whether every change that the generation counts had ended, and none can have been missed. */
  readonly isSettled: boolean
}

export class Fences {
  readonly memory: SharedArrayBuffer
  readonly #touched: Int32Array
  readonly #settled: Int32Array
  readonly #watched: Int32Array
  readonly #armed: Int32Array

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory
    const cells = (start: number, count: number) => new Int32Array(memory, start * 4, count)
    this.#touched = cells(0, slotCount)
    this.#settled = cells(slotCount, slotCount)
    this.#watched = cells(2 * slotCount, bucketCells)
    this.#armed = cells(2 * slotCount + bucketCells, bucketCells)
  }

  /** Takes a fence. Must be called before the key is read. */
  take(bucket: string, key: string): Fence {
    const slot = slotOf(bucket, key)
    const generation = Atomics.load(this.#touched, slot)
    const isSettled = Atomics.load(this.#settled, slot) === generation && this.isArmed(bucket)
    return { slot, generation, isSettled }
  }

  /** Whether no key of their slots has changed since they were taken. */
  hold(fences: FenceList): boolean {
    for (let i = 0; i < fences.length; i += 2) {
      if (Atomics.load(this.#touched, fences[i] as number) !== fences[i + 1]) return false
    }
    return true
  }

  isWatched(bucket: string): boolean {
    return isSet(this.#watched, bucket)
  }

  watch(bucket: string): void {
    set(this.#watched, bucket)
  }

  isArmed(bucket: string): boolean {
    return isSet(this.#armed, bucket)
  }

  arm(bucket: string): void {
    set(this.#armed, bucket)
  }

  /** Counts a change of the key, and returns its slot. Only in the storage thread. */
  touch(bucket: string, key: string): number {
    const slot = slotOf(bucket, key)
    Atomics.add(this.#touched, slot, 1)
    return slot
  }

  generationOf(slot: number): number {
    return Atomics.load(this.#touched, slot)
  }

  /** Notes that all changes up to `generation` have ended. Only in the storage thread. */
  settle(slot: number, generation: number): void {
    Atomics.store(this.#settled, slot, generation)
  }
}

function isSet(cells: Int32Array, bucket: string): boolean {
  const bit = hashOf(bucket, '') & (bucketBits - 1)
  return (Atomics.load(cells, bit >>> 5) & (1 << (bit & 31))) !== 0
}

function set(cells: Int32Array, bucket: string): void {
  const bit = hashOf(bucket, '') & (bucketBits - 1)
  Atomics.or(cells, bit >>> 5, 1 << (bit & 31))
}

const slotOf = (bucket: string, key: string): number => hashOf(bucket, key) & (slotCount - 1)

/** FNV-1a hash of the code units of both names, folded. */
function hashOf(bucket: string, key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < bucket.length; i++) hash = Math.imul(hash ^ bucket.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ 0x2f, 0x01000193)
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return hash ^ (hash >>> 15)
}
