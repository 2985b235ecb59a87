/**
 * Counts unsafe requests that succeeded, by slots of ids: an answer that was requested from the origin before such a request is not stored after it.
 * If two ids share a slot, this may cost an unnecessary read.
 */
const slotCount = 4096

const slotOf = (id: string) => ((id.charCodeAt(0) << 8) | id.charCodeAt(1)) % slotCount

export class Generations {
  readonly #slots = new Uint32Array(slotCount)

  of(id: string): number {
    return this.#slots[slotOf(id)] as number
  }

  raise(id: string): void {
    this.#slots[slotOf(id)] = this.of(id) + 1
  }
}
