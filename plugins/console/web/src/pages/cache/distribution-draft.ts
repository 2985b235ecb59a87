/** The cache settings of a distribution while they are edited: with every field that a form shows, so that pointers of the server's errors fit. */
import type { Answer } from '../../api/operations.ts'
import { objectOf, type Pair, pairsOf } from '../../parts/pairs.ts'
import { type Level, levelDraftOf, levelOf } from './level-fields.tsx'

export type DistributionCache = Answer<'getDistributionCache'>
type Pattern = DistributionCache['behaviors'][number]['pathPattern']

export const maskedValue = '*REDACTED*'

/** The fields of each kind of webhook that the console knows, in the order of the form; those of others are pairs. */
export const kindFields = {
  generic: ['url', 'method', 'headers', 'body', 'scheme', 'token', 'clientSecret'],
  cdn_1: ['zone', 'token', 'scheme'],
  cdn_2: ['zone', 'token'],
  cdn_3: ['url', 'clientToken', 'clientSecret', 'token', 'cpCode', 'network', 'scheme'],
  cdn_4: ['zone', 'token', 'scheme'],
  cdn_5: ['zone', 'clientToken', 'clientSecret', 'token'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type WebhookFieldName = (typeof kindFields)[keyof typeof kindFields][number]
export const secretFields: ReadonlySet<string> = new Set(['token', 'clientToken', 'clientSecret'])

export const fieldsOfKind = (type: string): readonly WebhookFieldName[] | undefined =>
  kindFields[type as keyof typeof kindFields]

/** Its settings are beside `id`, as in the document; `pairs` are those of a kind that the console does not know. */
export interface WebhookDraft {
  readonly id: string
  readonly type: string
  readonly domains: string[]
  readonly headers: readonly Pair[]
  readonly pairs: readonly Pair[]
  readonly [field: string]: unknown
}

export interface DistributionDraft {
  readonly cache: Level
  readonly domains: readonly { readonly host: string; readonly cache: Level }[]
  readonly behaviors: readonly { readonly pathPattern: Pattern; readonly cache: Level }[]
  readonly webhooks: readonly WebhookDraft[]
  readonly warmOnWrite: string[]
}

/** Its name is one that none of the others has. */
export function newWebhook(others: readonly WebhookDraft[]): WebhookDraft {
  let index = others.length + 1
  while (others.some(({ id }) => id === `front-${index}`)) index++
  return webhookDraftOf({ id: `front-${index}`, type: 'generic' })
}

export const newLevel = (): Level => levelDraftOf({})

export function draftOf({ cache, domains, behaviors, webhooks, warmOnWrite }: DistributionCache): DistributionDraft {
  return {
    cache: levelDraftOf(cache),
    domains: domains.map(({ host, cache: level }) => ({ host, cache: levelDraftOf(level) })),
    behaviors: behaviors.map(({ pathPattern, cache: level }) => ({ pathPattern, cache: levelDraftOf(level) })),
    webhooks: webhooks.map(webhookDraftOf),
    warmOnWrite,
  }
}

interface Webhook {
  readonly id: string
  readonly type: string
  readonly domains?: string[]
  readonly [field: string]: unknown
}

function webhookDraftOf({ id, type, domains = [], ...settings }: Webhook): WebhookDraft {
  const known = fieldsOfKind(type)
  const texts = Object.fromEntries(
    [...new Set(Object.values(kindFields).flat())].map(name => [name, String(settings[name] ?? '')]),
  )
  return {
    ...texts,
    id,
    type,
    domains,
    headers: pairsOf(settings.headers as object | undefined),
    pairs: known === undefined ? pairsOf(settings).map(([name, value]) => [name, String(value)] as const) : [],
  }
}

export function documentOf({ cache, domains, behaviors, webhooks, warmOnWrite }: DistributionDraft) {
  return {
    cache: levelOf(cache),
    domains: domains.map(({ host, cache: level }) => ({ host: host.trim(), cache: levelOf(level) })),
    behaviors: behaviors.map(({ pathPattern, cache: level }) => ({ pathPattern, cache: levelOf(level) })),
    webhooks: webhooks.map(webhookOf),
    warmOnWrite,
  }
}

/** Empty settings are left out: the kind's defaults are in force there, and secrets stay as they are. */
function webhookOf(draft: WebhookDraft): { id: string; type: string; domains: string[] } {
  const { id, type, domains, headers, pairs } = draft
  const settings =
    fieldsOfKind(type)
      ?.filter(name => name !== 'headers' && draft[name] !== '' && draft[name] !== undefined)
      .map(name => [name, draft[name]] as const) ?? Object.entries(objectOf(pairs))
  return {
    id: id.trim(),
    type: type.trim(),
    domains,
    ...Object.fromEntries(settings),
    ...(headers.length > 0 && type === 'generic' && { headers: objectOf(headers) }),
  }
}
