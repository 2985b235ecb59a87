/**
 * Bodies that come in chunks, written by hand: at most three are on their way, each given back to its pool when the socket has
 * taken it. However slow the client is, it takes no more memory than that.
 */
import type { ServerResponse } from 'node:http'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { BlobChunk } from 'svc/plugins/storage/api'

export type ChunkSource = Pick<Extract<ObjectData, { kind: 'stream' }>, 'next' | 'close'>

/** Chunks of a stream that may be on their way to the client. */
const chunksInFlightMax = 3

/**
 * Ends the answer with these bytes; the head is written already, and `first` is read. `sizeBytes`: what the head says; undefined
 * where it says nothing. Resolves when everything is handed to the socket or the client is gone; rejects when the source cannot
 * be read to its end, and then leaves the answer open, which must not end as if it were whole.
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
      // The socket is gone, and with it whatever it still held of these.
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
        stop()
        response.end()
        resolve()
        return
      }
      sentBytes += chunk.bytes.length
      count(chunk.bytes.length)
      inFlight.add(chunk)
      response.write(chunk.bytes, () => {
        if (!inFlight.delete(chunk)) return
        chunk.release()
        more()
      })
      more()
    }
    const more = () => {
      if (isDone || isReading || inFlight.size >= chunksInFlightMax) return
      isReading = true
      source.next().then(take, fail)
    }
    response.on('close', onClose)
    take(first)
  })
}
