/**
 * What policies ask of objects and uploads that are there, fetched before the question: tags, access control lists, and how an upload is
 * encrypted.
 */

import type { MaybePromise } from 'svc/kernel'
import { isCatalogError } from 'svc/kernel'
import type { CannedAcl, ObjectAttributes, ObjectEncryption, ObjectsService, ObjectVersion, Upload } from './api.ts'
import { noTags, type Tags } from './tags.ts'

interface ExistingObject {
  readonly tags: Tags
  readonly acl: CannedAcl | undefined
}

interface BegunUpload {
  readonly tags: Tags
  readonly encryption: ObjectEncryption | undefined
}

export class ExistingTags {
  readonly #objects: Pick<ObjectsService, 'getObject'>
  readonly #byObject = new Map<string, ExistingObject | undefined>()
  readonly #byUpload = new Map<string, BegunUpload | undefined>()

  constructor(objects: Pick<ObjectsService, 'getObject'>) {
    this.#objects = objects
  }

  has(bucket: string, key: string, versionId: string | undefined): boolean {
    return this.#byObject.has(placeOf(bucket, key, versionId))
  }

  /** Undefined: there is no such object. */
  get(bucket: string, key: string, versionId: string | undefined): Tags | undefined {
    return this.#byObject.get(placeOf(bucket, key, versionId))?.tags
  }

  /** Undefined also where it is the owner's list, and where nothing was fetched. */
  acl(bucket: string, key: string, versionId: string | undefined): CannedAcl | undefined {
    return this.#byObject.get(placeOf(bucket, key, versionId))?.acl
  }

  /** Where the version is at hand. */
  note(version: Pick<ObjectVersion, 'bucket' | 'key' | 'tags' | 'acl'>, versionId: string | undefined): void {
    const { bucket, key } = version
    this.#byObject.set(placeOf(bucket, key, versionId), factsOf(version))
  }

  async fetch(bucket: string, key: string, versionId: string | undefined): Promise<void> {
    const version = await ifThere(() => this.#objects.getObject(bucket, key, versionId))
    this.#byObject.set(placeOf(bucket, key, versionId), version && factsOf(version))
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
  async fetchUpload(
    objects: Pick<ObjectsService, 'getUpload' | 'getObject'>,
    { bucket, key, uploadId, orObject }: { bucket: string; key: string; uploadId: string; orObject: boolean },
  ): Promise<void> {
    const upload = await ifThere(() => objects.getUpload(bucket, key, uploadId))
    const written = upload === undefined && orObject ? await ifThere(() => objects.getObject(bucket, key)) : undefined
    const begun = upload === undefined ? written : policyFactsOf(upload)
    this.#byUpload.set(placeOf(bucket, key, uploadId), begun && begunUpload(begun))
  }
}

function factsOf({ tags = noTags, acl }: Pick<ObjectAttributes, 'tags' | 'acl'>): ExistingObject {
  return { tags, acl }
}

function begunUpload({ tags = noTags, encryption }: Pick<ObjectVersion, 'tags' | 'encryption'>): BegunUpload {
  return { tags, encryption }
}

/** A default encryption, which nobody asked for, is not known to policies: neither here, nor when an object is written in one piece. */
function policyFactsOf({ attributes, encryption, isEncryptedUnasked }: Upload) {
  return { tags: attributes.tags, encryption: isEncryptedUnasked ? undefined : encryption }
}

/** Undefined where it is missing: the operation itself says so, to callers who may know. */
async function ifThere<Found>(read: () => MaybePromise<Found>): Promise<Found | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!isCatalogError(error) || error.status >= 500) throw error
    return undefined
  }
}

/** Ids come from the client and may hold a slash: each is written so that its end can be told. A bucket holds none. */
function placeOf(bucket: string, key: string, id = ''): string {
  return `${id.length}/${id}/${bucket}/${key}`
}
