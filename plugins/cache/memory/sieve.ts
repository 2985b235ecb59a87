/**
 * A map that is bounded by bytes and evicts by SIEVE: a queue from the oldest entry to the newest, and a hand that moves in that
 * direction. A hit marks its entry and moves nothing. To make room the hand takes the mark from marked entries and evicts the first
 * without one. Entries that are asked for once leave soon, so scans do little harm.
 *
 * Source: Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU", NSDI 2024, algorithm 1.
 *
 * Invariants:
 *
 * 1. The sum of the entries' bytes never exceeds the budget. The bytes of a queue with its inner queues never exceed its limit, except after the
 *    limit was lowered and before the next `set` into one of them, or `settle`.
 * 2. The hand of a queue is nowhere, which stands for the oldest entry, or a place of the queue.
 * 3. An eviction looks at no more than every entry once, and at one entry twice.
 *
 * Entries may be in queues with limits of their own, nested within the outermost queue, whose limit is the budget. Each queue evicts by SIEVE. When
 * a nested queue is full, the queue that the new entry goes into evicts its own entries. If it has none, the largest queue within the full one
 * evicts. When the budget is spent, the largest of all queues evicts. The largest is the one whose own entries have the most bytes.
 *
 * An entry is a place in arrays, not an object of its own: caches of small answers have many.
 */

export interface SieveOptions<Value> {
  readonly budgetBytes: number
  /** Called after an entry was evicted; neither for deleted nor for replaced entries. */
  readonly onEvict?: (key: string, value: Value) => void
  /** Called with each value that is evicted, deleted or replaced. Not called by `clear`. */
  readonly onRemove?: (value: Value) => void
}

/** The place that is before the oldest and behind the newest. */
const nowhere = -1

/** A queue of a sieve, created by `Sieve.queue`. */
export class SieveQueue {
  /**
   * Limit of the bytes of its own entries and those of its inner queues. A lowered limit takes effect at the next `set` into the queue or an inner
   * one, or by `settle`.
   */
  limitBytes: number
  readonly within: SieveQueue | undefined
  readonly number: number
  oldest = nowhere
  newest = nowhere
  hand = nowhere
  /** Number of queues directly within it. */
  parts = 0
  /** `ownBytes`: of its own entries. `bytes`: with those of its inner queues. */
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
  /** Queues by number. Undefined: freed. */
  readonly #queues: (SieveQueue | undefined)[]
  readonly #freeNumbers: number[] = []
  #evictions = 0
  /** Keys by place. Free places are linked by `#newer`. */
  readonly #keys: (string | undefined)[] = []
  readonly #values: (Value | undefined)[] = []
  #sizes = new Float64Array(firstPlaces)
  #marks = new Uint8Array(firstPlaces)
  /** By place: number of the entry's queue. */
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

  /** The sum of the `bytes` of all entries, as they were given to `set`. */
  get bytes(): number {
    return this.#all.bytes
  }

  /** Number of entries that were evicted since the start. */
  get evictions(): number {
    return this.#evictions
  }

  get budgetBytes(): number {
    return this.#all.limitBytes
  }

  /** Evicts at once what exceeds the new budget. */
  set budgetBytes(budgetBytes: number) {
    this.#all.limitBytes = budgetBytes
    this.#makeRoom(this.#all, 0)
  }

  /** Creates a queue. Its entries count towards the limit of `within`, too. Undefined if the sieve has 65 536 queues. */
  queue(limitBytes: number, within = this.#all): SieveQueue | undefined {
    const number = this.#freeNumbers.pop() ?? this.#queues.length
    if (number >= queuesMax) return undefined
    const queue = new SieveQueue(number, limitBytes, within)
    this.#queues[number] = queue
    within.parts++
    return queue
  }

  /** Number of queues, without the outermost one. */
  get queueCount(): number {
    return this.#queues.length - this.#freeNumbers.length - 1
  }

  /** Frees an empty queue, which must not be used afterwards. False, and nothing is freed, if it has entries or inner queues, or was freed before. */
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

  /** Whether so many more bytes fit without an eviction. */
  hasRoom(bytes: number, queue = this.#all): boolean {
    for (let one: SieveQueue | undefined = queue; one !== undefined; one = one.within)
      if (one.bytes + bytes > one.limitBytes) return false
    return true
  }

  /** Evicts what exceeds the limit of a queue, after the limit was lowered. */
  settle(queue: SieveQueue): void {
    this.#makeRoom(queue, 0)
  }

  get(key: string): Value | undefined {
    const place = this.#places.get(key)
    if (place === undefined) return undefined
    this.#marks[place] = 1
    return this.#values[place]
  }

  /** The entry's place: a number below 2³² that it keeps until it is set again. */
  placeOf(key: string): number | undefined {
    return this.#places.get(key)
  }

  /** The entry at this place. Undefined: there is none. */
  at(place: number): { readonly key: string; readonly value: Value } | undefined {
    const key = this.#keys[place]
    return key === undefined ? undefined : { key, value: this.#values[place] as Value }
  }

  /** Replaces the value of the entry at this place. Its bytes, mark and queue stay; `onRemove` is not called. */
  changeAt(place: number, value: Value): void {
    this.#values[place] = value
  }

  /** Like `get`, but does not mark the entry. */
  peek(key: string): Value | undefined {
    const place = this.#places.get(key)
    return place === undefined ? undefined : this.#values[place]
  }

  /**
   * Replaces an entry of the same key. Its mark stays, and its queue too unless another is named. False if the bytes exceed the budget, or the limit
   * of the queue or of a queue around it; then the key has no entry.
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

  /** Keys from the oldest entry to the newest. An entry that is set during the iteration comes last, even if it came before. */
  keys(): MapIterator<string> {
    return this.#places.keys()
  }

  /**
   * Evicts until so many more bytes fit into the queue. False, and nothing is evicted, if they exceed the limit of the queue or of a queue around it.
   */
  #makeRoom(queue: SieveQueue, bytes: number): boolean {
    for (let one: SieveQueue | undefined = queue; one !== undefined; one = one.within)
      if (bytes > one.limitBytes) return false
    for (let one: SieveQueue | undefined = queue; one !== undefined; one = one.within) {
      while (one.bytes + bytes > one.limitBytes) this.#evict(this.#largest(queue, one))
    }
    return true
  }

  /** The queue that evicts, so that `full` gets room for an entry of `queue`. Called only while `full` or a queue within it has entries. */
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
