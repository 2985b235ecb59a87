/**
 * The tags and encryption of stored objects and uploads that policies depend on, fetched before the policy decision, which is
 * synchronous.
 */

import type { MaybePromise } from 'svc/kernel'
import { isCatalogError } from 'svc/kernel'
import type { ObjectAttributes, ObjectEncryption, ObjectsService, ObjectVersion } from './api.ts'

export type Tags = ReadonlyMap<string, string>

const noTags: Tags = new Map()

interface BegunUpload {
  readonly tags: Tags
  readonly encryption: ObjectEncryption | undefined
}

export class ExistingTags {
  readonly #objects: Pick<ObjectsService, 'getObject'>
  readonly #byObject = new Map<string, Tags | undefined>()
  readonly #byUpload = new Map<string, BegunUpload | undefined>()

  constructor(objects: Pick<ObjectsService, 'getObject'>) {
    this.#objects = objects
  }

  has(bucket: string, key: string, versionId: string | undefined): boolean {
    return this.#byObject.has(placeOf(bucket, key, versionId))
  }

  /** Undefined if there is no such object. */
  get(bucket: string, key: string, versionId: string | undefined): Tags | undefined {
    return this.#byObject.get(placeOf(bucket, key, versionId))
  }

  /** Stores the tags of a version that has been read already. */
  note(version: Pick<ObjectVersion, 'bucket' | 'key' | 'tags'>, versionId: string | undefined): void {
    const { bucket, key } = version
    this.#byObject.set(placeOf(bucket, key, versionId), tagsOf(version))
  }

  fetch(bucket: string, key: string, versionId: string | undefined): MaybePromise<void> {
    const place = placeOf(bucket, key, versionId)
    return ask(this.#byObject, place, () => this.#objects.getObject(bucket, key, versionId), tagsOf)
  }

  /** The tags of an upload, which its object will have. Undefined if there is no such upload of this key. */
  ofUpload(bucket: string, key: string, uploadId: string): Tags | undefined {
    return this.#byUpload.get(placeOf(bucket, key, uploadId))?.tags
  }

  /** Undefined if the upload is not encrypted, too. */
  encryptionOfUpload(bucket: string, key: string, uploadId: string): ObjectEncryption | undefined {
    return this.#byUpload.get(placeOf(bucket, key, uploadId))?.encryption
  }

  /**
   * `orObject`: for a completion. If the upload is gone, the request may be a repeated completion, which writes nothing: then the
   * object's tags count.
   */
  fetchUpload(
    objects: Pick<ObjectsService, 'getUpload' | 'getObject'>,
    { bucket, key, uploadId, orObject }: { bucket: string; key: string; uploadId: string; orObject: boolean },
  ): MaybePromise<void> {
    const place = placeOf(bucket, key, uploadId)
    const fetchObject = () => ask(this.#byUpload, place, () => objects.getObject(bucket, key), writtenAs)
    return ask(
      this.#byUpload,
      place,
      () => objects.getUpload(bucket, key, uploadId),
      // Encryption that the client did not request is not visible to policies, neither when the upload begins nor when an object
      // is written in one request.
      ({ attributes, encryption, isEncryptedUnasked }) =>
        writtenAs({ ...attributes, encryption: isEncryptedUnasked ? undefined : encryption }),
      orObject ? fetchObject : undefined,
    )
  }
}

function tagsOf({ tags }: Pick<ObjectAttributes, 'tags'>): Tags {
  return tags === undefined ? noTags : new Map(Object.entries(tags))
}

function writtenAs({ tags, encryption }: Pick<ObjectVersion, 'tags' | 'encryption'>): BegunUpload {
  return { tags: tagsOf({ tags }), encryption }
}

function ask<Found extends object, Facts>(
  answers: Map<string, Facts | undefined>,
  place: string,
  read: () => MaybePromise<Found>,
  factsOf: (found: Found) => Facts,
  otherwise?: () => MaybePromise<void>,
): MaybePromise<void> {
  const take = (found: Found) => {
    answers.set(place, factsOf(found))
  }
  const miss = (error: unknown): MaybePromise<void> => {
    // The object or upload does not exist, so it has no tags. The operation itself reports that to callers who may know.
    if (!isCatalogError(error) || error.status >= 500) throw error
    answers.set(place, undefined)
    return otherwise?.()
  }
  try {
    const found = read()
    if (found instanceof Promise) return found.then(take, miss)
    return take(found)
  } catch (error) {
    return miss(error)
  }
}

/** Ids come from the client and may contain a slash, so each is preceded by its length. A bucket name contains no slash. */
function placeOf(bucket: string, key: string, id = ''): string {
  return `${id.length}/${id}/${bucket}/${key}`
}
