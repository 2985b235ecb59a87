/** Kinds of webhooks, and the parts of a document that their schemas declare. */
import type { Contribution } from 'svc/kernel'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { AnyPurgeWebhookKind, WebhookField } from './api.ts'
import { invalidWebhook } from './errors.ts'

interface FieldSchema {
  readonly secret?: boolean
  readonly destination?: boolean
}

export interface Kind {
  readonly type: string
  readonly kind: AnyPurgeWebhookKind
  readonly secrets: ReadonlySet<string>
  readonly destinations: readonly string[]
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
  const fields = Object.entries(kind.settings.properties) as [string, FieldSchema][]
  const taken = fields.find(([name]) => takenFields.has(name))
  if (taken !== undefined) throw new TypeError(`the kind ${type} of purge webhooks cannot have a field ${taken[0]}`)
  const named = (isWanted: (field: FieldSchema) => boolean) =>
    fields.filter(([, field]) => isWanted(field)).map(([name]) => name)
  return {
    type,
    kind,
    secrets: new Set(named(({ secret }) => secret === true)),
    destinations: named(({ destination }) => destination === true),
  }
}

/** With defaults. Throws `invalid_cache_request` for the first field that is unknown, missing or invalid; never repeats a secret. */
export function completeSettings(
  { type, kind }: Kind,
  fields: Fields,
  element: string,
  urlProblem: (url: string) => string | undefined,
): Fields {
  const known = kind.settings.properties as Readonly<Record<string, TSchema>>
  const unknown = Object.keys(fields).find(name => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw invalidWebhook(`${element}/${unknown}`, `is no field of ${type}`)
  const complete = Value.Default(kind.settings, { ...fields }) as Fields
  const required = new Set<string>((kind.settings as { required?: string[] }).required)
  for (const [name, schema] of Object.entries(known)) {
    if (!Object.hasOwn(complete, name)) {
      if (required.has(name)) throw invalidWebhook(`${element}/${name}`, `is missing: ${type} needs it`)
      continue
    }
    const [error] = Value.Errors(schema, complete[name])
    if (error !== undefined) throw invalidWebhook(`${element}/${name}${error.instancePath}`, error.message)
  }
  const problems: readonly SettingsProblem[] = kind.validate?.(complete, urlProblem) ?? []
  for (const { key, problem } of problems) throw invalidWebhook(`${element}/${key}`, problem)
  return complete
}
