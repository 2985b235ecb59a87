/**
 * Stored documents:
 *
 * | Collection | Id | Changes |
 * |---|---|---|
 * | `dns-provider` | name of the provider | by operators |
 * | `dns-publication` | digest of provider, name and value | written before the provider hears of the value, deleted when it has confirmed the removal |
 */
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

export const ProviderDocument = Type.Object({
  type: Type.String(),
  comment: Type.String(),
  settings: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  credentials: Type.Record(Type.String(), Type.String({ secret: true })),
  ttlSeconds: Type.Integer(),
  propagationTimeoutMs: Type.Integer(),
  pollingIntervalMs: Type.Integer(),
  createdMs: Type.Integer(),
})

const PublicationDocument = Type.Object({
  provider: Type.String(),
  owner: Type.String(),
  name: Type.String(),
  record: Type.String(),
  zone: Type.String(),
  value: Type.String(),
  /** The time to live of the record, which is needed to remove it. */
  ttlSeconds: Type.Integer(),
  publishedMs: Type.Integer(),
  /** Until when it outlives a restart. */
  keepUntilMs: Type.Integer(),
})

export type ProviderDocument = Static<typeof ProviderDocument>
export type PublicationDocument = Static<typeof PublicationDocument>

export interface DnsDocuments {
  readonly providers: Collection<ProviderDocument>
  readonly publications: Collection<PublicationDocument>
}

/** During set-up, in every thread. */
export function declareDnsDocuments(store: StoreService): DnsDocuments {
  return {
    providers: store.collection({ name: 'dns-provider', version: 1, schema: ProviderDocument }),
    publications: store.collection({
      name: 'dns-publication',
      version: 1,
      archiveNote: 'not in it: the work of a moment',
      schema: PublicationDocument,
    }),
  }
}
