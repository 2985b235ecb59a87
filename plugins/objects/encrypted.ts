/**
 * Lists the encrypted versions and uploads of a bucket, so that their data keys can be sealed again. Walks all versions: for
 * background work, not for requests.
 */
import type { MaybePromise } from 'svc/kernel'
import type { StorageService } from 'svc/plugins/storage/api'
import { recordTable as table } from 'svc/plugins/storage/api'
import type { EncryptedEntry, EncryptedPage } from './api.ts'
import type { UploadDocument } from './commit.ts'
import { behind, bucketRange, objectKeyOffset, unescapeKey } from './keys.ts'
import { decodeDocument, decodeEncryption, encryptionOf, isDeleteMarker, recordedVersionId } from './record.ts'

/** Records visited before the event loop gets its turn. */
const stepsMax = 500
const uploadIdBytes = 32

/**
 * Uploads first, then versions: if an upload is completed during the walk, its version is still found. The first byte of a
 * position tells the phase.
 */
export function listEncrypted(
  storage: StorageService,
  bucket: string,
  after: Buffer | undefined,
): MaybePromise<EncryptedPage> {
  return after?.[0] === table.object ? listVersions(storage, bucket, after) : listUploads(storage, bucket, after)
}

function listVersions(storage: StorageService, bucket: string, after: Buffer): MaybePromise<EncryptedPage> {
  const [, end] = bucketRange(table.object, bucket)
  const offset = objectKeyOffset(bucket)
  return storage.scan(behind(after), end, cursor => {
    const entries: EncryptedEntry[] = []
    for (let steps = 1; cursor.next(); steps++) {
      const { key: place, value } = cursor
      const encryption = isDeleteMarker(value) ? undefined : encryptionOf(value)
      if (encryption !== undefined) {
        const key = unescapeKey(place, offset, place.indexOf(0, offset))
        const versionId = recordedVersionId(value)
        entries.push({ key, versionId, uploadId: undefined, encryption })
      }
      if (steps >= stepsMax) return { entries, next: Buffer.from(place) }
    }
    return { entries, next: undefined }
  })
}

function listUploads(storage: StorageService, bucket: string, after: Buffer | undefined): MaybePromise<EncryptedPage> {
  const [start, end] = bucketRange(table.upload, bucket)
  const offset = objectKeyOffset(bucket)
  return storage.scan(after === undefined ? start : behind(after), end, cursor => {
    const entries: EncryptedEntry[] = []
    for (let steps = 1; cursor.next(); steps++) {
      const { key: place, value } = cursor
      const encryption = decodeEncryption(decodeDocument<UploadDocument>(value).encryption)
      if (encryption !== undefined) {
        const key = unescapeKey(place, offset, place.indexOf(0, offset))
        const uploadId = place.toString('latin1', place.length - uploadIdBytes)
        entries.push({ key, versionId: undefined, uploadId, encryption })
      }
      if (steps >= stepsMax) return { entries, next: Buffer.from(place) }
    }
    const [versions] = bucketRange(table.object, bucket)
    return { entries, next: versions }
  })
}
