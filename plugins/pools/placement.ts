/**
 * Chooses the set of a new blob at random, weighted by free space. Every thread chooses by figures in shared memory, which the storage
 * thread updates every two seconds (worker `placement` in `index.ts`).
 */
import type { Random } from 'svc/kernel'
import type { DriveStatus } from 'svc/plugins/storage/api'
import type { PoolSet } from './opening.ts'

const unitBytes = 1024 * 1024
const unitsMax = 2 ** 31 - 1

export class Placement {
  /** By the number of the set: free space for data in MiB, 0 if it takes no blobs. */
  readonly cells: Int32Array
  readonly #random: Random

  constructor(memory: SharedArrayBuffer, random: Random) {
    this.cells = new Int32Array(memory)
    this.#random = random
  }

  static memoryFor(setCount: number): SharedArrayBuffer {
    return new SharedArrayBuffer(setCount * 4)
  }

  /** The number of a set. If none has room, the record set, whose error says why. */
  choose(sizeHint = 0): number {
    const wanted = Math.ceil(sizeHint / unitBytes)
    const weights = Array.from(this.cells, (_, number) => Atomics.load(this.cells, number))
    const roomy = weights.map(free => (free > wanted * 2 ? free : 0))
    const chosen = roomy.some(free => free > 0) ? roomy : weights
    let sum = 0
    for (const free of chosen) sum += free
    if (sum === 0) return 0
    let at = (this.#random.bytes(4).readUInt32LE(0) / 2 ** 32) * sum
    for (const [number, free] of chosen.entries()) {
      if (at < free) return number
      at -= free
    }
    return 0
  }

  /** The set has just failed: gets no blobs until the next `look`. */
  exclude(number: number): void {
    Atomics.store(this.cells, number, 0)
  }

  /** Updates the figures; in the storage thread. */
  async look(sets: readonly PoolSet[]): Promise<void> {
    await Promise.all(
      sets.map(async ({ backend, number }) => {
        const { redundant } = backend
        const free = redundant?.canWrite ? freeBytes(await backend.drives(), redundant.dataCount) : 0
        Atomics.store(this.cells, number, Math.min(unitsMax, Math.floor(free / unitBytes)))
      }),
    )
  }
}

/** Bounded by the drive with the least room, because each drive gets the same amount. */
function freeBytes(drives: readonly DriveStatus[], dataCount: number): number {
  let least = Number.POSITIVE_INFINITY
  for (const { state, freeBytes: free, place } of drives) {
    if (state === 'full') return 0
    if (state === 'online' && place?.isCurrent !== false) least = Math.min(least, free)
  }
  return least === Number.POSITIVE_INFINITY ? 0 : least * dataCount
}
