/**
 * Small records in pages of 64 KiB: none of them has an object, or memory of the allocator, of its own.
 *
 *     <bytes: 4> <owner: 4> <bytes, up to the next multiple of 8> …
 *
 * Invariants:
 *
 * 1. Each byte of a page is allocated once. A reader that still holds a removed or moved record reads the old bytes; the page is
 *    garbage-collected when nothing refers to it.
 * 2. Live records fill at least seven eighths of a full page. Otherwise the page waits to be tidied: its live records are moved and the page is
 *    released.
 */

const pageBytes = 64 * 1024
const headerBytes = 8
/** Locations count units of this many bytes. */
const unitBytes = 8
const unitsPerPage = pageBytes / unitBytes
/** Largest record: with its header an eighth of a page. So a record that does not fit leaves less than an eighth of the page unused. */
export const recordBytesMax = pageBytes / 8 - headerBytes
const fullBytesMin = (pageBytes * 7) / 8
/**
 * Memory to count for a record of this many bytes: its size with header and padding, times 8/7, because up to an eighth of its page may be unused.
 */
export const pagedBytes = (bytes: number): number => Math.ceil((sizeOf(bytes) * 8) / 7)

const sizeOf = (bytes: number) => Math.ceil((headerBytes + bytes) / unitBytes) * unitBytes

interface Page {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly words: Uint32Array
  /** Bytes that are allocated. */
  end: number
  /** Bytes of live records, with headers and padding. */
  live: number
  isWaiting: boolean
}

/** The owners of records, by number. `Pages` asks them whether a record is still at a location, and tells them where it was moved. */
export interface Owners {
  isAt(owner: number, location: number): boolean
  moved(owner: number, location: number): void
}

/** The location of a record's bytes. */
export interface Piece {
  readonly buffer: ArrayBuffer
  readonly offset: number
  readonly length: number
}

export class Pages {
  /** Pages by number. Undefined: released. */
  readonly #pages: (Page | undefined)[] = []
  readonly #freeNumbers: number[] = []
  readonly #waiting: number[] = []
  #current = -1

  /** Bytes of all pages, full or not. */
  get bytes(): number {
    return (this.#pages.length - this.#freeNumbers.length) * pageBytes
  }

  /** Copies a record of at most `recordBytesMax` bytes and returns its location. The caller must call `own` or `remove` next. */
  add(record: Uint8Array): number {
    const size = sizeOf(record.length)
    let page = this.#pages[this.#current]
    if (page === undefined || page.end + size > pageBytes) page = this.#open()
    const at = page.end
    page.words[at / 4] = record.length
    page.bytes.set(record, at + headerBytes)
    page.end += size
    page.live += size
    return this.#current * unitsPerPage + at / unitBytes
  }

  own(location: number, owner: number): void {
    const { page, at } = this.#find(location)
    page.words[at / 4 + 1] = owner
  }

  get(location: number): Piece {
    const { page, at } = this.#find(location)
    return { buffer: page.bytes.buffer, offset: at + headerBytes, length: page.words[at / 4] as number }
  }

  remove(location: number): void {
    const { page, number, at } = this.#find(location)
    page.live -= sizeOf(page.words[at / 4] as number)
    this.#look(number, page)
  }

  /** Moves the live records of waiting pages and releases the pages, until at least so many bytes are gained or no page waits. */
  tidy(owners: Owners, bytes = 1): void {
    for (let left = bytes; left > 0 && this.#waiting.length > 0; left -= pageBytes - fullBytesMin) this.#tidyOne(owners)
  }

  #tidyOne(owners: Owners): void {
    const number = this.#waiting.pop() as number
    const page = this.#pages[number] as Page
    page.isWaiting = false
    for (let at = 0; at < page.end; ) {
      const bytes = page.words[at / 4] as number
      const owner = page.words[at / 4 + 1] as number
      if (owners.isAt(owner, number * unitsPerPage + at / unitBytes)) {
        const location = this.add(page.bytes.subarray(at + headerBytes, at + headerBytes + bytes))
        this.own(location, owner)
        owners.moved(owner, location)
      }
      at += sizeOf(bytes)
    }
    this.#giveBack(number)
  }

  #find(location: number) {
    const number = Math.floor(location / unitsPerPage)
    return { page: this.#pages[number] as Page, number, at: (location % unitsPerPage) * unitBytes }
  }

  #open(): Page {
    const full = this.#current
    // Not cleared: only bytes that were written are read.
    const { buffer } = Buffer.allocUnsafeSlow(pageBytes)
    const words = new Uint32Array(buffer)
    const page: Page = { bytes: new Uint8Array(buffer), words, end: 0, live: 0, isWaiting: false }
    this.#current = this.#freeNumbers.pop() ?? this.#pages.length
    this.#pages[this.#current] = page
    const before = this.#pages[full]
    if (before !== undefined) this.#look(full, before)
    return page
  }

  #look(number: number, page: Page): void {
    if (number === this.#current || page.isWaiting || page.live >= fullBytesMin) return
    page.isWaiting = true
    this.#waiting.push(number)
  }

  #giveBack(number: number): void {
    this.#pages[number] = undefined
    this.#freeNumbers.push(number)
  }
}
