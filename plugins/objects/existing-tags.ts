/** What policies ask of objects and uploads that are there, fetched before the question: tags, and how an upload is encrypted. */

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

  /** Undefined: there is no such object. */
  get(bucket: string, key: string, versionId: string | undefined): Tags | undefined {
    return this.#byObject.get(placeOf(bucket, key, versionId))
  }

  /** Where the version is at hand. */
  note(version: Pick<ObjectVersion, 'bucket' | 'key' | 'tags'>, versionId: string | undefined): void {
    const { bucket, key } = version
    this.#byObject.set(placeOf(bucket, key, versionId), tagsOf(version))
  }

  fetch(bucket: string, key: string, versionId: string | undefined): MaybePromise<void> {
    const place = placeOf(bucket, key, versionId)
    return ask(this.#byObject, place, () => this.#objects.getObject(bucket, key, versionId), tagsOf)
  }

  /** What an upload was begun with, and its object will have. Undefined: there is no such upload of this key. */
  ofUpload(bucket: string, key: string, uploadId: string): Tags | undefined {
    return this.#byUpload.get(placeOf(bucket, key, uploadId))?.tags
  }

  /** Undefined also where it is not encrypted. */
  encryptionOfUpload(bucket: string, key: string, uploadId: string): ObjectEncryption | undefined {
    return this.#byUpload.get(placeOf(bucket, key, uploadId))?.encryption
  }

  /** `orObject`: for a completion. Where the upload is gone it may be a repeated one, which writes nothing: the object counts then. */
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
      // What nobody asked for no policy hears of when the upload begins, nor when an object is written in one piece.
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
    // Not there: it has nothing of this, and the operation itself says what is wrong, to who may know.
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

/** Ids come from the client and may hold a slash: each is written so that its end can be told. A bucket holds none. */
function placeOf(bucket: string, key: string, id = ''): string {
  return `${id.length}/${id}/${bucket}/${key}`
}
