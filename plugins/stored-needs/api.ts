/**
 * The plugins that stored data needs in order to stay safe. A plugin whose stored data a server must not ignore (a policy that denies, a
 * lock, a default encryption) contributes a `StoredNeed`. The need is recorded on the drive before requests are served, so that a later
 * start without the plugin is refused and names the plugin.
 */
import type { RecordFeature } from 'svc/plugins/objects/api'

/** The sign by which a need is found in stored data. */
export type StoredSign =
  /** A bucket has a document in this collection of `store`, whose scope is `bucket`. */
  | { readonly kind: 'bucket-document'; readonly name: string }
  /** There is a document in this collection of `store`, which is not of buckets. */
  | { readonly kind: 'document'; readonly name: string }
  /** A record of a bucket, a version or an upload shows this feature. */
  | { readonly kind: 'record'; readonly name: RecordFeature }

export interface StoredNeed {
  readonly sign: StoredSign
  /** Completes "The bucket has": `a policy`; of `document` the name of one: `distribution`. */
  readonly has: string
  /** Completes "Without it": a clause without a full stop. */
  readonly consequence: string
}

/** A plugin that stored data needs and that is not loaded. */
export interface MissingPlugin {
  readonly name: string
  /** One clause for each need: `3 buckets have a policy, "photos" among them`. */
  readonly reasons: readonly string[]
  readonly consequences: readonly string[]
}

export interface StoredNeedsService {
  /** Missing plugins that the operator named in SVC_IGNORE_MISSING_PLUGINS. Available after `start`. */
  ignored(): readonly MissingPlugin[]
}

declare module 'svc/kernel' {
  interface Services {
    storedNeeds: StoredNeedsService
  }
  interface ExtensionPoints {
    /** The id is stored, so it must never change. */
    'stored.need': StoredNeed
  }
}
