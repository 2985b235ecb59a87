/**
 * The extension point `object.transform`: transforms the client's bytes into stored bytes and back. At most one plugin
 * contributes to it; it encrypts. A version that is not transformed costs one check.
 */
import type { KeyObject } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import type { ObjectData, ObjectPart } from './api.ts'

/**
 * The encryption that a client requests. Keys of customers are key objects, so they cannot end up in a record, a log or a
 * message.
 */
export type EncryptionRequest =
  | { readonly type: 'SSE-S3' }
  | {
      readonly type: 'SSE-KMS'
      /** Default: the default key of the key server. */
      readonly kmsKeyId?: string
      /** Encryption context: names and values that the key is bound to beside the object. */
      readonly context?: Readonly<Record<string, string>>
      readonly bucketKeyEnabled?: boolean
    }
  | { readonly type: 'SSE-C'; readonly customerKey: KeyObject }

/** The stored encryption of a version, an upload or a part. */
export interface ObjectEncryption {
  readonly type: 'SSE-S3' | 'SSE-KMS' | 'SSE-C'
  readonly kmsKeyId?: string
  readonly bucketKeyEnabled?: boolean
  /** The sealed data key. Only the transform interprets it; it is no secret without the sealing key. */
  readonly sealed: Buffer
}

export interface ObjectPlace {
  readonly bucket: string
  readonly key: string
}

/** Transforms the bytes of one version or part, in order, once. */
export interface WriteTransform {
  /** To be stored with the record. */
  readonly encryption: ObjectEncryption
  /** `opaque`: the ETag must reveal nothing about the bytes. */
  readonly etag: 'md5' | 'opaque'
  /** Number of stored bytes for so many given bytes. */
  storedBytes(sizeBytes: number): number
  /** Transforms all bytes at once. */
  whole(bytes: Buffer): Buffer
  /** Passes bytes to be stored to `emit`; they are valid only until it, or its promise, is done. */
  push(chunk: Buffer, emit: (stored: Buffer) => MaybePromise<void>): MaybePromise<void>
  end(emit: (stored: Buffer) => MaybePromise<void>): MaybePromise<void>
  /** Erases the keys. Idempotent, and allowed after a failure. */
  close(): void
}

/** The fields of a transformed version that reading needs. */
export interface TransformedVersion extends ObjectPlace {
  readonly sizeBytes: number
  readonly parts: readonly ObjectPart[]
  readonly encryption?: ObjectEncryption
}

export interface ObjectTransform {
  /**
   * Begins a new version. `source`: the encryption of the copied object, which applies if neither the request nor the bucket
   * determines one. Undefined: the bytes are stored unchanged.
   */
  begin(
    place: ObjectPlace,
    requested: EncryptionRequest | undefined,
    source?: ObjectEncryption,
  ): MaybePromise<WriteTransform | undefined>
  /** Begins an upload. `source`: as for `begin`. */
  beginUpload(
    place: ObjectPlace,
    requested: EncryptionRequest | undefined,
    source?: ObjectEncryption,
  ): MaybePromise<ObjectEncryption | undefined>
  /** `customerKey`: the key in the request for the part. */
  beginPart(
    place: ObjectPlace,
    upload: ObjectEncryption,
    partNumber: number,
    customerKey: KeyObject | undefined,
  ): MaybePromise<WriteTransform>
  /** The encryption of the version that an upload becomes. Needs no keys. */
  completeUpload(upload: ObjectEncryption, parts: readonly ObjectEncryption[]): ObjectEncryption
  /** Bytes start <= i < start+length. `readStored` reads the stored bytes of the version, all parts concatenated. */
  read(
    version: TransformedVersion,
    start: number,
    length: number,
    customerKey: KeyObject | undefined,
    readStored: (start: number, length: number) => MaybePromise<ObjectData>,
  ): MaybePromise<ObjectData>
  /** The same encryption for the object under its new key. */
  rename(from: ObjectPlace, to: ObjectPlace, encryption: ObjectEncryption): MaybePromise<ObjectEncryption>
}

declare module 'svc/kernel' {
  interface ExtensionPoints {
    /** The transformation between the client's bytes and the stored bytes. At most one contribution. */
    'object.transform': ObjectTransform
  }
}
