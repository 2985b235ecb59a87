/** Tags of objects and uploads that policies ask for, fetched before the question. */
import { isCatalogError } from 'svc/kernel'
import type { ObjectAttributes, ObjectsService, ObjectVersion } from 'svc/plugins/objects/api'
import type { MaybePromise } from 'svc/plugins/storage/api'

export type Tags = ReadonlyMap<string, string>

const noTags: Tags = new Map()

export class ExistingTags {
  readonly #objects: Pick<ObjectsService, 'getObject'>
  readonly #byObject = new Map<string, Tags | undefined>()
  readonly #byUpload = new Map<string, Tags | undefined>()

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
    return ask(this.#byObject, place, () => this.#objects.getObject(bucket, key, versionId))
  }

  /** What an upload was begun with, and its object will have. Undefined: there is no such upload of this key. */
  ofUpload(bucket: string, key: string, uploadId: string): Tags | undefined {
    return this.#byUpload.get(placeOf(bucket, key, uploadId))
  }

  fetchUpload(
    objects: Pick<ObjectsService, 'getUpload'>,
    bucket: string,
    key: string,
    uploadId: string,
  ): MaybePromise<void> {
    return ask(this.#byUpload, placeOf(bucket, key, uploadId), () => objects.getUpload(bucket, key, uploadId))
  }
}

function tagsOf({ tags }: Pick<ObjectAttributes, 'tags'>): Tags {
  return tags === undefined ? noTags : new Map(Object.entries(tags))
}

function ask(
  answers: Map<string, Tags | undefined>,
  place: string,
  read: () => MaybePromise<{ readonly tags?: ObjectAttributes['tags'] } | { readonly attributes: ObjectAttributes }>,
): MaybePromise<void> {
  const take = (found: Awaited<ReturnType<typeof read>>) => {
    answers.set(place, tagsOf('attributes' in found ? found.attributes : found))
  }
  const miss = (error: unknown) => {
    // Not there: it has no tags, and the operation itself says what is wrong, to who may know.
    if (!isCatalogError(error) || error.status >= 500) throw error
    answers.set(place, undefined)
  }
  try {
    const found = read()
    if (found instanceof Promise) return found.then(take, miss)
    take(found)
  } catch (error) {
    miss(error)
  }
}

/** Ids come from the client and may hold a slash: each is written so that its end can be told. A bucket holds none. */
function placeOf(bucket: string, key: string, id = ''): string {
  return `${id.length}/${id}/${bucket}/${key}`
}
