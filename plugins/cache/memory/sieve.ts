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
 * 2. The hand is undefined, which stands for the oldest entry, or an entry of the queue.
 * 3. An eviction looks at no more than every entry once, and at one entry twice.
 */

interface Entry<Value> {
  readonly key: string
  value: Value
  bytes: number
  isMarked: boolean
  older: Entry<Value> | undefined
  newer: Entry<Value> | undefined
}

export interface SieveOptions<Value> {
  readonly budgetBytes: number
  /** Called after an entry has given way to others; neither for deleted nor for replaced entries. */
  readonly onEvict?: (key: string, value: Value) => void
}

export class Sieve<Value> {
  readonly #entries = new Map<string, Entry<Value>>()
  readonly #onEvict: SieveOptions<Value>['onEvict']
  #budgetBytes: number
  #oldest: Entry<Value> | undefined
  #newest: Entry<Value> | undefined
  #hand: Entry<Value> | undefined
  #bytes = 0
  #evictions = 0

  constructor({ budgetBytes, onEvict }: SieveOptions<Value>) {
    this.#budgetBytes = budgetBytes
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#entries.size
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
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.isMarked = true
    return entry.value
  }

  /** Without marking it. */
  peek(key: string): Value | undefined {
    return this.#entries.get(key)?.value
  }

  /** Replaces an entry of the same key, whose mark stays. False: larger than the budget; then the key has no entry. */
  set(key: string, value: Value, bytes: number): boolean {
    const replaced = this.#entries.get(key)
    if (replaced !== undefined) this.#remove(replaced)
    if (bytes > this.#budgetBytes) return false
    this.#makeRoom(bytes)
    const entry = { key, value, bytes, isMarked: replaced?.isMarked ?? false, older: this.#newest, newer: undefined }
    if (this.#newest === undefined) this.#oldest = entry
    else this.#newest.newer = entry
    this.#newest = entry
    this.#entries.set(key, entry)
    this.#bytes += bytes
    return true
  }

  delete(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#remove(entry)
    return true
  }

  clear(): void {
    this.#entries.clear()
    this.#oldest = undefined
    this.#newest = undefined
    this.#hand = undefined
    this.#bytes = 0
  }

  /** From the oldest to the newest by insertion. An entry that is set while this goes on comes last, and may come again. */
  keys(): MapIterator<string> {
    return this.#entries.keys()
  }

  #makeRoom(bytes: number): void {
    while (this.#bytes + bytes > this.#budgetBytes) {
      const entry = this.#victim()
      this.#remove(entry)
      this.#evictions++
      this.#onEvict?.(entry.key, entry.value)
    }
  }

  /** Only called while there are entries: an empty queue has no bytes. */
  #victim(): Entry<Value> {
    let hand = this.#hand ?? (this.#oldest as Entry<Value>)
    while (hand.isMarked) {
      hand.isMarked = false
      hand = hand.newer ?? (this.#oldest as Entry<Value>)
    }
    this.#hand = hand
    return hand
  }

  #remove(entry: Entry<Value>): void {
    const { key, bytes, older, newer } = entry
    if (this.#hand === entry) this.#hand = newer
    if (older === undefined) this.#oldest = newer
    else older.newer = newer
    if (newer === undefined) this.#newest = older
    else newer.older = older
    this.#entries.delete(key)
    this.#bytes -= bytes
  }
}
