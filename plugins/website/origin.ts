/** The origin of answers: the objects of a bucket below a prefix, read anew for each request. */
import { chain, isCatalogError, type MaybePromise, rescue } from 'svc/kernel'
import type { OpenedObject } from 'svc/plugins/cache/api'
import type { ObjectData, ObjectsService, ObjectVersion } from 'svc/plugins/objects/api'
import type { Resolution } from './resolution.ts'

/** The bytes of an object, of one version for as long as they are read. */
export interface SiteBytes {
  /** Undefined: the object was replaced, and these bytes are gone. `isCached`: none of them came from the bucket. */
  open(start: number, length: number): MaybePromise<OpenedObject | undefined>
  /** A form of the whole, such as compressed: kept, or made of the whole. Undefined where it has none, or where there is no time for it. */
  form(name: string, make: FormMaker): MaybePromise<Buffer | undefined>
}

/** Undefined: the form is no better than the whole. Null: not now. */
export type FormMaker = (read: () => MaybePromise<ObjectData>) => Promise<Buffer | undefined | null>

/** The result of resolving a path. */
export interface Found {
  readonly resolution: Resolution
  readonly bytes: SiteBytes
  /** Value of `X-Cache`. */
  readonly cache: string
  /** The expected source of its bytes until they are opened: `memory`, a tier, or `origin`. */
  readonly source: string
  /** Fields that say where the answer is from. */
  readonly headers: readonly (readonly [string, string])[]
  /** Others will get the same object. */
  readonly isKept: boolean
}

export interface Origin {
  /** Undefined where it is missing: keys that cannot be, delete markers, and buckets that are gone, too. */
  find(key: string, versionId?: string): MaybePromise<ObjectVersion | undefined>
  read(version: ObjectVersion, start: number, length: number): MaybePromise<ObjectData>
}

const keyBytesMax = 1024

export function createOrigin(
  objects: Pick<ObjectsService, 'getObject' | 'read'>,
  bucket: string,
  prefix: string,
): Origin {
  return {
    read: (version, start, length) => objects.read(version, start, length),
    find(key, versionId) {
      const whole = prefix + key
      // With the prefix alone nothing is named. A character has at most three bytes for each of its units.
      if (key === '' || (whole.length * 3 > keyBytesMax && Buffer.byteLength(whole) > keyBytesMax)) return undefined
      return rescue(
        () => chain(objects.getObject(bucket, whole, versionId), existing),
        error => {
          if (isCatalogError(error) && error.status < 500) return undefined
          throw error
        },
      )
    },
  }
}

const existing = (version: ObjectVersion) => (version.isDeleteMarker ? undefined : version)

/** Bytes that are read from the bucket each time. */
export function directBytes(origin: Pick<Origin, 'read'>, version: ObjectVersion | undefined): SiteBytes {
  const read = (start: number, length: number) => {
    if (version === undefined) throw new TypeError('there are no bytes')
    return origin.read(version, start, length)
  }
  return {
    open: (start, length) => chain(read(start, length), data => ({ data, isCached: true, source: 'origin' })),
    form: async (_name, make) => (await make(() => read(0, version?.sizeBytes ?? 0))) ?? undefined,
  }
}
