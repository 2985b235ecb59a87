/**
 * The records of the folder, their sizes, and which one is evicted next. SIEVE chooses it, as in memory (`cache/memory/sieve.ts`). Typed
 * arrays hold 47 bytes per record; the system provides their memory as they fill.
 *
 * Each record has a slot as long as it exists. A hash table with linear probing maps ids to slots.
 *
 * Invariants:
 *
 * 1. `blocks` is the sum of the blocks of all records; `makeRoom` brings it to the budget or below.
 * 2. The queue links every used slot once, from the oldest to the newest; the hand is 0, which stands for the oldest, or a used slot.
 */
export const idBytes = 32
/** Files take whole blocks of the file system. */
export const blockBytes = 4096
const recordsMax = 4 * 1024 * 1024
const tableLoad = 0.75

export const blocksOf = (bytes: number): number => Math.ceil(bytes / blockBytes)

export class DiskIndex {
  readonly budgetBlocks: number
  readonly capacity: number
  /** Slot 0 is not used: 0 stands for no slot. */
  readonly #ids: Uint8Array
  /** The number of blocks, 0 for a free slot. The highest bit marks a record that was used. */
  readonly #facts: Uint16Array
  /** The next newer record of the queue. For a free slot: the next free slot. */
  readonly #newer: Uint32Array
  readonly #older: Uint32Array
  readonly #table: Uint32Array
  readonly #salt: number
  #oldest = 0
  #newest = 0
  #hand = 0
  #free = 0
  #unused = 1
  #size = 0
  #blocks = 0
  #evictions = 0

  /** `salt`: 32 random bits, secret, so that nobody can choose ids that collide. */
  constructor(budgetBytes: number, salt: number) {
    this.budgetBlocks = Math.floor(budgetBytes / blockBytes)
    this.capacity = Math.min(this.budgetBlocks, recordsMax)
    this.#ids = new Uint8Array((this.capacity + 1) * idBytes)
    this.#facts = new Uint16Array(this.capacity + 1)
    this.#newer = new Uint32Array(this.capacity + 1)
    this.#older = new Uint32Array(this.capacity + 1)
    this.#table = new Uint32Array(Math.ceil((this.capacity + 1) / tableLoad))
    this.#salt = salt
  }

  get size(): number {
    return this.#size
  }

  get blocks(): number {
    return this.#blocks
  }

  /** How many records were evicted. */
  get evictions(): number {
    return this.#evictions
  }

  /** 0 if there is none. */
  slotOf(id: Uint8Array): number {
    return this.#table[this.#placeOf(id)] as number
  }

  has(id: Uint8Array): boolean {
    return this.slotOf(id) !== 0
  }

  idOf(slot: number): Buffer {
    return Buffer.from(this.#ids.subarray(slot * idBytes, (slot + 1) * idBytes))
  }

  /** 0 for a free slot. */
  blocksOf(slot: number): number {
    return (this.#facts[slot] as number) & 0x7fff
  }

  isMarked(slot: number): boolean {
    return (this.#facts[slot] as number) > 0x7fff
  }

  mark(id: Uint8Array): void {
    const slot = this.slotOf(id)
    if (slot !== 0) this.#facts[slot] = (this.#facts[slot] as number) | 0x8000
  }

  /** Adds or replaces a record as the newest, and returns its slot. A mark stays. The caller has made room. */
  set(id: Uint8Array, blocks: number, isMarked = false): number {
    const wasMarked = this.isMarked(this.slotOf(id))
    this.delete(id)
    if (this.#size >= this.capacity) throw new RangeError('the index is full')
    const slot = this.#free === 0 ? this.#unused++ : this.#free
    if (slot === this.#free) this.#free = this.#newer[slot] as number
    this.#ids.set(id, slot * idBytes)
    this.#facts[slot] = blocks | (isMarked || wasMarked ? 0x8000 : 0)
    this.#table[this.#placeOf(id)] = slot
    this.#older[slot] = this.#newest
    this.#newer[slot] = 0
    if (this.#newest === 0) this.#oldest = slot
    else this.#newer[this.#newest] = slot
    this.#newest = slot
    this.#size++
    this.#blocks += blocks
    return slot
  }

  delete(id: Uint8Array): boolean {
    const place = this.#placeOf(id)
    const slot = this.#table[place] as number
    if (slot === 0) return false
    this.#closeGap(place)
    const older = this.#older[slot] as number
    const newer = this.#newer[slot] as number
    if (this.#hand === slot) this.#hand = newer
    if (older === 0) this.#oldest = newer
    else this.#newer[older] = newer
    if (newer === 0) this.#newest = older
    else this.#older[newer] = older
    this.#blocks -= this.blocksOf(slot)
    this.#facts[slot] = 0
    this.#newer[slot] = this.#free
    this.#free = slot
    this.#size--
    return true
  }

  /** Evicts records until `records` more with `blocks` more fit the budget, and returns their ids. Undefined if they never fit. */
  makeRoom(blocks: number, records = 1): readonly Buffer[] | undefined {
    if (blocks > this.budgetBlocks || records > this.capacity) return undefined
    const evicted: Buffer[] = []
    while (this.#blocks + blocks > this.budgetBlocks || this.#size + records > this.capacity) {
      const id = this.idOf(this.#victim())
      this.delete(id)
      this.#evictions++
      evicted.push(id)
    }
    return evicted
  }

  /** The next used slot by number, 0 at the end. The slot of a record never changes. */
  slotAfter(slot: number): number {
    for (let next = slot + 1; next < this.#unused; next++) if (this.blocksOf(next) > 0) return next
    return 0
  }

  #victim(): number {
    let hand = this.#hand === 0 ? this.#oldest : this.#hand
    while (this.isMarked(hand)) {
      this.#facts[hand] = this.blocksOf(hand)
      hand = (this.#newer[hand] as number) || this.#oldest
    }
    this.#hand = hand
    return hand
  }

  #homeOf(id: Uint8Array, start = 0): number {
    let hash = this.#salt
    for (let i = start; i < start + 8; i += 4) {
      const word =
        (id[i] as number) | ((id[i + 1] as number) << 8) | ((id[i + 2] as number) << 16) | ((id[i + 3] as number) << 24)
      hash = Math.imul(hash ^ word, 0x9e3779b1)
      hash ^= hash >>> 15
    }
    hash = Math.imul(hash, 0x85ebca6b)
    return Math.floor(((hash ^ (hash >>> 13)) >>> 0) * (this.#table.length / 2 ** 32))
  }

  /** The place of the id in the table, or the empty one where it would be. */
  #placeOf(id: Uint8Array): number {
    const table = this.#table
    let place = this.#homeOf(id)
    for (;;) {
      const slot = table[place] as number
      if (slot === 0 || this.#isOf(slot, id)) return place
      place = place + 1 === table.length ? 0 : place + 1
    }
  }

  #isOf(slot: number, id: Uint8Array): boolean {
    const start = slot * idBytes
    for (let i = 0; i < idBytes; i++) if (this.#ids[start + i] !== id[i]) return false
    return true
  }

  /** Empties the place, and moves entries behind it that a search would no longer reach. */
  #closeGap(place: number): void {
    const table = this.#table
    let gap = place
    let next = place
    for (;;) {
      next = next + 1 === table.length ? 0 : next + 1
      const slot = table[next] as number
      if (slot === 0) break
      const home = this.#homeOf(this.#ids, slot * idBytes)
      const isBetween = gap <= next ? home > gap && home <= next : home > gap || home <= next
      if (isBetween) continue
      table[gap] = slot
      gap = next
    }
    table[gap] = 0
  }
}
