/** What operators set, staged as documents: for whoever brings them in and out. */
import type { Distribution } from 'svc/plugins/distributions/api'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import type { CachePolicyInput, CacheSettingsInput, DistributionCacheInput } from '../admin/schemas.ts'

/** Of one kind, by name. */
export interface StagedDocuments<Content> {
  /** As they are. */
  readonly before: ReadonlyMap<string, Content>
  /** Of those that are wanted, as they will be. */
  readonly after: ReadonlyMap<string, Content>
  readonly changed: ReadonlySet<string>
  /** Why one cannot be stored. */
  readonly errors: ReadonlyMap<string, Error>
}

/** `null` removes. */
export interface CacheChanges {
  readonly policies: ReadonlyMap<string, CachePolicyInput | null>
  /** Undefined: they stay. */
  readonly settings: CacheSettingsInput | undefined
  readonly distributions: ReadonlyMap<string, DistributionCacheInput | null>
  /** As they will be. */
  readonly sites: ReadonlyMap<string, Distribution>
}

export interface StagedCache {
  readonly policies: StagedDocuments<CachePolicyInput>
  /** Its only name is `cluster`. */
  readonly settings: StagedDocuments<CacheSettingsInput>
  readonly distributions: StagedDocuments<DistributionCacheInput>
  /** All changes, on the condition that no settings have changed meanwhile. Only where there are no errors. */
  apply(tx: TransactionBuilder): void
}

/** What operators have set, as documents that clients write. Secrets are masked, and stay when they are sent back. */
export interface CacheDocumentsService {
  /** With no changes `before` is all there is. */
  stage(changes: CacheChanges): Promise<StagedCache>
}
