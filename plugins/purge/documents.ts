/**
 * Stored documents: `purge-webhooks`, the webhooks of one distribution, by its id. It belongs to the distribution that was created then: a
 * later one of the same id begins without webhooks.
 */

import { referencedName, type SecretUse } from 'svc/plugins/secret-references/api'
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

export const Field = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Record(Type.String(), Type.String()),
])

export const StoredWebhook = Type.Object({
  id: Type.String(),
  type: Type.String(),
  domains: Type.Array(Type.String()),
  settings: Type.Record(Type.String(), Field),
  secrets: Type.Record(Type.String(), Type.String({ secret: true })),
})
export type StoredWebhook = Static<typeof StoredWebhook>

const WebhooksDocument = Type.Object({
  distributionCreatedMs: Type.Integer(),
  webhooks: Type.Array(StoredWebhook, { maxItems: 10 }),
})
export type WebhooksDocument = Static<typeof WebhooksDocument>

export type WebhookCollection = Collection<WebhooksDocument>

/** During set-up, in every thread. */
export const declareWebhooks = (store: StoreService): WebhookCollection =>
  store.collection({ name: 'purge-webhooks', version: 1, schema: WebhooksDocument })

/** References to secrets. */
export async function secretsOf(collection: WebhookCollection): Promise<SecretUse[]> {
  const uses: SecretUse[] = []
  for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
    const page: Awaited<ReturnType<typeof collection.list>> = await collection.list({ startAfter })
    for (const { id, value } of page.documents) {
      for (const webhook of value.webhooks) {
        const names = Object.values(webhook.secrets).map(referencedName)
        const user = `the webhook ${webhook.id} of the distribution ${id}`
        uses.push(...names.flatMap(name => (name === undefined ? [] : [{ name, user }])))
      }
    }
    startAfter = page.next
  }
  return uses
}
