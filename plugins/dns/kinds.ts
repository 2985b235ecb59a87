/**
 * Kinds of providers, and the parts of a provider's document that their schemas declare: its credentials, and the settings in the object
 * that is named after the kind (`cloud_dns`: `cloudDns`). Validates both.
 */
import type { Contribution } from 'svc/kernel'
import {
  completeFields,
  type FieldSchema,
  type KindFields,
  kindFields,
  type SettingsProblem,
} from 'svc/plugins/settings/api'
import type { AnyDnsProviderKind } from './api.ts'
import { dnsErrors } from './errors.ts'

export type FieldValue = string | number | boolean
export type Fields = Readonly<Record<string, FieldValue>>

export interface Kind extends KindFields {
  readonly type: string
  readonly kind: AnyDnsProviderKind
}

export interface Kinds {
  /** All, by their type. */
  list(): readonly Kind[]
  get(type: string): Kind | undefined
  /** Throws `invalid_dns_provider`, which names those that there are. */
  require(type: string): Kind
}

/** Name of the block of a kind in a provider's document. */
export const blockName = (type: string): string =>
  type.replace(/[_.-]+([a-z0-9])/g, (_, first: string) => first.toUpperCase())

/** Throws TypeError for a kind that cannot be stored or shown as it is. */
export function createKinds(contributions: readonly Contribution<AnyDnsProviderKind>[]): Kinds {
  const kinds = new Map(contributions.map(({ id, value }) => [id, describe(id, value)]))
  const types = [...kinds.keys()].sort()
  return {
    list: () => types.map(type => kinds.get(type)!),
    get: type => kinds.get(type),
    require(type) {
      const kind = kinds.get(type)
      if (kind !== undefined) return kind
      const known = types.length === 0 ? 'there are none: no plugin of a kind is loaded' : types.join(', ')
      throw invalidProvider([{ element: '/type', message: `must be a kind of provider: ${known}` }])
    },
  }
}

const idPattern = /^[a-z][a-z0-9_-]{0,63}$/
/** Fields of every provider's document, and of answers. */
const takenBlocks = new Set(['name', 'type', 'comment', 'ttl', 'credentials', 'etag', 'settings'])

function describe(type: string, kind: AnyDnsProviderKind): Kind {
  const fields = kindFields(kind.settings)
  if (!idPattern.test(type) || takenBlocks.has(blockName(type)))
    throw new TypeError(`no kind of DNS provider can be called ${type}`)
  for (const [name, { type: fieldType, enum: values, secret }] of Object.entries(fields.schemas)) {
    const isFlat = values !== undefined || ['string', 'integer', 'number', 'boolean'].includes(fieldType ?? '')
    if (!isFlat || (secret === true && fieldType !== 'string')) {
      throw new TypeError(
        `the setting ${name} of the DNS provider kind ${type} is no text, number or boolean; a secret is a text`,
      )
    }
  }
  return { type, kind, ...fields }
}

export interface ProviderProblem {
  /** JSON Pointer into the document of the Admin API. */
  readonly element: string
  readonly message: string
}

/** All problems, the first of them as the message. */
export function invalidProvider(problems: readonly [ProviderProblem, ...ProviderProblem[]]): Error {
  const [{ element, message }] = problems
  return dnsErrors.invalid_dns_provider(`${element.slice(1).replaceAll('/', '.')} ${message}.`, {
    cause: problems,
    extra: { Field: element },
  })
}

/**
 * The settings of a provider with defaults, for its kind. Throws `invalid_dns_provider` with each field that is unknown, missing or
 * invalid; never repeats a secret.
 */
export function completeSettings(
  { type, kind, schemas, secrets }: Kind,
  settings: Fields,
  credentials: Readonly<Record<string, string>>,
): Fields {
  const block = blockName(type)
  const placeOf = (name: string) => (secrets.has(name) ? `/credentials/${name}` : `/${block}/${name}`)
  const problems: ProviderProblem[] = []
  for (const name of Object.keys(settings)) {
    if (!Object.hasOwn(schemas, name) || secrets.has(name)) problems.push(unknownField(`/${block}/${name}`, type))
  }
  for (const name of Object.keys(credentials)) {
    if (!secrets.has(name)) problems.push(unknownField(`/credentials/${name}`, type))
  }
  const given = Object.fromEntries(Object.entries(credentials).filter(([, secret]) => secret !== ''))
  const typed = Object.entries(settings).map(([name, value]) => [name, typedValue(schemas[name], value)])
  const completed = completeFields(kind.settings, { ...Object.fromEntries(typed), ...given })
  const complete = completed.complete as Fields
  problems.push(...completed.problems.map(({ name, message = 'is missing' }) => ({ element: placeOf(name), message })))
  // The checks of a kind beyond its schema rely on the required fields.
  const found: readonly SettingsProblem[] = problems.length > 0 ? [] : (kind.validate?.(complete) ?? [])
  for (const { key, problem } of found) problems.push({ element: placeOf(key), message: problem })
  const [first, ...others] = problems
  if (first !== undefined) throw invalidProvider([first, ...others])
  return complete
}

/** Numbers and booleans may be text: command lines have no other type. */
function typedValue(schema: FieldSchema | undefined, value: FieldValue): FieldValue {
  if (typeof value !== 'string') return value
  if (schema?.type === 'boolean')
    return value === 'true' || value === 'on' ? true : value === 'false' || value === 'off' ? false : value
  const isNumber = schema?.type === 'integer' || schema?.type === 'number'
  return isNumber && /^-?\d{1,15}$/.test(value) ? Number(value) : value
}

function unknownField(element: string, type: string): ProviderProblem {
  return { element, message: `is not a setting of ${type}` }
}
