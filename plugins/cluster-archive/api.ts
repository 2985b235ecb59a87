/**
 * The archive of a cluster: its users, groups, policies and access keys, its configuration, and the settings of its buckets; not their
 * objects. Each plugin that keeps settings of buckets says so by a section.
 */
import type { MaybePromise } from 'svc/kernel'
import type { BucketDocument } from 'svc/plugins/store/api'

/** One kind of settings of buckets. Its name in the archive is that of its documents. */
export interface ArchiveSection {
  // biome-ignore lint/suspicious/noExplicitAny: each section has its own type of value
  readonly documents: Pick<BucketDocument<any>, 'name' | 'read' | 'check' | 'stage'>
  /** Checks that its schema cannot express: why this bucket cannot have this value. A clause after "it". */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  problem?(bucket: string, value: any): MaybePromise<string | undefined>
}

declare module 'svc/kernel' {
  interface ExtensionPoints {
    'archive.section': ArchiveSection
  }
}
