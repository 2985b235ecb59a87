/**
 * Rise with each unsafe request that succeeds, by slots of ids: an answer that was asked for before is not stored after it. Two ids of one
 * slot cost a read.
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
