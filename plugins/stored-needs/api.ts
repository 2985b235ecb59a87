/**
 * What stored data needs in order to stay safe. A plugin that stores something which a server must not ignore (a policy that denies, a
 * lock, a default encryption) contributes a `StoredNeed` for it. The need is written down on the drive before anything is served, so
 * that a later start without the plugin is refused by its name.
 */
import type { RecordFeature } from 'svc/plugins/objects/api'

/** How stored data shows a need. */
export type StoredSign =
  /** A bucket has a document in this collection of `store`, whose scope is `bucket`. */
  | { readonly kind: 'bucket-document'; readonly name: string }
  /** A record of a bucket, a version or an upload shows this feature. */
  | { readonly kind: 'record'; readonly name: RecordFeature }

export interface StoredNeed {
  readonly sign: StoredSign
  /** What a bucket has then, behind "has" or "have": `a policy`. */
  readonly has: string
  /** What a server without the plugin does, behind "Without it": a clause without a full stop. */
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
  /** Plugins without which this server was started on the operator's word. From `start` on. */
  ignored(): readonly MissingPlugin[]
}

declare module 'svc/kernel' {
  interface Services {
    storedNeeds: StoredNeedsService
  }
  interface ExtensionPoints {
    /** The id names the need for ever: it is stored. */
    'stored.need': StoredNeed
  }
}
