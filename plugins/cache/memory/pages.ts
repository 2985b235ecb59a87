/**
 * Small records in pages of 64 KiB: none of them has an object, or memory of the allocator, of its own.
 *
 *     <bytes: 4> <owner: 4> <bytes, up to the next multiple of 8> …
 *
 * Invariants:
 *
 * 1. The bytes of a page are given out once. Whoever still reads a record that is gone, or was moved, reads what it was; the page is garbage
 *    when nobody does.
 * 2. Of a page that is full at least seven eighths are of records that are there; otherwise it waits to be tidied: what is left of it is moved, and
 *    its memory is free.
 */

const pageBytes = 64 * 1024
const headerBytes = 8
/** Locations count these. */
const unitBytes = 8
const unitsPerPage = pageBytes / unitBytes
/** A page is never emptier for want of a record that fits into its end than one may be that is not tidied. */
export const recordBytesMax = pageBytes / 8 - headerBytes
const fullBytesMin = (pageBytes * 7) / 8
/** Of the bytes of a record: with its share of what may be gone from its page. */
export const pagedBytes = (bytes: number): number => Math.ceil((sizeOf(bytes) * 8) / 7)

const sizeOf = (bytes: number) => Math.ceil((headerBytes + bytes) / unitBytes) * unitBytes

interface Page {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly words: Uint32Array
  /** Given out. */
  end: number
  /** Of records that are there. */
  live: number
  isWaiting: boolean
}

/** Of whom the records are, by numbers. */
export interface Owners {
  isAt(owner: number, location: number): boolean
  moved(owner: number, location: number): void
}

/** Where a record lies. */
export interface Piece {
  readonly buffer: ArrayBuffer
  readonly offset: number
  readonly length: number
}

export class Pages {
  /** By number; undefined: given back. */
  readonly #pages: (Page | undefined)[] = []
  readonly #freeNumbers: number[] = []
  readonly #waiting: number[] = []
  #current = -1

  /** Of all pages, filled or not. */
  get bytes(): number {
    return (this.#pages.length - this.#freeNumbers.length) * pageBytes
  }

  /** At most `recordBytesMax`, which are copied. Returns their location; `own` has to follow, or `remove`. */
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

  /** Moves what is left of pages that wait for it, until so many bytes are free, or none waits. */
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
    // Not cleared: what is read of it was written before.
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
