/**
 * Decodes a chunked body (RFC 9112, section 7.1): documents, whose length many servers do not state. Parsed as strictly as heads:
 * lines end with CR LF, sizes are plain hexadecimal digits, extensions and trailers are passed over within bounds.
 */
import { failure } from '../errors.ts'
import { gatheredBytesMax } from './messages.ts'

/** Maximum length of a size with its extensions, and of all trailers together. */
const lineBytesMax = 4096
const sizePattern = /^([0-9A-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/
const carriageReturn = 13
const lineFeed = 10

const refused = (reason: string) =>
  Object.assign(new Error(`this is not a chunked body: ${reason}`), { code: 'HTTP_BAD_BODY' })

type Expecting = 'size' | 'data' | 'end of data' | 'trailer' | 'nothing'

export class ChunkedDocument {
  readonly #pieces: Buffer[] = []
  #byteCount = 0
  #expecting: Expecting = 'size'
  /** Bytes of the chunk that are still to come. */
  #remaining = 0
  #line = ''
  #trailerBytes = 0

  /** Decodes `bytes`, which the caller may reuse afterwards. Returns true at the end of the body. */
  push(bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length; ) {
      if (this.#expecting === 'nothing') throw refused('it goes on after its end')
      if (this.#expecting === 'data') {
        const piece = Buffer.from(bytes.subarray(at, at + this.#remaining))
        this.#pieces.push(piece)
        at += piece.length
        this.#remaining -= piece.length
        if (this.#remaining === 0) this.#expecting = 'end of data'
      } else at = this.#takeLine(bytes, at)
    }
    return this.#expecting === 'nothing'
  }

  content(): Buffer<ArrayBuffer> {
    return Buffer.concat(this.#pieces, this.#byteCount)
  }

  /** Returns where to go on. */
  #takeLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(lineFeed, at)
    this.#line += bytes.latin1Slice(at, end === -1 ? bytes.length : end)
    if (this.#line.length > lineBytesMax) throw refused('a line is too long')
    if (end === -1) return bytes.length
    if (this.#line.charCodeAt(this.#line.length - 1) !== carriageReturn)
      throw refused('a line does not end as it should')
    const line = this.#line.slice(0, -1)
    this.#line = ''
    this.#endLine(line)
    return end + 1
  }

  #endLine(line: string): void {
    if (this.#expecting === 'size') {
      const size = sizePattern.exec(line)
      if (size === null) throw refused('the size of a chunk is none')
      this.#remaining = Number.parseInt(size[1]!, 16)
      this.#byteCount += this.#remaining
      if (this.#byteCount > gatheredBytesMax)
        throw failure('bad_answer', 'The answer is larger than any document of S3.')
      this.#expecting = this.#remaining === 0 ? 'trailer' : 'data'
    } else if (this.#expecting === 'end of data') {
      if (line !== '') throw refused('a chunk is longer than its stated length')
      this.#expecting = 'size'
    } else if (line === '') this.#expecting = 'nothing'
    else {
      this.#trailerBytes += line.length
      if (this.#trailerBytes > lineBytesMax) throw refused('its trailers are too long')
    }
  }
}
