/**
 * Secrets of documents. An export has a reference in the place of each one that is stored; on import that reference keeps the stored secret
 * where the node has no variable for it. A name stands for the same stored secret wherever its line is:
 *
 * - of an origin secret, `site-origin-secret` is the current one, which a rotation changes, and `site-origin-secret-1a2b3c4d` the one whose
 *   digest begins so;
 * - of others the webhook and its field, or the debug header, say which one it is.
 *
 * A stored secret never gets a name whose variable belongs to a reference of the document or is set on this node: imported again, it would
 * become that variable.
 */
import type { OriginSecretHeader } from 'svc/plugins/distributions/api'
import {
  isReference,
  referencedName,
  referenceTo,
  type SecretReferencesService,
  variableOf,
} from 'svc/plugins/secret-references/api'
import { maskedValue } from 'svc/plugins/settings/api'
import type { KindName } from './kinds.ts'

type Spec = Readonly<Record<string, unknown>>
type Resolve = SecretReferencesService['resolve']

interface Webhook {
  readonly id: string
  readonly [field: string]: unknown
}

/** The place of a text that is a secret, or may be a reference to one. */
interface Place {
  /** The name of a reference to what is stored there. */
  readonly own: string
  readonly key: string
  /** False: a field of a webhook, which has a secret only where it is masked. */
  readonly isSecret: boolean
}

const slug = (text: string): string =>
  text.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`).replace(/[^a-z0-9_-]/g, '-')

const headerOf = (spec: Spec) =>
  (spec.restrictions as { readonly originSecretHeader?: OriginSecretHeader } | undefined)?.originSecretHeader
const valuesOf = ({ value = '', values = [] }: OriginSecretHeader) => (value === '' ? values : [value, ...values])
const storedValuesOf = (spec: Spec | undefined): readonly string[] => {
  const header = headerOf(spec ?? {})
  return header === undefined ? [] : valuesOf(header)
}
const digitsOf = (masked: string): string | undefined => /^sha256:([0-9a-f]{8})$/.exec(masked)?.[1]
const currentOf = (values: readonly string[]) => values.find(value => !isReference(value))

/** The document with other texts at the places of its secrets. */
function mapSecrets(kind: KindName, name: string, spec: Spec, change: (text: string, place: Place) => string): Spec {
  if (kind === 'Distribution') {
    const header = headerOf(spec)
    if (header === undefined) return spec
    const own = `${slug(name)}-origin-secret`
    return withHeader(
      spec,
      mapHeader(header, text => [change(text, { own, key: text, isSecret: true })]),
    )
  }
  if (kind === 'DistributionCache') {
    if (spec.webhooks === undefined) return spec
    const webhooks = (spec.webhooks as readonly Webhook[]).map(webhook => {
      const changed = Object.entries(webhook).map(([field, value]) => {
        const own = `${slug(name)}-${slug(webhook.id)}-${slug(field)}`
        const place = { own, key: `${webhook.id}/${field}`, isSecret: false }
        return [field, typeof value === 'string' ? change(value, place) : value]
      })
      return Object.fromEntries(changed) as unknown
    })
    return { ...spec, webhooks }
  }
  if (kind === 'CacheSettings') {
    const debug = (spec.debug ?? {}) as { readonly secret?: string }
    if ((debug.secret ?? '') === '') return spec
    const place = { own: 'cluster-debug-secret', key: 'debug', isSecret: true }
    return { ...spec, debug: { ...debug, secret: change(debug.secret!, place) } }
  }
  return spec
}

/** A value stays apart from others beside it, which it replaces. */
function mapHeader(
  { name, value = '', values = [] }: OriginSecretHeader,
  change: (text: string) => readonly string[],
): OriginSecretHeader {
  const [single] = value === '' ? [] : change(value)
  const several = values.flatMap(change)
  if (single === undefined || several.length === 0) return { name, values: single === undefined ? several : [single] }
  return { name, value: single, values: several }
}

const withHeader = (spec: Spec, header: OriginSecretHeader): Spec => ({
  ...spec,
  restrictions: { ...(spec.restrictions as object), originSecretHeader: header },
})

/** The names of all references of a document. */
export function referencesOf(kind: KindName, name: string, spec: Spec): ReadonlySet<string> {
  const found = new Set<string>()
  mapSecrets(kind, name, spec, text => {
    const reference = referencedName(text)
    if (reference !== undefined) found.add(reference)
    return text
  })
  return found
}

export type NameOf = (text: string, place: Place) => string

/** The names of stored secrets, the same in all states of one document; the first one says which origin secret is the current one. */
export function createNames(kind: KindName, name: string, states: readonly Spec[], resolve: Resolve): NameOf {
  const given = new Map<string, string>()
  const taken = new Set(states.flatMap(state => [...referencesOf(kind, name, state)].map(variableOf)))
  const current = currentOf(storedValuesOf(states[0]))
  const isFree = (candidate: string) =>
    !taken.has(variableOf(candidate)) && resolve(referenceTo(candidate)) === undefined
  function choose(text: string, { own }: Place): string {
    const isOrigin = kind === 'Distribution'
    if ((!isOrigin || text === current) && isFree(own)) return own
    const base = isOrigin ? `${own}-${digitsOf(text) ?? 'stored'}` : own
    if (isFree(base)) return base
    for (let number = 2; ; number++) if (isFree(`${base}-${number}`)) return `${base}-${number}`
  }
  return (text, place) => {
    const known = given.get(place.key)
    if (known !== undefined) return known
    const chosen = choose(text, place)
    given.set(place.key, chosen)
    taken.add(variableOf(chosen))
    return chosen
  }
}

/** The content with references in the place of secrets. */
export const withReferences = (kind: KindName, name: string, content: Spec, nameOf: NameOf): Spec =>
  mapSecrets(kind, name, content, (text, place) => {
    const isSecret = !isReference(text) && (place.isSecret || text === maskedValue)
    return isSecret ? referenceTo(nameOf(text, place)) : text
  })

export interface Kept {
  readonly spec: Spec
  /** References that were left out: the stored secrets that they named are gone. */
  readonly gone: readonly string[]
}

/** The document of a file in which references that were exported stand for what is stored (`current`). */
export function keepStored(
  kind: KindName,
  name: string,
  spec: Spec,
  current: Spec | undefined,
  resolve: Resolve,
): Kept {
  if (kind === 'Distribution') return keepOrigin(name, spec, storedValuesOf(current), resolve)
  const stored = new Map<string, string>()
  mapSecrets(kind, name, current ?? {}, (text, { key }) => {
    stored.set(key, text)
    return text
  })
  const kept = mapSecrets(kind, name, spec, (text, { own, key }) => {
    const before = stored.get(key)
    const rest = restBehind(own, referencedName(text) ?? '')
    const isOwn = rest !== undefined && /^(-\d{1,3})?$/.test(rest) && resolve(text) === undefined
    return isOwn && before !== undefined && !isReference(before) ? before : text
  })
  return { spec: kept, gone: [] }
}

const restBehind = (own: string, reference: string): string | undefined =>
  reference.startsWith(own) ? reference.slice(own.length) : undefined

function keepOrigin(name: string, spec: Spec, stored: readonly string[], resolve: Resolve): Kept {
  const header = headerOf(spec)
  if (header === undefined) return { spec, gone: [] }
  const own = `${slug(name)}-origin-secret`
  const current = currentOf(stored)
  const gone: string[] = []
  const kept = mapHeader(header, text => {
    const reference = referencedName(text)
    if (reference === undefined || stored.includes(text) || resolve(text) !== undefined) return [text]
    const rest = restBehind(own, reference)
    if (rest === '') return [current ?? text]
    const [, digits] = /^-([0-9a-f]{8})(-\d{1,3})?$/.exec(rest ?? '') ?? []
    if (digits === undefined || stored.length === 0) return [text]
    const found = stored.find(value => digitsOf(value) === digits)
    if (found === undefined) gone.push(reference)
    return found === undefined ? [] : [found]
  })
  // Without any the site would be open: then references that stand for nothing are better.
  if (valuesOf(kept).length === 0) return { spec, gone: [] }
  return { spec: withHeader(spec, { ...kept, values: [...new Set(kept.values)] }), gone }
}
