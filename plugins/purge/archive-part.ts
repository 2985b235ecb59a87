/** Purge webhooks in the archive of the cluster, with their settings and secrets, which are sealed there. */
import { isCatalogError } from 'svc/kernel'
import type { ArchivePart, PartProblem } from 'svc/plugins/cluster-archive/api'
import type { DistributionsService } from 'svc/plugins/distributions/api'
import { everyDocument } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import { Field, StoredWebhook, type WebhookCollection } from './documents.ts'
import { completeSettings, type Fields, type Kinds } from './kinds.ts'
import type { Outgoing } from './outgoing.ts'
import { webhooksMax } from './webhooks.ts'

/** Addresses, headers and bodies may have a secret in them that is not declared as one. */
const ArchivedWebhook = Type.Object({
  ...StoredWebhook.properties,
  settings: Type.Record(Type.String(), Type.Union(Field.anyOf, { secret: true })),
})

const Archived = Type.Object(
  { webhooks: Type.Array(ArchivedWebhook, { maxItems: webhooksMax }) },
  { additionalProperties: false },
)
type Archived = Static<typeof Archived>

export interface ArchivePartOptions {
  readonly collection: WebhookCollection
  readonly distributions: Pick<DistributionsService, 'get'>
  readonly kinds: () => Kinds
  readonly urlProblem: Outgoing['urlProblem']
}

export function createArchivePart(options: ArchivePartOptions): ArchivePart<Archived> {
  const { collection, distributions, kinds, urlProblem } = options
  const ownerOf = async (id: string) => (await distributions.get(id))?.createdMs

  function problem({ type, domains, settings, secrets }: StoredWebhook, aliases: readonly string[]) {
    const foreign = domains.find(domain => !aliases.includes(domain))
    if (foreign !== undefined) return `is for ${foreign}, which is no alias of the distribution`
    try {
      completeSettings(kinds().require(type, ''), { ...settings, ...secrets } as Fields, '', urlProblem)
      return undefined
    } catch (error) {
      if (!isCatalogError(error)) throw error
      return error.message
    }
  }

  return {
    schema: Archived,
    after: ['distribution'],

    async read() {
      const found = new Map<string, Archived>()
      for (const { id, value } of await everyDocument(collection)) {
        if (value.distributionCreatedMs === (await ownerOf(id))) found.set(id, { webhooks: value.webhooks })
      }
      return found
    },

    problems: (changed, after) =>
      [...changed].flatMap(([id, { webhooks }]): PartProblem[] => {
        const distribution = after.documents('distribution')?.get(id) as { aliases: readonly string[] } | undefined
        if (distribution === undefined) return [{ element: id, message: 'is of no distribution' }]
        return webhooks.flatMap((webhook, index) => {
          const message = problem(webhook, distribution.aliases)
          return message === undefined ? [] : [{ element: `${id}/webhooks/${index}`, message }]
        })
      }),

    async apply(changed, mayGoOn) {
      for (const [id, { webhooks }] of changed) {
        await mayGoOn()
        const distributionCreatedMs = await ownerOf(id)
        if (distributionCreatedMs === undefined) throw new Error(`the distribution ${id} is gone`)
        await collection.put(id, { distributionCreatedMs, webhooks }, { overwriteUnreadable: true })
      }
    },

    async remove(ids, mayGoOn) {
      for (const id of ids) {
        await mayGoOn()
        await collection.delete(id, { overwriteUnreadable: true })
      }
    },
  }
}
