/**
 * The last lines, kept as bytes outside the JavaScript heap: the garbage collector would move thousands of live strings in each collection
 * of the young generation, but does not look at the bytes.
 */

export interface LineRing {
  /** Adds a line, which must end in its only newline. */
  push(line: string): void
  /** Newest first, without their newlines; at most `limit` of the last `linesMax`. */
  newest(limit: number): string[]
  /**
   * The same in slices of some hundred lines, so that the caller can let other work run between two slices. Without lines that are added
   * meanwhile, and without those that are dropped meanwhile.
   */
  slices(): Iterable<readonly string[]>
}

interface Chunk {
  /** Increases; a chunk that is reused for newer lines gets another number. */
  readonly serial: number
  readonly bytes: Buffer
  usedBytes: number
  lineCount: number
}

const chunkBytes = 256 * 1024
/** A character of a string is at most three bytes of UTF-8. */
const bytesPerCharacterMax = 3

/** Keeps `linesMax` lines, and fewer if they would take more than `bytesMax`: then the oldest are dropped, a chunk at a time. */
export function createLineRing(linesMax: number, bytesMax: number): LineRing {
  let chunks: Chunk[] = []
  let newestChunk: Chunk | undefined
  let lineCount = 0
  let heldBytes = 0
  let nextSerial = 0

  /** Drops chunks that are no longer needed, and reuses the memory of one for the next chunk. */
  function makeChunk(sizeBytes: number): Chunk {
    let spare: Buffer | undefined
    while (chunks.length > 0) {
      const [oldest] = chunks
      if (lineCount - oldest.lineCount < linesMax && heldBytes + sizeBytes <= bytesMax) break
      chunks = chunks.slice(1)
      lineCount -= oldest.lineCount
      heldBytes -= oldest.bytes.length
      if (oldest.bytes.length === sizeBytes) spare = oldest.bytes
    }
    const chunk = {
      bytes: spare ?? Buffer.allocUnsafeSlow(sizeBytes),
      usedBytes: 0,
      lineCount: 0,
      serial: nextSerial++,
    }
    heldBytes += sizeBytes
    chunks.push(chunk)
    return chunk
  }

  return {
    push(line) {
      const sizeMax = line.length * bytesPerCharacterMax
      let chunk = newestChunk
      if (chunk === undefined || chunk.bytes.length - chunk.usedBytes < sizeMax) {
        chunk = makeChunk(Math.max(chunkBytes, sizeMax))
        newestChunk = chunk
      }
      chunk.usedBytes += chunk.bytes.write(line, chunk.usedBytes)
      chunk.lineCount++
      lineCount++
    },

    newest(limit) {
      const wanted = Math.min(limit, linesMax)
      const lines: string[] = []
      for (let index = chunks.length - 1; index >= 0 && lines.length < wanted; index--) {
        const { bytes, usedBytes } = chunks[index]
        const inOrder = bytes.toString('utf8', 0, usedBytes).split('\n')
        // There is no line after the last newline.
        for (let at = inOrder.length - 2; at >= 0 && lines.length < wanted; at--) lines.push(inOrder[at])
      }
      return lines
    },

    *slices() {
      const begun = chunks.map(({ serial, usedBytes }) => ({ serial, usedBytes }))
      let left = linesMax
      for (const { serial, usedBytes } of begun.reverse()) {
        const chunk = chunks.find(held => held.serial === serial)
        if (chunk === undefined || left <= 0) return
        const lines = chunk.bytes.toString('utf8', 0, usedBytes).split('\n').slice(0, -1).reverse().slice(0, left)
        left -= lines.length
        yield lines
      }
    },
  }
}
