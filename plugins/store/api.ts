/**
 * The store: small JSON documents that every thread agrees on (users, policies, settings, configuration of buckets). Documents
 * live in *collections*, declared during set-up; each has an id, an ETag and the sequence of the commit that wrote it. Reads
 * are answered from memory, and yet see every change that was acknowledged before them, in whichever thread.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Static, TSchema } from 'typebox'

export {
  type BucketDocument,
  type BucketRules,
  bucketDocument,
  bucketRules,
  noRulesEtag,
  type RulesOfBucket,
  rulesPreconditions,
} from './bucket-document.ts'
export { deleteBucketDocuments } from './bucket-documents.ts'
export { storeErrors } from './errors.ts'
export { bucketDocuments, parseDocumentKey } from './keys.ts'

export interface CollectionDeclaration<Schema extends TSchema> {
  /** Singular, kebab-case, unique, and for ever: it is part of the stored format. `iam-user` */
  readonly name: string
  /**
   * What a document is: plain JSON. Checked when it is written and when it is read. A field with `secret: true` is sealed
   * (AES-256-GCM) before it is written, and plain in memory.
   */
  readonly schema: Schema
  /** Version of the schema, 1 to 65535. A document of a higher one cannot be read. */
  readonly version: number
  /** `bucket`: the id is the name of a bucket that exists; the document goes in the same commit as the bucket. Default `global`. */
  readonly scope?: 'global' | 'bucket'
  /** Makes a value of `version` out of one of a lower version. Pure; the result is stored when somebody next writes it. */
  migrate?(value: unknown, fromVersion: number): unknown
}

/** A document as stored. Deeply frozen, and shared by everybody in the thread who asks. */
export interface StoredDocument<T> {
  readonly id: string
  readonly value: T
  /**
   * Strong, 32 hexadecimal digits without quotes: the first of the SHA-256 of the canonical JSON (RFC 8785). In it each secret
   * is replaced by its HMAC under the deployment's key, so that an ETag does not betray a weak one.
   */
  readonly etag: string
  /** Of the commit; increases with every change, over all documents. */
  readonly sequence: number
  /** Milliseconds since 1970. */
  readonly modifiedMs: number
}

/** Evaluated in the commit. What does not hold is `precondition_failed`. */
export interface Preconditions {
  /** ETag that the document must have; `*`: it must be there. */
  readonly ifMatch?: string
  /** It must not be there. */
  readonly ifNoneMatch?: '*'
}

export interface ChangeOptions extends Preconditions {
  /** Replaces or deletes also what cannot be read, which is otherwise refused (`document_unreadable`). */
  readonly overwriteUnreadable?: boolean
}

export interface Written {
  readonly etag: string
  readonly sequence: number
  readonly modifiedMs: number
}

export interface ListDocumentsRequest {
  /** Default empty: all. */
  readonly prefix?: string
  /** Only ids after this one, in UTF-8 byte order. Default empty: from the beginning. */
  readonly startAfter?: string
  /** 1 to 1000, the default. */
  readonly limit?: number
}

export interface DocumentPage<T> {
  /** By the UTF-8 bytes of their ids. What cannot be read is left out. */
  readonly documents: readonly StoredDocument<T>[]
  /** To be passed as `startAfter`; undefined when the list is complete. */
  readonly next: string | undefined
}

/** What happened to a document since watchers last heard of it: changes in quick succession are told as one. */
export interface DocumentChange<T> {
  readonly id: string
  readonly before: StoredDocument<T> | undefined
  readonly after: StoredDocument<T> | undefined
}

/** A form of each document that is made once and kept as long as the document stays what it is. */
export interface CompiledDocuments<C> {
  /** As fresh as `Collection.get`. Undefined where there is no document. Throws what compiling threw. */
  get(id: string): MaybePromise<C | undefined>
}

/** The documents of one kind. Everything that waits rejects with `storeErrors` or with errors of storage. */
export interface Collection<T> {
  /**
   * The document as of the last acknowledged change of any thread. At once when this thread remembers it (under 0.2 µs) or can
   * read it without asking, which is always so in the main thread; a promise otherwise.
   */
  get(id: string): MaybePromise<StoredDocument<T> | undefined>
  /** Resolves when it is durable; from then on every thread sees it. */
  put(id: string, value: T, options?: ChangeOptions): Promise<Written>
  /** Why a value cannot be put: a sentence with its place, which never repeats a value. Undefined: it can. */
  check(value: unknown): string | undefined
  /** Resolves with whether there was something to delete. */
  delete(id: string, options?: ChangeOptions): Promise<boolean>
  list(request?: ListDocumentsRequest): MaybePromise<DocumentPage<T>>
  /**
   * Replaces the value by what `change` makes of it; `undefined` leaves it as it is. Called again (at most 64 times) with the
   * newer value when somebody else was faster, so it must have no other effect. Resolves with the document as it then is.
   */
  update(
    id: string,
    change: (current: StoredDocument<T> | undefined) => T | undefined,
  ): Promise<StoredDocument<T> | undefined>
  /**
   * Tells this thread's listener of each change, whoever made it, soon after it. `onResync` asks to read again whatever was
   * made from documents: when changes may have been missed, and every SVC_CACHE_RESYNC_INTERVAL. Returns what ends it.
   */
  watch(listener: (change: DocumentChange<T>) => void, onResync?: () => void): () => void
  /** During set-up. The compiled form takes its place in memory with the document, and goes with it. */
  compiled<C>(compile: (document: StoredDocument<T>) => C): CompiledDocuments<C>
  /**
   * Why a document cannot be read; undefined where it can, and where there is none. For whom a missing document means more
   * rights than the document gave.
   */
  problem(id: string): MaybePromise<string | undefined>
  /**
   * For the checks of `server --dry-run`: the value as the last run left it, without opening the storage. Undefined where there is none
   * or it cannot be read. Rejects where only a start can tell (`StorageService.peek`). Not for schemas with secret fields.
   */
  peek(id: string): Promise<T | undefined>
}

/** Collects changes that are to be made together. */
export interface TransactionBuilder {
  put<T>(collection: Collection<T>, id: string, value: T, options?: ChangeOptions): void
  delete<T>(collection: Collection<T>, id: string, options?: ChangeOptions): void
  /** Changes nothing; the other changes are made only if this holds. */
  require<T>(collection: Collection<T>, id: string, preconditions: Preconditions): void
}

/** A document that cannot be read. It is kept as it is, and absent for readers. */
export interface QuarantinedDocument {
  readonly collection: string
  readonly id: string
  /** A sentence without secrets. */
  readonly reason: string
}

export interface StoreService {
  /** Declares a collection. Only during set-up, in every thread, once per name. */
  collection<Schema extends TSchema>(declaration: CollectionDeclaration<Schema>): Collection<Static<Schema>>
  /**
   * Commits what `fill` collects together or not at all; each document once, at most 1000 changes, 16 MiB in all. Preconditions
   * are evaluated before the first change. Resolves with the sequence of the commit.
   */
  transaction(
    fill: (tx: TransactionBuilder) => void,
  ): Promise<{ readonly sequence: number; readonly modifiedMs: number }>
  /**
   * Tells how long updates in this thread waited for others of the same document, until the function that it returns is called. Only of
   * those that had to wait.
   */
  watchWaits(
    listener: (document: { readonly collection: string; readonly id: string }, waitedMs: number) => void,
  ): () => void
  /** Documents that were found unreadable, at most 1000 of them, and how many there are in all. */
  quarantined(): MaybePromise<{
    readonly documents: readonly QuarantinedDocument[]
    readonly counts: Readonly<Record<string, number>>
  }>
}

declare module 'svc/kernel' {
  interface Services {
    store: StoreService
  }
}
