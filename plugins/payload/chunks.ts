/**
 * Writes a body in chunks: at most three, and little more than 1.5 MiB, are in flight, and each returns to its pool when the socket has
 * taken it. So a slow client occupies no more memory than that.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { BlobChunk } from 'svc/plugins/storage/api'

export type ChunkSource = Pick<Extract<ObjectData, { kind: 'stream' }>, 'next' | 'close'>

/** No further chunk of a stream is read while that many, or that many bytes, are not sent yet. */
const chunksInFlightMax = 3
const bytesInFlightMax = 1.5 * 1024 * 1024

/**
 * Sends the body and ends the answer; the head is already written, and `first` already read. `sizeBytes`: the Content-Length of the
 * head, undefined if it has none. Resolves when the socket has all bytes or the client has closed the connection. Rejects when the
 * source fails, and then does not end the answer, so that the client cannot take it for complete.
 */
export function sendChunks(
  response: ServerResponse,
  source: ChunkSource,
  first: BlobChunk | undefined,
  sizeBytes: number | undefined,
  count: (bytes: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const inFlight = new Set<BlobChunk>()
    let inFlightBytes = 0
    let sentBytes = 0
    let isReading = false
    let isDone = false

    const stop = () => {
      if (isDone) return
      isDone = true
      source.close()
    }
    const fail = (error: unknown) => {
      if (isDone) return
      stop()
      reject(error)
    }
    const onClose = () => {
      // Node.js writes an answer that waited for its turn when that comes, even if it was destroyed: these chunks are others' by then.
      if (response.socket === null) response.once('socket', (socket: Socket) => socket.destroy())
      // Otherwise the socket is closed. In both cases it takes none of these chunks any more.
      for (const chunk of inFlight) chunk.release()
      inFlight.clear()
      stop()
      resolve()
    }
    const take = (chunk: BlobChunk | undefined) => {
      isReading = false
      if (isDone) {
        chunk?.release()
        return
      }
      if (chunk === undefined) {
        if (sizeBytes !== undefined && sentBytes !== sizeBytes) {
          fail(new Error(`The data of an object ended ${sizeBytes - sentBytes} bytes early.`))
          return
        }
        end()
        return
      }
      const length = lengthOf(chunk)
      sentBytes += length
      count(length)
      inFlight.add(chunk)
      inFlightBytes += length
      write(response, chunk, () => {
        if (!inFlight.delete(chunk)) return
        inFlightBytes -= length
        chunk.release()
        more()
      })
      if (sentBytes === sizeBytes) end()
      else more()
    }
    const end = () => {
      stop()
      response.end()
      resolve()
    }
    const more = () => {
      if (isDone || isReading || inFlight.size >= chunksInFlightMax || inFlightBytes >= bytesInFlightMax) return
      isReading = true
      source.next().then(take, fail)
    }
    response.on('close', onClose)
    take(first)
  })
}

function lengthOf(chunk: BlobChunk): number {
  return chunk.pieces?.reduce((sum, piece) => sum + piece.length, 0) ?? chunk.bytes.length
}

/** Pieces go to the socket together, without being joined. */
function write(response: ServerResponse, chunk: BlobChunk, onTaken: () => void): void {
  const { pieces } = chunk
  if (pieces === undefined || pieces.length === 1) {
    response.write(chunk.bytes, onTaken)
    return
  }
  response.cork()
  pieces.forEach((piece, index) => {
    response.write(piece, index === pieces.length - 1 ? onTaken : undefined)
  })
  response.uncork()
}
