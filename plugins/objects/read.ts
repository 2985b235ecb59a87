/** From a version to its bytes: one buffer for a body kept with its record, a stream over the blobs otherwise. */
import type { BlobChunk, BlobReader, BlobRef, MaybePromise, StorageService } from 'svc/plugins/storage/api'
import type { Body, ObjectData } from './api.ts'
import type { DataLocation } from './record.ts'

const empty: ObjectData = { kind: 'whole', bytes: Buffer.alloc(0) }

export function readData(
  storage: StorageService,
  location: DataLocation,
  start: number,
  length: number,
): MaybePromise<ObjectData> {
  if (length === 0) return empty
  if (location.body === undefined) return streamBlobs(storage, location.blobs, start, length)
  const bytes = storage.readBody(location.body)
  if (bytes instanceof Promise) return bytes.then(read => slice(read, start, length))
  return slice(bytes, start, length)
}

function slice(bytes: Buffer, start: number, length: number): ObjectData {
  return { kind: 'whole', bytes: length === bytes.length ? bytes : bytes.subarray(start, start + length) }
}

/** Reads one blob after the other; at most one is open. */
function streamBlobs(storage: StorageService, blobs: readonly BlobRef[], start: number, length: number): ObjectData {
  let index = 0
  let skip = start
  let left = length
  let reader: BlobReader | undefined
  let closed = false
  return {
    kind: 'stream',
    async next(): Promise<BlobChunk | undefined> {
      while (!closed && (reader !== undefined || left > 0)) {
        if (reader === undefined) {
          while (skip >= blobs[index]!.size) skip -= blobs[index++]!.size
          const blob = blobs[index++]!
          const take = Math.min(left, blob.size - skip)
          reader = storage.readBlob(blob, skip, take)
          skip = 0
          left -= take
        }
        const chunk = await reader.next()
        if (chunk !== undefined) return chunk
        reader.close()
        reader = undefined
      }
      return undefined
    },
    close() {
      closed = true
      reader?.close()
      reader = undefined
    },
  }
}

/** The bytes of a version as a payload, for copies. */
export function bodyOf(data: ObjectData, sizeBytes: number): Body {
  return {
    sizeBytes,
    claims: () => ({ md5: undefined, checksum: undefined }),
    async consume(sink) {
      if (data.kind === 'whole') {
        await sink(data.bytes)
        return
      }
      try {
        for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
          try {
            await sink(chunk.bytes)
          } finally {
            chunk.release()
          }
        }
      } finally {
        data.close()
      }
    },
  }
}
