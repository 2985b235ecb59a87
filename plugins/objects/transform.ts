/**
 * The extension point `object.transform`: what lies between the bytes of a client and those on the drive. One plugin may fill it; it
 * encrypts. A version that nothing transforms pays for one look at the point.
 */
import type { KeyObject } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import type { ObjectData, ObjectPart } from './api.ts'

/** Keys that customers bring are key objects: they get into no record, no log and no message. */
export type EncryptionRequest =
  | { readonly type: 'SSE-S3' }
  | {
      readonly type: 'SSE-KMS'
      /** Default: the default key. */
      readonly kmsKeyId?: string
      /** Names and values that the key is bound to beside the object. */
      readonly context?: Readonly<Record<string, string>>
      readonly bucketKeyEnabled?: boolean
    }
  | { readonly type: 'SSE-C'; readonly customerKey: KeyObject }

/** How a version, an upload or a part is encrypted, as stored. */
export interface ObjectEncryption {
  readonly type: 'SSE-S3' | 'SSE-KMS' | 'SSE-C'
  readonly kmsKeyId?: string
  readonly bucketKeyEnabled?: boolean
  /** Of the transform alone. No secret without its key. */
  readonly sealed: Buffer
}

export interface ObjectPlace {
  readonly bucket: string
  readonly key: string
}

/** Takes the bytes of one version or part, in order, once. */
export interface WriteTransform {
  /** To be kept with the record. */
  readonly encryption: ObjectEncryption
  /** `opaque`: the ETag must tell nothing of the bytes. */
  readonly etag: 'md5' | 'opaque'
  /** How many bytes are stored for so many given. */
  storedBytes(sizeBytes: number): number
  /** All bytes at once. */
  whole(bytes: Buffer): Buffer
  /** `emit` gets bytes to be stored; they are valid only until it, or its promise, is done. */
  push(chunk: Buffer, emit: (stored: Buffer) => MaybePromise<void>): MaybePromise<void>
  end(emit: (stored: Buffer) => MaybePromise<void>): MaybePromise<void>
  /** Forgets the keys. Idempotent; also after a failure. */
  close(): void
}

/** What is read of a version that was transformed. */
export interface TransformedVersion extends ObjectPlace {
  readonly sizeBytes: number
  readonly parts: readonly ObjectPart[]
  readonly encryption?: ObjectEncryption
}

export interface ObjectTransform {
  /**
   * For a new version. `source`: how that which it is a copy of is encrypted, for where neither a wish nor the bucket says anything.
   * Undefined: its bytes are stored as they come.
   */
  begin(
    place: ObjectPlace,
    requested: EncryptionRequest | undefined,
    source?: ObjectEncryption,
  ): MaybePromise<WriteTransform | undefined>
  /** For an upload. `source`: as for `begin`. */
  beginUpload(
    place: ObjectPlace,
    requested: EncryptionRequest | undefined,
    source?: ObjectEncryption,
  ): MaybePromise<ObjectEncryption | undefined>
  /** `customerKey`: what the request for the part brought. */
  beginPart(
    place: ObjectPlace,
    upload: ObjectEncryption,
    partNumber: number,
    customerKey: KeyObject | undefined,
  ): MaybePromise<WriteTransform>
  /** For the version that an upload becomes. Needs no keys. */
  completeUpload(upload: ObjectEncryption, parts: readonly ObjectEncryption[]): ObjectEncryption
  /** Bytes start <= i < start+length. `readStored` reads what is stored for the version, all parts one after the other. */
  read(
    version: TransformedVersion,
    start: number,
    length: number,
    customerKey: KeyObject | undefined,
    readStored: (start: number, length: number) => MaybePromise<ObjectData>,
  ): MaybePromise<ObjectData>
  /** The same encryption for an object that takes another key. */
  rename(from: ObjectPlace, to: ObjectPlace, encryption: ObjectEncryption): MaybePromise<ObjectEncryption>
}

declare module 'svc/kernel' {
  interface ExtensionPoints {
    /** What lies between the bytes of clients and those on the drive. One plugin. */
    'object.transform': ObjectTransform
  }
}
