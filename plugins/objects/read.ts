/** From a version to its bytes: one buffer for an inline body, otherwise a stream over its blobs. */
import type { MaybePromise } from 'svc/kernel'
import {
  type BlobChunk,
  type BlobReader,
  type BlobRef,
  type StorageService,
  recordTable as table,
} from 'svc/plugins/storage/api'
import type { Body, ExpectedDigests, ObjectData } from './api.ts'
import { afterObject, objectKey, olderVersionKey } from './keys.ts'
import {
  type DataLocation,
  decodeVersion,
  isNullVersion,
  olderNullOf,
  type StoredVersion,
  sequenceOf,
} from './record.ts'
import { sequenceOfVersionId } from './version-id.ts'

const empty: ObjectData = { kind: 'whole', bytes: Buffer.alloc(0) }

/**
 * The version of that id, newest or older, from one snapshot, since it may move between the two places meanwhile. Undefined if
 * there is none. Throws InvalidArgument for an invalid id.
 */
export function readVersion(
  storage: StorageService,
  bucket: string,
  key: string,
  versionId: string,
): MaybePromise<StoredVersion | undefined> {
  const named = sequenceOfVersionId(versionId)
  const newest = objectKey(bucket, key)
  return storage.scan(newest, afterObject(table.object, bucket, key), cursor => {
    if (!cursor.next()) return undefined
    const sequence = named ?? (isNullVersion(cursor.value) ? sequenceOf(cursor.value) : olderNullOf(cursor.value))
    if (sequence === undefined) return undefined
    if (sequenceOf(cursor.value) !== sequence) {
      const older = olderVersionKey(newest, sequence)
      if (!cursor.seek(older) || !cursor.key.equals(older)) return undefined
    }
    // The null version has a sequence, too, but no id derived from it.
    return isNullVersion(cursor.value) === (named === undefined) ? decodeVersion(bucket, key, cursor) : undefined
  })
}

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

/**
 * Reads the blobs one after the other; at most one is open. All are pinned from the beginning, because the object may be replaced
 * during the read.
 */
function streamBlobs(storage: StorageService, blobs: readonly BlobRef[], start: number, length: number): ObjectData {
  let index = 0
  let skip = start
  while (skip >= blobs[index]!.size) skip -= blobs[index++]!.size
  let last = index
  for (let end = skip + length; end > blobs[last]!.size; last++) end -= blobs[last]!.size
  const letGo = storage.pinBlobs(index === 0 && last === blobs.length - 1 ? blobs : blobs.slice(index, last + 1))
  let left = length
  let reader: BlobReader | undefined
  let closed = false
  return {
    kind: 'stream',
    async next(): Promise<BlobChunk | undefined> {
      while (!closed && (reader !== undefined || left > 0)) {
        if (reader === undefined) {
          const blob = blobs[index++]!
          const take = Math.min(left, blob.size - skip)
          reader = storage.readBlob(blob, skip, take)
          skip = 0
          left -= take
        }
        const chunk = await reader.next()
        if (chunk !== undefined) return chunk
        // Undefined: it was closed meanwhile.
        reader?.close()
        reader = undefined
      }
      return undefined
    },
    close() {
      closed = true
      reader?.close()
      reader = undefined
      letGo()
    },
  }
}

/** The bytes of a version as a payload, for copies. `checksum`: the expected checksum. */
export function bodyOf(data: ObjectData, sizeBytes: number, checksum?: ExpectedDigests['checksum']): Body {
  return {
    sizeBytes,
    expectedDigests: () => ({ md5: undefined, checksum }),
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
