/**
 * The store: small JSON documents that are consistent over all threads (users, policies, settings, configuration of buckets). Documents are
 * in *collections*, which are declared during set-up. Each document has an id, an ETag and the sequence of the commit that wrote it. Reads
 * are answered from memory, and see every change that was acknowledged before them, in any thread.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Static, TSchema } from 'typebox'
import type { Scope } from './keys.ts'

export {
  type BucketDocument,
  type BucketRules,
  bucketDocument,
  bucketRules,
  noRulesEtag,
  type RulesOfBucket,
  rulesPreconditions,
} from './bucket-document.ts'
export { deleteBucketDocuments, isBucketKept } from './bucket-documents.ts'
export { storeErrors } from './errors.ts'
export { everyDocument } from './every-document.ts'
export { bucketDocuments, globalDocuments, parseDocumentKey, type Scope } from './keys.ts'
export { findSecretFields as secretFields, type SecretPlace, secretPlaces } from './secret-fields.ts'
export { type DocumentUser, gatherUses, type NamedUser, type Uses, usedBy } from './uses.ts'

export interface CollectionDeclaration<Schema extends TSchema> {
  /** Singular, kebab-case, unique, and never changed: it is part of the stored format. Example: `iam-user`. */
  readonly name: string
  /**
   * The schema of a document, which is plain JSON. Checked by writes and by reads. A field with `secret: true` is sealed (AES-256-GCM) on
   * the drive, and plain in memory.
   */
  readonly schema: Schema
  /** Version of the schema, 1 to 65535. A document with a higher version cannot be read. */
  readonly version: number
  /**
   * `bucket`: the id is the name of an existing bucket, and deleting the bucket deletes the document in the same commit. `bucket-keeper`: the
   * same, but while the document is there, the bucket is not deleted. Default `global`.
   */
  readonly scope?: Scope
  /**
   * For documents that are no `archive.section` and no `archive.part`: where the archive of the cluster has them, or why it has not. A test
   * asks it of every collection, so that no new one is forgotten.
   */
  readonly archiveNote?: string
  /** Converts a value of a lower version to `version`. A pure function; the result is stored by the next write of the document. */
  migrate?(value: unknown, fromVersion: number): unknown
}

/** A document as stored. Deeply frozen, and shared by all readers in the thread. */
export interface StoredDocument<T> {
  readonly id: string
  readonly value: T
  /**
   * Strong, 32 hexadecimal digits without quotes: the first half of the SHA-256 of the canonical JSON (RFC 8785). Each secret is
   * replaced by HMAC(key derived from the deployment key, secret), so that the ETag does not help to guess a weak secret.
   */
  readonly etag: string
  /** Sequence number of the commit that wrote the document. Every change of any document increases it. */
  readonly sequence: number
  /** Milliseconds since 1970. */
  readonly modifiedMs: number
}

/** Evaluated in the commit, which fails with `precondition_failed` if one does not hold. */
export interface Preconditions {
  /** The ETag that the document must have; `*`: the document must exist. */
  readonly ifMatch?: string
  /** The document must not exist. */
  readonly ifNoneMatch?: '*'
}

export interface ChangeOptions extends Preconditions {
  /** Also replaces or deletes a document that cannot be read; without it that is refused with `document_unreadable`. */
  readonly overwriteUnreadable?: boolean
}

export interface Written {
  readonly etag: string
  readonly sequence: number
  readonly modifiedMs: number
}

export interface ListDocumentsRequest {
  /** Only ids with this prefix. Default: all. */
  readonly prefix?: string
  /** Only ids after this one, in UTF-8 byte order. Default: from the beginning. */
  readonly startAfter?: string
  /** 1 to 1000, the default. */
  readonly limit?: number
}

export interface DocumentPage<T> {
  /** Sorted by the UTF-8 bytes of their ids. Without documents that cannot be read. */
  readonly documents: readonly StoredDocument<T>[]
  /** To be passed as `startAfter`; undefined when the list is complete. */
  readonly next: string | undefined
}

/**
 * A change of a document since the watcher was last called: several changes in quick succession are reported as one. Of one that was made and
 * deleted at once both are undefined.
 */
export interface DocumentChange<T> {
  readonly id: string
  readonly before: StoredDocument<T> | undefined
  readonly after: StoredDocument<T> | undefined
}

/** A value that is computed from each document once, and cached as long as the document does not change. */
export interface CompiledDocuments<C> {
  /** As fresh as `Collection.get`. Undefined if the document does not exist. Throws the errors of `compile`. */
  get(id: string): MaybePromise<C | undefined>
}

/** The documents of one kind. Promises reject with `storeErrors` or with errors of storage. */
export interface Collection<T> {
  /**
   * The document as of the last acknowledged change of any thread. Without a promise if this thread has it in memory (under 0.2 µs), or can
   * read it without asking another thread, as the main thread always can.
   */
  get(id: string): MaybePromise<StoredDocument<T> | undefined>
  /** Resolves when the document is durable; from then on every thread sees it. */
  put(id: string, value: T, options?: ChangeOptions): Promise<Written>
  /** Why a value cannot be stored: a sentence with the field, which never repeats a value. Undefined if it can. */
  check(value: unknown): string | undefined
  /** Resolves with whether the document existed. */
  delete(id: string, options?: ChangeOptions): Promise<boolean>
  list(request?: ListDocumentsRequest): MaybePromise<DocumentPage<T>>
  /**
   * Replaces the value by the result of `change`; `undefined` leaves it as it is. `change` is called again with the newer value, at most 64
   * times, if another writer was faster, so it must have no side effects. Resolves with the document as it is then.
   */
  update(
    id: string,
    change: (current: StoredDocument<T> | undefined) => T | undefined,
  ): Promise<StoredDocument<T> | undefined>
  /**
   * Calls this thread's listener soon after each change by any thread. `onResync` asks the watcher to read its documents again: when
   * changes may have been missed, and every SVC_CACHE_RESYNC_INTERVAL. Returns a function that ends the watch.
   */
  watch(listener: (change: DocumentChange<T>) => void, onResync?: () => void): () => void
  /**
   * To be called during set-up. The compiled value is cached with its document, and dropped with it. `bytesOf`: about how much memory it
   * takes, where a small document can make a large one; it counts with the documents of the collection.
   */
  compiled<C>(compile: (document: StoredDocument<T>) => C, bytesOf?: (compiled: C) => number): CompiledDocuments<C>
  /**
   * Why a document cannot be read; undefined if it can, or if it does not exist. For callers to whom a missing document means more rights
   * than the document would give.
   */
  problem(id: string): MaybePromise<string | undefined>
  /**
   * For the checks of `server --dry-run`: the value as of the end of the last run, without opening the storage. Undefined if it does not
   * exist or cannot be read. Rejects if only a start can tell (`StorageService.peek`). Not for schemas with secret fields.
   */
  peek(id: string): Promise<T | undefined>
}

/** Collects changes for one commit. */
export interface TransactionBuilder {
  put<T>(collection: Collection<T>, id: string, value: T, options?: ChangeOptions): void
  delete<T>(collection: Collection<T>, id: string, options?: ChangeOptions): void
  /** Changes nothing; the other changes are made only if the preconditions hold. */
  require<T>(collection: Collection<T>, id: string, preconditions: Preconditions): void
}

/** A document that cannot be read. It is kept as it is, and readers do not see it. */
export interface QuarantinedDocument {
  readonly collection: string
  readonly id: string
  /** A sentence without secrets. */
  readonly reason: string
}

export interface StoreService {
  /** Declares a collection. During set-up only, in every thread, once per name. */
  collection<Schema extends TSchema>(declaration: CollectionDeclaration<Schema>): Collection<Static<Schema>>
  /**
   * Commits all changes that `fill` collects, or none; each document is changed once, at most 4000 changes and conditions, 16 MiB in all.
   * Preconditions are evaluated before the first change, also those of documents that the transaction changes. Resolves with the sequence of the commit.
   */
  transaction(
    fill: (tx: TransactionBuilder) => void,
  ): Promise<{ readonly sequence: number; readonly modifiedMs: number }>
  /**
   * Reports how long updates in this thread waited for other updates of the same document. Updates that did not wait are not reported.
   * Returns a function that ends the reports.
   */
  watchWaits(
    listener: (document: { readonly collection: string; readonly id: string }, waitedMs: number) => void,
  ): () => void
  /** All that were declared, for tests. */
  collections(): readonly Pick<CollectionDeclaration<TSchema>, 'name' | 'scope' | 'archiveNote'>[]
  /** Documents that cannot be read, at most 1000 of them, and their total number. */
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
