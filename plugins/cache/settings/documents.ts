/**
 * Stored documents:
 *
 * | Collection | Document | Changes |
 * |---|---|---|
 * | `cache-settings` | `cluster` | by operators |
 * | `cache-policy` | one each, by name | by operators |
 * | `distribution-cache` | one each, by the id of the distribution | by operators; it belongs to the distribution that was created then |
 * | `cache-head` | `configuration` | with every change of one of the above, in the same commit |
 */
import { PathPattern } from 'svc/plugins/distributions/api'
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import { LevelFields, PolicyFields } from './fields.ts'

const strict = { additionalProperties: false } as const

export const StoredPolicy = Type.Object({ comment: Type.String(), policy: PolicyFields }, strict)
export type StoredPolicy = Static<typeof StoredPolicy>

export const StoredSettings = Type.Object(
  {
    cache: LevelFields,
    nodeHeader: Type.Boolean(),
    debug: Type.Object({ header: Type.String(), secret: Type.String({ secret: true }) }, strict),
  },
  strict,
)
export type StoredSettings = Static<typeof StoredSettings>

export const StoredDistributionCache = Type.Object(
  {
    distributionCreatedMs: Type.Integer(),
    cache: LevelFields,
    domains: Type.Array(Type.Object({ host: Type.String(), cache: LevelFields }, strict)),
    behaviors: Type.Array(Type.Object({ pathPattern: PathPattern, cache: LevelFields }, strict)),
    warmOnWrite: Type.Array(Type.String()),
    /** Number of changes of its webhooks, which another plugin keeps: so the ETag covers them, too. Missing: none yet. */
    webhookChanges: Type.Optional(Type.Integer()),
  },
  strict,
)
export type StoredDistributionCache = Static<typeof StoredDistributionCache>

export interface CacheDocuments {
  readonly settings: Collection<StoredSettings>
  readonly policies: Collection<StoredPolicy>
  readonly distributions: Collection<StoredDistributionCache>
  readonly heads: Collection<{ changes: number }>
}

export const clusterId = 'cluster'
export const headId = 'configuration'
export const defaultSettings: StoredSettings = {
  cache: {},
  nodeHeader: false,
  debug: { header: 'X-Svc-Cache-Debug', secret: '' },
}

/** To be called during set-up, in every thread. */
export function declareCacheDocuments(store: StoreService): CacheDocuments {
  return {
    settings: store.collection({ name: 'cache-settings', version: 1, schema: StoredSettings }),
    policies: store.collection({ name: 'cache-policy', version: 1, schema: StoredPolicy }),
    distributions: store.collection({ name: 'distribution-cache', version: 1, schema: StoredDistributionCache }),
    heads: store.collection({
      name: 'cache-head',
      version: 1,
      archiveNote: 'not in it: changes with the settings',
      schema: Type.Object({ changes: Type.Integer() }),
    }),
  }
}

/** ETag of settings that were never stored: a change that names it fails if they have been stored meanwhile. */
export const unsetEtag = 'unset'
