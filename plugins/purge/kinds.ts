/** Kinds of webhooks, and the parts of a document that their schemas declare. */
import type { Contribution } from 'svc/kernel'
import { completeFields, type KindFields, kindFields, type SettingsProblem } from 'svc/plugins/settings/api'
import type { AnyPurgeWebhookKind, WebhookField } from './api.ts'
import { invalidWebhook } from './errors.ts'

export interface Kind extends KindFields {
  readonly type: string
  readonly kind: AnyPurgeWebhookKind
}

export interface Kinds {
  get(type: string): Kind | undefined
  /** Throws `invalid_cache_request`, which names those that there are. */
  require(type: string, element: string): Kind
}

export type Fields = Readonly<Record<string, WebhookField>>

/** Fields of every webhook's document. */
const takenFields = new Set(['id', 'type', 'domains'])

export function createKinds(contributions: readonly Contribution<AnyPurgeWebhookKind>[]): Kinds {
  const kinds = new Map(contributions.map(({ id, value }) => [id, describe(id, value)]))
  return {
    get: type => kinds.get(type),
    require(type, element) {
      const kind = kinds.get(type)
      if (kind !== undefined) return kind
      const known = [...kinds.keys()].sort().join(', ')
      throw invalidWebhook(`${element}/type`, `must be a kind of webhook: ${known === '' ? 'none is loaded' : known}`)
    },
  }
}

function describe(type: string, kind: AnyPurgeWebhookKind): Kind {
  const fields = kindFields(kind.settings)
  const taken = fields.names.find(name => takenFields.has(name))
  if (taken !== undefined) throw new TypeError(`the kind ${type} of purge webhooks cannot have a field ${taken}`)
  return { type, kind, ...fields }
}

/** Adds defaults. Throws `invalid_cache_request` for the first field that is unknown, missing or invalid; the message never contains a secret. */
export function completeSettings(
  { type, kind, schemas }: Kind,
  fields: Fields,
  element: string,
  urlProblem: (url: string) => string | undefined,
): Fields {
  const unknown = Object.keys(fields).find(name => !Object.hasOwn(schemas, name))
  if (unknown !== undefined) throw invalidWebhook(`${element}/${unknown}`, `is no field of ${type}`)
  const completed = completeFields(kind.settings, fields)
  const complete = completed.complete as Fields
  for (const { name, within, message = `is missing: ${type} needs it` } of completed.problems)
    throw invalidWebhook(`${element}/${name}${within}`, message)
  const problems: readonly SettingsProblem[] = kind.validate?.(complete, urlProblem) ?? []
  for (const { key, problem } of problems) throw invalidWebhook(`${element}/${key}`, problem)
  return complete
}
