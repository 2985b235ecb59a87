/** Where answers come from: the objects of a bucket below a prefix. The face behind which a cache has its place; now every answer passes it by. */
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import type { ObjectData, ObjectsService, ObjectVersion } from 'svc/plugins/objects/api'

export interface Origin {
  /** Undefined where it is missing: keys that cannot be, delete markers, and buckets that are gone, too. */
  find(key: string, versionId?: string): Promise<ObjectVersion | undefined>
  read(version: ObjectVersion, start: number, length: number): MaybePromise<ObjectData>
  /** Value of `X-Cache`. */
  readonly cache: 'BYPASS'
}

const keyBytesMax = 1024

export function createOrigin(
  objects: Pick<ObjectsService, 'getObject' | 'read'>,
  bucket: string,
  prefix: string,
): Origin {
  return {
    cache: 'BYPASS',
    read: (version, start, length) => objects.read(version, start, length),
    async find(key, versionId) {
      const whole = prefix + key
      // With the prefix alone nothing is named.
      if (key === '' || Buffer.byteLength(whole) > keyBytesMax) return undefined
      try {
        const version = await objects.getObject(bucket, whole, versionId)
        return version.isDeleteMarker ? undefined : version
      } catch (error) {
        if (isCatalogError(error) && error.status < 500) return undefined
        throw error
      }
    },
  }
}
