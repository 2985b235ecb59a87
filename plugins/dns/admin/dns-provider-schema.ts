import { formatDuration, parseDuration } from 'svc/kernel'
import { commentOf } from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'
import type { DnsProviderChange, DnsProviderFacts } from '../api.ts'
import { blockName, type Fields, invalidProvider, type Kind } from '../kinds.ts'

export const ProviderParameters = Type.Object({ name: Type.String({ minLength: 1, maxLength: 64 }) })

const ProviderName = Type.String({
  pattern: '^(?!\\.{1,2}$)[a-z0-9._-]{1,64}$',
  errorMessage: 'must be 1 to 64 characters of a-z, 0-9, dot, underscore and hyphen, and not only one or two dots',
  description: 'Lower-case letters, digits, `.`, `_` and `-`; at most 64.',
})

const millisecondsMax = 3_600_000
const Duration = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 32, description: `${description} (default ${example}).` }))

const common = {
  type: Type.String({
    minLength: 1,
    maxLength: 64,
    description:
      'Kind of the provider: `hosted_dns`, `cloud_dns`, `rfc2136`, or the kind of a plugin. Its settings are an object with the name in camel case: `hostedDns`, `cloudDns`, `rfc2136`.',
  }),
  comment: Type.Optional(commentOf(1024)),
  ttl: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 86_400,
      description: 'Time to live of published records, in seconds (default 60).',
    }),
  ),
  propagationTimeout: Duration('How long all authoritative servers may take to have a value, at most an hour', '`2m`'),
  pollingInterval: Duration('How often they are asked for it', '`2s`'),
}

const credentials = Type.Optional(
  Type.Record(Type.String(), Type.String({ maxLength: 8192, secret: true, format: 'password' }), {
    writeOnly: true,
    maxProperties: 16,
    description:
      'Secrets of the kind: `apiToken`; `secretAccessKey`, `sessionToken`; `tsigSecret`. Sealed, and never shown. Where all are empty or missing the stored ones stay; otherwise these replace them.',
  }),
)

/** The block of a kind. */
const block = Type.Record(
  Type.String(),
  Type.Union([Type.String({ maxLength: 8192 }), Type.Number(), Type.Boolean()]),
  {
    maxProperties: 100,
    description: 'Settings of the kind, under its name in camel case.',
  },
)

/** Added to each schema: any further field is a block of that name. */
const blocks = {
  maxProperties: 100,
  additionalProperties: block,
  propertyNames: Type.String({ pattern: '^[a-z][A-Za-z0-9]{0,63}$' }),
}

const readOnly = {
  hasCredentials: Type.Boolean({ readOnly: true, description: 'Secrets are stored.' }),
  usedBy: Type.Array(Type.String(), { readOnly: true, description: '`distribution/<id>`, for example.' }),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true }),
  etag: Type.String({ readOnly: true }),
}
const ignored = Object.fromEntries(
  Object.keys(readOnly).map(name => [name, Type.Optional(Type.Unknown({ readOnly: true }))]),
)

export const NewDnsProvider = Type.Object(
  { name: ProviderName, ...common, credentials, ...ignored },
  { $id: 'NewDnsProvider', ...blocks },
)

export const DnsProviderReplacement = Type.Object(
  { ...common, credentials, name: Type.Optional(Type.Unknown({ readOnly: true })), ...ignored },
  { $id: 'DnsProviderReplacement', ...blocks },
)

export const DnsProvider = Type.Object(
  { name: Type.String(), ...common, ...readOnly },
  { $id: 'DnsProvider', ...blocks },
)

type Request = Omit<Static<typeof DnsProviderReplacement>, 'type'> & { readonly type: string }

const known = new Set(Object.keys(DnsProviderReplacement.properties))

/** Throws `invalid_dns_provider` for blocks that are not of the kind, and for durations that are none. */
export function readProvider(body: object): DnsProviderChange {
  const request = body as Request
  const { type, comment, ttl, propagationTimeout, pollingInterval, credentials } = request
  const own = blockName(type)
  for (const name of Object.keys(body)) {
    if (!known.has(name) && name !== own) {
      throw invalidProvider([
        { element: `/${name}`, message: `is no field of a provider of the type ${type}; its block is ${own}` },
      ])
    }
  }
  return {
    type,
    comment,
    settings: ((body as Record<string, unknown>)[own] ?? {}) as Fields,
    credentials: credentials as Record<string, string> | undefined,
    ttlSeconds: ttl,
    propagationTimeoutMs: readDuration('propagationTimeout', propagationTimeout, 1000),
    pollingIntervalMs: readDuration('pollingInterval', pollingInterval, 100),
  }
}

function readDuration(name: string, text: string | undefined, min: number): number | undefined {
  if (text === undefined) return undefined
  const fail = (message: string) => invalidProvider([{ element: `/${name}`, message }])
  let milliseconds: number
  try {
    milliseconds = parseDuration(text)
  } catch (error) {
    throw fail((error as Error).message)
  }
  if (milliseconds >= min && milliseconds <= millisecondsMax) return milliseconds
  throw fail(`must be between ${formatDuration(min)} and ${formatDuration(millisecondsMax)}`)
}

export function describeProvider(facts: DnsProviderFacts): Static<typeof DnsProvider> {
  const { name, type, comment, settings, etag, hasCredentials, usedBy } = facts
  return {
    name,
    type,
    comment,
    [blockName(type)]: settings,
    ttl: facts.ttlSeconds,
    propagationTimeout: formatDuration(facts.propagationTimeoutMs),
    pollingInterval: formatDuration(facts.pollingIntervalMs),
    hasCredentials,
    usedBy: [...usedBy],
    createdAt: new Date(facts.createdMs).toISOString(),
    updatedAt: new Date(facts.updatedMs).toISOString(),
    etag,
  } as Static<typeof DnsProvider>
}

export const DnsProviderKind = Type.Object(
  {
    type: Type.String(),
    description: Type.String(),
    fields: Type.Array(
      Type.Object({
        name: Type.String(),
        description: Type.String(),
        type: Type.String({ description: '`string`, `integer`, `number` or `boolean`.' }),
        values: Type.Array(Type.String(), { description: 'The allowed values; empty if any is allowed.' }),
        default: Type.String({ description: 'Empty: none.' }),
        required: Type.Boolean(),
        secret: Type.Boolean({ description: 'One of `credentials`; all others are in the object of the kind.' }),
      }),
    ),
  },
  { $id: 'DnsProviderKind' },
)

export function describeKind({ type, kind, names, schemas, secrets, required }: Kind): Static<typeof DnsProviderKind> {
  return {
    type,
    description: kind.description,
    fields: names.map(name => {
      const { type = 'string', enum: values = [], description = '', default: otherwise = '' } = schemas[name]!
      return {
        name,
        description,
        type,
        values: values.map(String),
        default: String(otherwise),
        required: required.has(name),
        secret: secrets.has(name),
      }
    }),
  }
}
