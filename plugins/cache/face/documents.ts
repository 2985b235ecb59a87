/** Cache settings of operators, staged as documents: for plugins that import and export them. */
import type { Distribution } from 'svc/plugins/distributions/api'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import type { CachePolicyInput, CacheSettingsInput, DistributionCacheInput } from '../admin/schemas.ts'

/** Documents of one kind, by name. */
export interface StagedDocuments<Content> {
  /** The present documents. */
  readonly before: ReadonlyMap<string, Content>
  /** The documents of the request, as they will be. */
  readonly after: ReadonlyMap<string, Content>
  readonly changed: ReadonlySet<string>
  /** By name: why a document cannot be stored. */
  readonly errors: ReadonlyMap<string, Error>
}

/** `null` removes a document. */
export interface CacheChanges {
  readonly policies: ReadonlyMap<string, CachePolicyInput | null>
  /** Undefined: the settings stay. */
  readonly settings: CacheSettingsInput | undefined
  readonly distributions: ReadonlyMap<string, DistributionCacheInput | null>
  /** All distributions, as they will be. */
  readonly sites: ReadonlyMap<string, Distribution>
}

export interface StagedCache {
  readonly policies: StagedDocuments<CachePolicyInput>
  /** Its only name is `cluster`. */
  readonly settings: StagedDocuments<CacheSettingsInput>
  readonly distributions: StagedDocuments<DistributionCacheInput>
  /** Adds all changes to a transaction, on the condition that no cache settings have changed meanwhile. Must not be called if there are errors. */
  apply(tx: TransactionBuilder): void
}

/** Cache settings of operators, as documents that clients write. Secrets are masked; a masked secret that is sent back stays. */
export interface CacheDocumentsService {
  /** Without changes only `before` is filled. */
  stage(changes: CacheChanges): Promise<StagedCache>
}
