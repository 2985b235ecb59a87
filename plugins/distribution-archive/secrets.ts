/**
 * Secrets of documents. An export has a reference in the place of each one that is stored; on import that reference keeps the stored secret
 * where the node has no variable for it.
 */
import type { OriginSecretHeader } from 'svc/plugins/distributions/api'
import { referencedName, referenceTo, type SecretReferencesService } from 'svc/plugins/secret-references/api'
import { maskedValue } from 'svc/plugins/settings/api'
import type { KindName } from './kinds.ts'

type Spec = Readonly<Record<string, unknown>>

interface Webhook {
  readonly id: string
  readonly [field: string]: unknown
}

const slug = (text: string): string =>
  text.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`).replace(/[^a-z0-9_-]/g, '-')

const originName = (name: string, index: number): string =>
  index === 0 ? `${slug(name)}-origin-secret` : `${slug(name)}-origin-secret-${index + 1}`
const webhookName = (name: string, { id }: Webhook, field: string): string => `${slug(name)}-${slug(id)}-${slug(field)}`
const debugName = 'cluster-debug-secret'

const headerOf = (spec: Spec) =>
  (spec.restrictions as { readonly originSecretHeader?: OriginSecretHeader } | undefined)?.originSecretHeader
const webhooksOf = (spec: Spec) => (spec.webhooks ?? []) as readonly Webhook[]
const debugOf = (spec: Spec) => (spec.debug ?? {}) as { readonly secret?: string }

const withHeader = (spec: Spec, header: OriginSecretHeader): Spec => ({
  ...spec,
  restrictions: { ...(spec.restrictions as object), originSecretHeader: header },
})

/** The content with references, and the names of all. */
export function withReferences(kind: KindName, name: string, content: Spec): { spec: Spec; names: readonly string[] } {
  const names: string[] = []
  const reference = (text: string): string => {
    names.push(referencedName(text)!)
    return text
  }
  const shown = (value: string, own: string) =>
    reference(referencedName(value) === undefined ? referenceTo(own) : value)
  if (kind === 'Distribution') {
    const header = headerOf(content)
    if (header === undefined) return { spec: content, names }
    const values = (header.values ?? []).map((value, index) => shown(value, originName(name, index)))
    return { spec: withHeader(content, { name: header.name, values }), names }
  }
  if (kind === 'DistributionCache') {
    const webhooks = webhooksOf(content).map(webhook =>
      mapFields(webhook, (field, value) =>
        value === maskedValue || referencedName(value) !== undefined
          ? shown(value, webhookName(name, webhook, field))
          : value,
      ),
    )
    return { spec: { ...content, webhooks }, names }
  }
  if (kind === 'CacheSettings') {
    const { secret = '' } = debugOf(content)
    if (secret === '') return { spec: content, names }
    return { spec: { ...content, debug: { ...debugOf(content), secret: shown(secret, debugName) } }, names }
  }
  return { spec: content, names }
}

function mapFields(webhook: Webhook, change: (field: string, value: string) => string): Webhook {
  return Object.fromEntries(
    Object.entries(webhook).map(([field, value]) => [field, typeof value === 'string' ? change(field, value) : value]),
  ) as unknown as Webhook
}

/** The document of a file in which references that were exported stand for what is stored (`current`). */
export function keepStored(
  kind: KindName,
  name: string,
  spec: Spec,
  current: Spec | undefined,
  resolve: SecretReferencesService['resolve'],
): Spec {
  const isKept = (value: string, own: string, stored: string | undefined): boolean =>
    referencedName(value) === own && stored !== undefined && stored !== '' && resolve(value) === undefined
  if (kind === 'Distribution') return keepOrigin(name, spec, current, isKept)
  if (kind === 'DistributionCache') {
    const stored = new Map(webhooksOf(current ?? {}).map(webhook => [webhook.id, webhook]))
    const webhooks = webhooksOf(spec).map(webhook =>
      mapFields(webhook, (field, value) => {
        const before = stored.get(webhook.id)?.[field] as string | undefined
        return isKept(value, webhookName(name, webhook, field), before) ? before! : value
      }),
    )
    return spec.webhooks === undefined ? spec : { ...spec, webhooks }
  }
  if (kind === 'CacheSettings') {
    const { secret = '' } = debugOf(spec)
    const before = debugOf(current ?? {}).secret
    // What a file leaves out is not there: only a form that a person fills in keeps it.
    return { ...spec, debug: { ...debugOf(spec), secret: isKept(secret, debugName, before) ? before! : secret } }
  }
  return spec
}

function keepOrigin(
  name: string,
  spec: Spec,
  current: Spec | undefined,
  isKept: (value: string, own: string, stored: string | undefined) => boolean,
): Spec {
  const header = headerOf(spec)
  if (header === undefined) return spec
  const stored = headerOf(current ?? {})?.values ?? []
  const { value, values = [] } = header
  const given = value === undefined || value === '' ? values : [value, ...values]
  const kept = given.flatMap((text, index) => {
    const own = originName(name, index)
    if (isKept(text, own, stored[index])) return [stored[index]!]
    // A secret that was there when the file was made, and has expired since.
    const isGone = index > 0 && stored.length > 0 && referencedName(text) === own && stored[index] === undefined
    return isGone ? [] : [text]
  })
  return withHeader(spec, { name: header.name, values: kept })
}
