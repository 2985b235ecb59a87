/**
 * A map that is bounded by bytes and evicts by SIEVE: a queue from the oldest entry to the newest, and a hand that moves in that
 * direction. A hit marks its entry and moves nothing. To make room the hand takes the mark from marked entries and evicts the first
 * without one. Entries that are asked for once leave soon, so scans do little harm.
 *
 * Source: Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU", NSDI 2024, algorithm 1.
 *
 * Invariants:
 *
 * 1. The sum of the entries' bytes never exceeds the budget.
 * 2. The hand is nowhere, which stands for the oldest entry, or a place of the queue.
 * 3. An eviction looks at no more than every entry once, and at one entry twice.
 *
 * An entry is a place in arrays, not an object of its own: caches of small answers have many.
 */

export interface SieveOptions<Value> {
  readonly budgetBytes: number
  /** Called after an entry has given way to others; neither for deleted nor for replaced entries. */
  readonly onEvict?: (key: string, value: Value) => void
}

/** No place: before the oldest, behind the newest. */
const nowhere = -1
const firstPlaces = 64

export class Sieve<Value> {
  readonly #places = new Map<string, number>()
  readonly #onEvict: SieveOptions<Value>['onEvict']
  #budgetBytes: number
  #oldest = nowhere
  #newest = nowhere
  #hand = nowhere
  #bytes = 0
  #evictions = 0
  /** By place. Free places are a list by `#newer`. */
  readonly #keys: (string | undefined)[] = []
  readonly #values: (Value | undefined)[] = []
  #sizes = new Float64Array(firstPlaces)
  #marks = new Uint8Array(firstPlaces)
  #older = new Int32Array(firstPlaces)
  #newer = new Int32Array(firstPlaces)
  #free = nowhere

  constructor({ budgetBytes, onEvict }: SieveOptions<Value>) {
    this.#budgetBytes = budgetBytes
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#places.size
  }

  /** The sum of what `set` was told. */
  get bytes(): number {
    return this.#bytes
  }

  /** Entries that gave way to others. */
  get evictions(): number {
    return this.#evictions
  }

  get budgetBytes(): number {
    return this.#budgetBytes
  }

  /** Evicts at once what is too much. */
  set budgetBytes(budgetBytes: number) {
    this.#budgetBytes = budgetBytes
    this.#makeRoom(0)
  }

  get(key: string): Value | undefined {
    const place = this.#places.get(key)
    if (place === undefined) return undefined
    this.#marks[place] = 1
    return this.#values[place]
  }

  /** Without marking it. */
  peek(key: string): Value | undefined {
    const place = this.#places.get(key)
    return place === undefined ? undefined : this.#values[place]
  }

  /** Replaces an entry of the same key, whose mark stays. False: larger than the budget; then the key has no entry. */
  set(key: string, value: Value, bytes: number): boolean {
    const replaced = this.#places.get(key)
    const mark = replaced === undefined ? 0 : (this.#marks[replaced] as number)
    if (replaced !== undefined) this.#remove(replaced)
    if (bytes > this.#budgetBytes) return false
    this.#makeRoom(bytes)
    const place = this.#takePlace()
    this.#keys[place] = key
    this.#values[place] = value
    this.#sizes[place] = bytes
    this.#marks[place] = mark
    this.#older[place] = this.#newest
    this.#newer[place] = nowhere
    if (this.#newest === nowhere) this.#oldest = place
    else this.#newer[this.#newest] = place
    this.#newest = place
    this.#places.set(key, place)
    this.#bytes += bytes
    return true
  }

  delete(key: string): boolean {
    const place = this.#places.get(key)
    if (place === undefined) return false
    this.#remove(place)
    return true
  }

  /** Evicts the entry that SIEVE chooses. False: there is none. */
  evict(): boolean {
    if (this.#oldest === nowhere) return false
    const place = this.#victim()
    const key = this.#keys[place] as string
    const value = this.#values[place] as Value
    this.#remove(place)
    this.#evictions++
    this.#onEvict?.(key, value)
    return true
  }

  clear(): void {
    this.#places.clear()
    this.#keys.length = 0
    this.#values.length = 0
    this.#oldest = nowhere
    this.#newest = nowhere
    this.#hand = nowhere
    this.#free = nowhere
    this.#bytes = 0
  }

  /** From the oldest to the newest by insertion. An entry that is set while this goes on comes last, and may come again. */
  keys(): MapIterator<string> {
    return this.#places.keys()
  }

  #makeRoom(bytes: number): void {
    while (this.#bytes + bytes > this.#budgetBytes) if (!this.evict()) return
  }

  /** Only called while there are entries. */
  #victim(): number {
    let hand = this.#hand === nowhere ? this.#oldest : this.#hand
    while (this.#marks[hand] === 1) {
      this.#marks[hand] = 0
      hand = this.#newer[hand] as number
      if (hand === nowhere) hand = this.#oldest
    }
    this.#hand = hand
    return hand
  }

  #remove(place: number): void {
    const older = this.#older[place] as number
    const newer = this.#newer[place] as number
    if (this.#hand === place) this.#hand = newer
    if (older === nowhere) this.#oldest = newer
    else this.#newer[older] = newer
    if (newer === nowhere) this.#newest = older
    else this.#older[newer] = older
    this.#places.delete(this.#keys[place] as string)
    this.#bytes -= this.#sizes[place] as number
    this.#keys[place] = undefined
    this.#values[place] = undefined
    this.#newer[place] = this.#free
    this.#free = place
  }

  #takePlace(): number {
    const place = this.#free
    if (place !== nowhere) {
      this.#free = this.#newer[place] as number
      return place
    }
    const next = this.#keys.length
    if (next === this.#marks.length) this.#grow()
    return next
  }

  #grow(): void {
    const count = Math.ceil(this.#marks.length * 1.5)
    const grown = <T extends Float64Array | Uint8Array | Int32Array>(to: T, from: T): T => {
      to.set(from)
      return to
    }
    this.#sizes = grown(new Float64Array(count), this.#sizes)
    this.#marks = grown(new Uint8Array(count), this.#marks)
    this.#older = grown(new Int32Array(count), this.#older)
    this.#newer = grown(new Int32Array(count), this.#newer)
  }
}
