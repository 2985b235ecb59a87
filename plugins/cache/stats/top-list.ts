/**
 * The names that are counted most, in bounded memory (space-saving): a new name begins with the count of the least one that was kept, so
 * that it is never counted too low, and rarely too high.
 */
const keptMax = 1000

export interface Counted {
  requests: number
  misses: number
}

export class TopList {
  readonly #counts = new Map<string, Counted>()
  /** Of the last names that were forgotten: the most that one of them can have had. */
  #forgotten = 0

  add(name: string, isMiss: boolean): void {
    let counted = this.#counts.get(name)
    if (counted === undefined) {
      // Half of them are forgotten at once, which is cheaper than one at a time.
      if (this.#counts.size >= 2 * keptMax) this.#forget()
      counted = { requests: this.#forgotten, misses: 0 }
      this.#counts.set(name, counted)
    }
    counted.requests++
    if (isMiss) counted.misses++
  }

  entries(): readonly (readonly [name: string, counted: Counted])[] {
    return [...this.#counts]
  }

  #forget(): void {
    const sorted = [...this.#counts].sort(([, a], [, b]) => b.requests - a.requests)
    for (const [name, { requests }] of sorted.slice(keptMax)) {
      this.#counts.delete(name)
      this.#forgotten = Math.max(this.#forgotten, requests)
    }
  }
}
