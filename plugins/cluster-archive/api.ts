/**
 * The archive of a cluster: its users, groups, policies and access keys, its configuration, and the settings of its buckets; not their
 * objects. Each plugin that keeps settings of buckets says so by a section, each that keeps other documents by a part.
 */
import type { MaybePromise } from 'svc/kernel'
import type { BucketDocument } from 'svc/plugins/store/api'
import type { TSchema } from 'typebox'

/** One kind of settings of buckets. Its name in the archive is that of its documents. */
export interface ArchiveSection {
  // biome-ignore lint/suspicious/noExplicitAny: each section has its own type of value
  readonly documents: Pick<BucketDocument<any>, 'name' | 'read' | 'check' | 'stage'>
  /** Checks that its schema cannot express: why this bucket cannot have this value. A clause after "it". */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  problem?(bucket: string, value: any): MaybePromise<string | undefined>
}

export interface PartProblem {
  /** The id of a document, and a place in it: `site/aliases/0`. */
  readonly element: string
  /** A clause after it: `is an alias of the distribution shop, too`. */
  readonly message: string
}

/** The deployment as it would be after an import. */
export interface AfterImport {
  /** The documents of a part by id; undefined: no loaded plugin keeps such documents. */
  documents(part: string): ReadonlyMap<string, unknown> | undefined
  hasBucket(name: string): Promise<boolean>
}

/**
 * Documents that belong to no bucket: distributions, key groups, DNS providers. The name of the part is that of its file in archives, for
 * ever, and stands before the ids of its documents in what an import reports: `distribution/site`.
 */
// biome-ignore lint/suspicious/noExplicitAny: each part has its own type of value
export interface ArchivePart<Value = any> {
  /** The form of a document in archives. Fields with `secret: true` are sealed there. */
  readonly schema: TSchema
  /** The parts whose documents are named by documents of this part: they are written before, and removed after. */
  readonly after?: readonly string[]
  /**
   * All documents of this deployment by id, as archives carry them: without private keys, and without anything that a second deployment has
   * differently, such as times.
   */
  read(): Promise<ReadonlyMap<string, Value>>
  /** Why the deployment cannot have the documents that an import would write: all problems that the schema cannot express. */
  problems(changed: ReadonlyMap<string, Value>, after: AfterImport): MaybePromise<readonly PartProblem[]>
  /** Writes documents. May be repeated. `mayGoOn` is called before each commit, and rejects where the import has lost its lock. */
  apply(changed: ReadonlyMap<string, Value>, mayGoOn: () => MaybePromise<void>): Promise<void>
  /** Removes documents, if they are there. */
  remove(ids: readonly string[], mayGoOn: () => MaybePromise<void>): Promise<void>
}

/** By the name of a document that an import changes: the names of its fields that differ, without values. */
export type ChangedFields = ReadonlyMap<string, readonly string[]>

declare module 'svc/kernel' {
  interface ExtensionPoints {
    'archive.section': ArchiveSection
    'archive.part': ArchivePart
  }
}
