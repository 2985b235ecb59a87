/**
 * Buffers that nobody uses at the moment, by length, to be used again: to allocate one for each read costs more than to fill it. Their
 * owner bounds them. Buffers of a length that is asked for no more make room for the others, instead of filling the bound for ever.
 */
export class FreeBuffers {
  readonly #byLength = new Map<number, Buffer[]>()
  #bytes = 0

  /** Bytes of all of them. */
  get bytes(): number {
    return this.#bytes
  }

  /** One of exactly this length, with arbitrary content. */
  take(length: number): Buffer | undefined {
    const buffer = this.#byLength.get(length)?.pop()
    if (buffer !== undefined) this.#bytes -= length
    return buffer
  }

  /**
   * Keeps the buffer if all kept buffers then have at most `bytesMax` bytes; drops buffers of other lengths to make room. Otherwise drops this
   * buffer.
   */
  keep(buffer: Buffer, bytesMax: number): void {
    const { length } = buffer
    this.#drop(bytesMax - length, length)
    if (this.#bytes + length > bytesMax) return
    const same = this.#byLength.get(length)
    if (same === undefined) this.#byLength.set(length, [buffer])
    else same.push(buffer)
    this.#bytes += length
  }

  /** Drops some, until all together have at most `bytesMax`. */
  trim(bytesMax: number): void {
    this.#drop(bytesMax, undefined)
  }

  #drop(bytesMax: number, exceptLength: number | undefined): void {
    if (this.#bytes <= bytesMax) return
    for (const [length, buffers] of this.#byLength) {
      if (length === exceptLength) continue
      while (this.#bytes > bytesMax && buffers.pop() !== undefined) this.#bytes -= length
      if (buffers.length === 0) this.#byLength.delete(length)
    }
  }
}
