/**
 * Lets a thread check by shared memory, without a message, whether its cached copy of a document is still current. The memory has two
 * counters for each of 4096 slots; a document belongs to the slot given by the hash of its record key:
 *
 * - *touched* counts changes of the slot's documents. The storage thread increments it inside the commit, before the change is
 *   durable and so before any reader can see it.
 * - *settled* is the value of *touched* up to which every change is durable or has failed.
 *
 * Invariants:
 *
 * 1. A cached entry has a generation: the value of *touched* before the record was read. It is cached only if *settled* was equal to
 *    it then, and *touched* still had that value after the read. So the record has every change that the value counts, and no other.
 * 2. While *touched* has that value, no further change has begun: the cached entry is what storage would answer.
 * 3. Otherwise the thread asks storage, which answers as of the last acknowledged commit of any thread.
 */
const slotBits = 12
export const slotCount = 1 << slotBits
const headCells = 16
const cell = { published: 0 } as const

export const generationsBytes = (headCells + 2 * slotCount) * 4

export class Generations {
  readonly memory: SharedArrayBuffer
  readonly #head: Int32Array
  readonly #touched: Int32Array
  readonly #settled: Int32Array

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory
    this.#head = new Int32Array(memory, 0, headCells)
    this.#touched = new Int32Array(memory, headCells * 4, slotCount)
    this.#settled = new Int32Array(memory, (headCells + slotCount) * 4, slotCount)
  }

  touched(slot: number): number {
    return Atomics.load(this.#touched, slot)
  }

  isSettled(slot: number, generation: number): boolean {
    return Atomics.load(this.#settled, slot) === generation
  }

  /** Only in the storage thread. */
  touch(slot: number): void {
    Atomics.add(this.#touched, slot, 1)
  }

  /** Only in the storage thread. */
  settle(slot: number, generation: number): void {
    Atomics.store(this.#settled, slot, generation)
  }

  /** Number of the last notice of changes; wraps. */
  get published(): number {
    return Atomics.load(this.#head, cell.published)
  }

  /** Only in the storage thread; returns the number of the next notice. */
  publish(): number {
    Atomics.add(this.#head, cell.published, 1)
    return this.published
  }
}

/** FNV-1a over the record key, folded. */
export function slotOf(key: Uint8Array): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key[i]!, 0x01000193)
  return (hash ^ (hash >>> 15)) & (slotCount - 1)
}
