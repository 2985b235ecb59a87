/** The webhooks of a distribution as documents: checked when they are written, with masked secrets when they are read. */
import { isDeepStrictEqual } from 'node:util'
import { chain, type MaybePromise } from 'svc/kernel'
import type { Distribution } from 'svc/plugins/distributions/api'
import { isReference } from 'svc/plugins/secret-references/api'
import { maskedValue } from 'svc/plugins/settings/api'
import type { PurgeService, WebhookDocument } from './api.ts'
import { domainsProblem, openDestination } from './destinations.ts'
import type { StoredWebhook, WebhookCollection } from './documents.ts'
import { invalidWebhook } from './errors.ts'
import { completeSettings, type Fields, type Kinds } from './kinds.ts'
import type { Outgoing } from './outgoing.ts'

export const webhooksMax = 10
const idPattern = /^[a-z0-9][a-z0-9._-]{0,63}$/

export interface WebhooksOptions {
  readonly collection: WebhookCollection
  readonly kinds: () => Kinds
  readonly urlProblem: Outgoing['urlProblem']
}

export interface Webhooks extends Pick<PurgeService, 'webhooks' | 'prepare'> {
  /** The stored webhooks of the distribution; those of a former one with the same id are left out. */
  stored(distribution: Pick<Distribution, 'id' | 'createdMs'>): MaybePromise<readonly StoredWebhook[]>
}

export function createWebhooks({ collection, kinds, urlProblem }: WebhooksOptions): Webhooks {
  const stored: Webhooks['stored'] = ({ id, createdMs }) =>
    chain(collection.get(id), document =>
      document?.value.distributionCreatedMs === createdMs ? document.value.webhooks : [],
    )

  function checked(
    given: WebhookDocument,
    element: string,
    distribution: Distribution,
    before: StoredWebhook | undefined,
  ): StoredWebhook {
    const { id, type, domains = [], ...rest } = given
    if (!idPattern.test(id))
      throw invalidWebhook(`${element}/id`, 'must be lower-case letters, digits, `.`, `_` and `-`, at most 64')
    const foreign = domains.find(domain => !distribution.aliases.includes(domain))
    if (foreign !== undefined)
      throw invalidWebhook(
        `${element}/domains`,
        `has ${JSON.stringify(foreign)}, which is no alias of the distribution ${distribution.id}`,
      )
    const kind = kinds().require(type, element)
    const fields = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as Fields
    const kept = before?.type === type ? before.secrets : {}
    const isKept = (name: string) => kind.secrets.has(name) && [maskedValue, ''].includes(String(fields[name] ?? ''))
    const secrets = [...kind.secrets].flatMap((name): [string, string][] => {
      if (!isKept(name)) return [[name, String(fields[name])]]
      return kept[name] === undefined ? [] : [[name, kept[name]]]
    })
    const open = Object.entries(fields).filter(([name]) => !kind.secrets.has(name))
    const complete = completeSettings(
      kind,
      { ...Object.fromEntries(open), ...Object.fromEntries(secrets) },
      element,
      urlProblem,
    )
    const settings = Object.fromEntries(Object.entries(complete).filter(([name]) => !kind.secrets.has(name)))
    const made = { id, type, domains: [...domains], settings, secrets: Object.fromEntries(secrets) } as StoredWebhook
    const problem = domainsProblem(kind, made)
    if (problem !== undefined) throw invalidWebhook(`${element}/domains`, problem)
    const isAtDomains = openDestination(kind, made) !== undefined
    const isMoved = isAtDomains && !isDeepStrictEqual(new Set(domains), new Set(before?.domains))
    const moved =
      kind.destinations.find(name => settings[name] !== before?.settings[name]) ?? (isMoved ? 'domains' : undefined)
    const reused = secrets.find(([name]) => isKept(name))
    if (before !== undefined && moved !== undefined && reused !== undefined) {
      throw invalidWebhook(
        `${element}/${reused[0]}`,
        `must be given again, because ${moved} changes, which it is sent to`,
      )
    }
    return made
  }

  return {
    stored,
    webhooks: distribution => chain(stored(distribution), found => found.map(shown)),
    async prepare(distribution, webhooks) {
      const { id, createdMs } = distribution
      const document = await collection.get(id)
      const before = document?.value.distributionCreatedMs === createdMs ? document.value.webhooks : []
      if (webhooks.length > webhooksMax) throw invalidWebhook('/webhooks', `has more than ${webhooksMax} webhooks`)
      const ids = webhooks.map(webhook => webhook.id)
      const twice = ids.findIndex((each, index) => ids.indexOf(each) !== index)
      if (twice >= 0) throw invalidWebhook(`/webhooks/${twice}/id`, 'is that of another webhook')
      const made = webhooks.map((webhook, index) =>
        checked(
          webhook,
          `/webhooks/${index}`,
          distribution,
          before.find(each => each.id === webhook.id),
        ),
      )
      const condition = document === undefined ? ({ ifNoneMatch: '*' } as const) : { ifMatch: document.etag }
      return {
        after: made.map(shown),
        isChange: !isDeepStrictEqual(made, before),
        apply(tx) {
          if (made.length > 0) tx.put(collection, id, { distributionCreatedMs: createdMs, webhooks: made }, condition)
          else if (document !== undefined) tx.delete(collection, id, condition)
        },
      }
    },
  }
}

function shown({ id, type, domains, settings, secrets }: StoredWebhook): WebhookDocument {
  const masked = Object.entries(secrets).map(([name, text]) => [name, isReference(text) ? text : maskedValue])
  return { id, type, domains, ...(settings as Fields), ...Object.fromEntries(masked) }
}
