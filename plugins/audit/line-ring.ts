/**
 * The last lines, kept as bytes: thousands of live objects would have to be moved by every collection of the young
 * generation, bytes outside the JavaScript heap are not even looked at.
 */

export interface LineRing {
  /** Adds a line, which must end in its only newline. */
  push(line: string): void
  /** Newest first, without their newlines; at most `limit` of the last `linesMax`. */
  newest(limit: number): string[]
  /**
   * The same, some hundred lines at a time: whoever takes them lets others run between two. Lines that come meanwhile are not among
   * them, those that are dropped meanwhile are missing.
   */
  slices(): Iterable<readonly string[]>
}

interface Chunk {
  /** Increases; what is used again for newer lines is another chunk. */
  readonly serial: number
  readonly bytes: Buffer
  usedBytes: number
  lineCount: number
}

const chunkBytes = 256 * 1024
/** A character of a string is at most three bytes of UTF-8. */
const bytesPerCharacterMax = 3

/** Keeps `linesMax` lines, and fewer when they would take more than `bytesMax`: the oldest go first, a chunk at a time. */
export function createLineRing(linesMax: number, bytesMax: number): LineRing {
  let chunks: Chunk[] = []
  let newestChunk: Chunk | undefined
  let lineCount = 0
  let heldBytes = 0
  let nextSerial = 0

  /** Drops what is not needed any more, and takes its memory for the next chunk. */
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
        // Behind the last newline is nothing.
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
