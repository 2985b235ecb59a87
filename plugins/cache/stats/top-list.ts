/**
 * The most frequent names, in bounded memory (after the algorithm Space-Saving): a new name begins with the largest count of a forgotten one, so that
 * it is never counted too low, and rarely too high.
 */
const keptMax = 1000

export interface Counted {
  requests: number
  misses: number
}

export class TopList<Group extends object> {
  readonly #counts = new Map<Group, Map<string, Counted>>()
  #size = 0
  /** The largest count of a name when it was forgotten. */
  #forgotten = 0

  /** Counts a request of a name, which is counted for each group on its own. */
  add(group: Group, name: string, isMiss: boolean): void {
    const counted = this.#counts.get(group)?.get(name) ?? this.#begin(group, name)
    counted.requests++
    if (isMiss) counted.misses++
  }

  entries(): readonly (readonly [group: Group, name: string, counted: Counted])[] {
    return [...this.#counts].flatMap(([group, names]) =>
      [...names].map(([name, counted]) => [group, name, counted] as const),
    )
  }

  #begin(group: Group, name: string): Counted {
    // Half of the names are forgotten at once, which is cheaper than one at a time.
    if (this.#size >= 2 * keptMax) this.#forget()
    let names = this.#counts.get(group)
    if (names === undefined) {
      names = new Map()
      this.#counts.set(group, names)
    }
    const counted = { requests: this.#forgotten, misses: 0 }
    names.set(name, counted)
    this.#size++
    return counted
  }

  #forget(): void {
    const sorted = this.entries().toSorted(([, , a], [, , b]) => b.requests - a.requests)
    for (const [group, name, { requests }] of sorted.slice(keptMax)) {
      const names = this.#counts.get(group)
      names?.delete(name)
      if (names?.size === 0) this.#counts.delete(group)
      this.#size--
      this.#forgotten = Math.max(this.#forgotten, requests)
    }
  }
}
