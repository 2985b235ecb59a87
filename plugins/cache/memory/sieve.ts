/**
 * A map that is bounded by bytes and evicts by SIEVE: a queue from the oldest entry to the newest, and a hand that moves in that
 * direction. A hit marks its entry and moves nothing. To make room the hand takes the mark from marked entries and evicts the first
 * without one. Entries that are asked for once leave soon, so scans do little harm.
 *
 * Source: Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU", NSDI 2024, algorithm 1.
 *
 * Invariants:
 *
 * 1. The sum of the entries' bytes never exceeds the budget; that of a queue and of those within it never exceeds its limit.
 * 2. The hand of a queue is nowhere, which stands for the oldest entry, or a place of the queue.
 * 3. An eviction looks at no more than every entry once, and at one entry twice.
 *
 * Entries may be in queues of their own, each with a limit, within the one that everything is in: each evicts by SIEVE. Where a queue is
 * full, its own entries give way, and those of the queues within it where it has none; where the budget is spent, those of the largest queue.
 *
 * An entry is a place in arrays, not an object of its own: caches of small answers have many.
 */

export interface SieveOptions<Value> {
  readonly budgetBytes: number
  /** Called after an entry has given way to others; neither for deleted nor for replaced entries. */
  readonly onEvict?: (key: string, value: Value) => void
  /** Called with each value that goes: evicted, deleted or replaced. */
  readonly onRemove?: (value: Value) => void
}

/** No place: before the oldest, behind the newest. */
const nowhere = -1

/** One of those that a sieve has made. */
export class SieveQueue {
  /** Bytes of its entries and of those of the queues within it. Lowered, it counts at the next `set`, or when it is settled. */
  limitBytes: number
  readonly within: SieveQueue | undefined
  readonly number: number
  oldest = nowhere
  newest = nowhere
  hand = nowhere
  /** Queues within it. */
  parts = 0
  /** Of its own entries, and with those of the queues within it. */
  ownBytes = 0
  bytes = 0

  constructor(number: number, limitBytes: number, within: SieveQueue | undefined) {
    this.number = number
    this.limitBytes = limitBytes
    this.within = within
  }

  isPartOf(queue: SieveQueue): boolean {
    return this === queue || this.within?.isPartOf(queue) === true
  }

  add(bytes: number): void {
    this.bytes += bytes
    this.within?.add(bytes)
  }
}

const firstPlaces = 64
const queuesMax = 65_536

export class Sieve<Value> {
  readonly #places = new Map<string, number>()
  readonly #onEvict: SieveOptions<Value>['onEvict']
  readonly #onRemove: SieveOptions<Value>['onRemove']
  readonly #all: SieveQueue
  /** By number; undefined: freed. */
  readonly #queues: (SieveQueue | undefined)[]
  readonly #freeNumbers: number[] = []
  #evictions = 0
  /** By place. Free places are a list by `#newer`. */
  readonly #keys: (string | undefined)[] = []
  readonly #values: (Value | undefined)[] = []
  #sizes = new Float64Array(firstPlaces)
  #marks = new Uint8Array(firstPlaces)
  /** Numbers of queues. */
  #members = new Uint16Array(firstPlaces)
  #older = new Int32Array(firstPlaces)
  #newer = new Int32Array(firstPlaces)
  #free = nowhere

  constructor({ budgetBytes, onEvict, onRemove }: SieveOptions<Value>) {
    this.#all = new SieveQueue(0, budgetBytes, undefined)
    this.#queues = [this.#all]
    this.#onEvict = onEvict
    this.#onRemove = onRemove
  }

  get size(): number {
    return this.#places.size
  }

  /** The sum of what `set` was told. */
  get bytes(): number {
    return this.#all.bytes
  }

  /** Entries that gave way to others. */
  get evictions(): number {
    return this.#evictions
  }

  get budgetBytes(): number {
    return this.#all.limitBytes
  }

  /** Evicts at once what is too much. */
  set budgetBytes(budgetBytes: number) {
    this.#all.limitBytes = budgetBytes
    this.#makeRoom(this.#all, 0)
  }

  /** `within`: another one, which counts its entries, too. Undefined: there are as many as there can be. */
  queue(limitBytes: number, within = this.#all): SieveQueue | undefined {
    const number = this.#freeNumbers.pop() ?? this.#queues.length
    if (number >= queuesMax) return undefined
    const queue = new SieveQueue(number, limitBytes, within)
    this.#queues[number] = queue
    within.parts++
    return queue
  }

  /** Beside the one that everything is in. */
  get queueCount(): number {
    return this.#queues.length - this.#freeNumbers.length - 1
  }

  /** False: it has entries, or queues within it. Otherwise it must not be used any more. */
  free(queue: SieveQueue): boolean {
    if (queue.oldest !== nowhere || queue.parts > 0 || this.#queues[queue.number] !== queue) return false
    this.#queues[queue.number] = undefined
    this.#freeNumbers.push(queue.number)
    if (queue.within !== undefined) queue.within.parts--
    return true
  }

  /** Deletes the oldest of the queue's own entries, and returns its key. */
  deleteOldest(queue: SieveQueue): string | undefined {
    const place = queue.oldest
    if (place === nowhere) return undefined
    const key = this.#keys[place] as string
    this.#remove(place)
    return key
  }

  /** Whether so many more bytes push nobody out. */
  hasRoom(bytes: number, queue = this.#all): boolean {
    for (let one: SieveQueue | undefined = queue; one !== undefined; one = one.within)
      if (one.bytes + bytes > one.limitBytes) return false
    return true
  }

  /** Evicts what is above the limit of a queue that was lowered. */
  settle(queue: SieveQueue): void {
    this.#makeRoom(queue, 0)
  }

  get(key: string): Value | undefined {
    const place = this.#places.get(key)
    if (place === undefined) return undefined
    this.#marks[place] = 1
    return this.#values[place]
  }

  /** A number below 2³² that the entry has until it is set again. */
  placeOf(key: string): number | undefined {
    return this.#places.get(key)
  }

  /** Undefined: no entry is there. */
  at(place: number): { readonly key: string; readonly value: Value } | undefined {
    const key = this.#keys[place]
    return key === undefined ? undefined : { key, value: this.#values[place] as Value }
  }

  /** The same entry in another form. */
  changeAt(place: number, value: Value): void {
    this.#values[place] = value
  }

  /** Without marking it. */
  peek(key: string): Value | undefined {
    const place = this.#places.get(key)
    return place === undefined ? undefined : this.#values[place]
  }

  /**
   * Replaces an entry of the same key, whose mark stays, and whose queue, unless another one is named. False: larger than the budget, or than
   * the limit of the queue; then the key has no entry.
   */
  set(key: string, value: Value, bytes: number, wanted?: SieveQueue): boolean {
    const replaced = this.#places.get(key)
    const queue = wanted ?? (replaced === undefined ? this.#all : this.#queueOf(replaced))
    const mark = replaced === undefined ? 0 : (this.#marks[replaced] as number)
    if (replaced !== undefined) this.#remove(replaced)
    if (!this.#makeRoom(queue, bytes)) return false
    const place = this.#takePlace()
    this.#keys[place] = key
    this.#values[place] = value
    this.#sizes[place] = bytes
    this.#marks[place] = mark
    this.#members[place] = queue.number
    this.#older[place] = queue.newest
    this.#newer[place] = nowhere
    if (queue.newest === nowhere) queue.oldest = place
    else this.#newer[queue.newest] = place
    queue.newest = place
    this.#places.set(key, place)
    queue.ownBytes += bytes
    queue.add(bytes)
    return true
  }

  delete(key: string): boolean {
    const place = this.#places.get(key)
    if (place === undefined) return false
    this.#remove(place)
    return true
  }

  clear(): void {
    this.#places.clear()
    this.#keys.length = 0
    this.#values.length = 0
    this.#free = nowhere
    for (const queue of this.#queues) {
      if (queue === undefined) continue
      queue.oldest = nowhere
      queue.newest = nowhere
      queue.hand = nowhere
      queue.ownBytes = 0
      queue.bytes = 0
    }
  }

  /** From the oldest to the newest by insertion. An entry that is set while this goes on comes last, and may come again. */
  keys(): MapIterator<string> {
    return this.#places.keys()
  }

  /** For so many more bytes in a queue. False: it could never have them. */
  #makeRoom(queue: SieveQueue, bytes: number): boolean {
    for (let one: SieveQueue | undefined = queue; one !== undefined; one = one.within)
      if (bytes > one.limitBytes) return false
    for (let one: SieveQueue | undefined = queue; one !== undefined; one = one.within) {
      while (one.bytes + bytes > one.limitBytes) this.#evict(this.#largest(queue, one))
    }
    return true
  }

  /** Of which an entry gives way to one in `queue`, so that `full` has room. Only called while that has entries. */
  #largest(queue: SieveQueue, full: SieveQueue): SieveQueue {
    if (this.queueCount === 0 || (full !== this.#all && queue.oldest !== nowhere)) return queue
    let largest: SieveQueue | undefined
    for (const one of this.#queues) {
      if (one === undefined || one.oldest === nowhere || !one.isPartOf(full)) continue
      if (largest === undefined || one.ownBytes > largest.ownBytes) largest = one
    }
    return largest as SieveQueue
  }

  #evict(queue: SieveQueue): void {
    let hand = queue.hand === nowhere ? queue.oldest : queue.hand
    while (this.#marks[hand] === 1) {
      this.#marks[hand] = 0
      hand = this.#newer[hand] as number
      if (hand === nowhere) hand = queue.oldest
    }
    queue.hand = hand
    const key = this.#keys[hand] as string
    const value = this.#values[hand] as Value
    this.#remove(hand)
    this.#evictions++
    this.#onEvict?.(key, value)
  }

  #remove(place: number): void {
    const older = this.#older[place] as number
    const newer = this.#newer[place] as number
    const bytes = this.#sizes[place] as number
    const queue = this.#queueOf(place)
    if (queue.hand === place) queue.hand = newer
    if (older === nowhere) queue.oldest = newer
    else this.#newer[older] = newer
    if (newer === nowhere) queue.newest = older
    else this.#older[newer] = older
    this.#places.delete(this.#keys[place] as string)
    queue.ownBytes -= bytes
    queue.add(-bytes)
    const value = this.#values[place] as Value
    this.#keys[place] = undefined
    this.#values[place] = undefined
    this.#newer[place] = this.#free
    this.#free = place
    this.#onRemove?.(value)
  }

  #queueOf(place: number): SieveQueue {
    return this.#queues[this.#members[place] as number] as SieveQueue
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
    const grown = <T extends Float64Array | Uint8Array | Uint16Array | Int32Array>(to: T, from: T): T => {
      to.set(from)
      return to
    }
    this.#sizes = grown(new Float64Array(count), this.#sizes)
    this.#marks = grown(new Uint8Array(count), this.#marks)
    this.#members = grown(new Uint16Array(count), this.#members)
    this.#older = grown(new Int32Array(count), this.#older)
    this.#newer = grown(new Int32Array(count), this.#newer)
  }
}
