/**
 * A thread can check in shared memory, without a message, whether its cached copy of a document is still current. The memory has 4096
 * slots with two counters each. The hash of a document's record key selects its slot, so several documents share one. Besides the slots
 * the memory has the number of the last notice of changes (`published`).
 *
 * - *touched* counts the changes of all documents of the slot. The storage thread increments it inside the commit. The change is not
 *   durable yet, so no reader can see it.
 * - *settled* is a former or the current value of *touched*. Each change that was counted in this value is durable or has failed.
 *
 * Invariants:
 *
 * 1. The generation of a cached entry is the value of *touched* before its record was read. The entry is cached only if *settled* was
 *    equal to *touched* before the read, and *touched* had not changed after it. So the record contains each change that the generation
 *    counts, and no later one.
 * 2. While *touched* equals the generation, no later change has begun, and storage would answer with the cached record.
 * 3. If *touched* differs, the thread asks storage, and the answer includes every acknowledged commit of all threads.
 *
 * The counters have 32 bits and wrap around. A wrong match needs exactly 2^32 changes of one slot between two uses of an entry.
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

  /** The number of the last notice of changes. It wraps around at 2^32. */
  get published(): number {
    return Atomics.load(this.#head, cell.published)
  }

  /** Only in the storage thread. Returns the number of the next notice. */
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
