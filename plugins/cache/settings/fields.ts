/** The fields of policies and levels: as the Admin API has them, and converted to milliseconds and bytes. */
import { formatSize, parseSize } from 'svc/kernel'
import { type Static, type TProperties, Type } from 'typebox'
import { invalidRequest, requireAll } from '../errors.ts'
import { parseDuration } from '../policy/duration.ts'
import type { CachePolicy, LevelSettings, PartialPolicy } from '../policy/policy.ts'

const strict = { additionalProperties: false } as const
const part = <Properties extends TProperties>(properties: Properties) =>
  Type.Optional(Type.Partial(Type.Object(properties, strict), strict))

const Duration = Type.Union([Type.String({ maxLength: 64 }), Type.Number({ minimum: 0 })], {
  description: 'A number of seconds, or such as `5m`, `1h`, `365d`.',
})
const Size = Type.Union([Type.String({ maxLength: 32 }), Type.Integer({ minimum: 0 })], {
  description: 'A number of bytes, or such as `1MiB`.',
})
export const Quota = Type.Union([Type.String({ maxLength: 32 }), Type.Integer({ minimum: 0 })], {
  description:
    'Bytes in the memory of each node that its answers may take, or such as `64MiB`; none: all that there is.',
})
/** Ids of webhooks of the distribution. */
export const PurgeWebhooks = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: 10,
  uniqueItems: true,
  description:
    'Ids of those `webhooks` of the distribution that are told what to forget here. Empty: none of them. Missing: as above, and in the end all.',
})
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 50 })

export const policyFields = {
  ttl: part({ default: Duration, min: Duration, max: Duration }),
  respectObjectCacheControl: Type.Optional(Type.Boolean()),
  browserCacheControl: Type.Optional(
    Type.String({ maxLength: 1024, description: '`Cache-Control` for clients; empty keeps that of the object.' }),
  ),
  cacheKey: part({
    queryString: Type.String({ maxLength: 4096, description: '`none`, `all`, `allow:a,b` or `deny:a,b`.' }),
    headers: Names,
    cookies: Names,
    normalize: Type.Boolean(),
    includeHost: Type.Boolean(),
  }),
  staleWhileRevalidate: Type.Optional(Duration),
  staleIfError: Type.Optional(Duration),
  negativeCaching: Type.Optional(Duration),
  bypass: part({
    always: Type.Boolean(),
    authorization: Type.Boolean(),
    cookies: Names,
    queryParams: Names,
    headers: Names,
  }),
  compression: part({
    enabled: Type.Boolean(),
    algorithms: Type.Array(Type.Enum(['br', 'zstd', 'gzip']), { maxItems: 3 }),
    contentTypes: Names,
    minSize: Size,
  }),
  minSize: Type.Optional(Size),
  maxObjectSize: Type.Optional(Size),
  rangeCaching: part({ enabled: Type.Boolean(), blockSize: Size }),
  contentTypes: part({ allow: Names, deny: Names }),
}

export const PolicyFields = Type.Object(policyFields, strict)
export type PolicyFields = Static<typeof PolicyFields>

export const LevelFields = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    policy: Type.Optional(Type.String({ maxLength: 64 })),
    autoInvalidate: Type.Optional(Type.Boolean()),
    quota: Type.Optional(Quota),
    purgeWebhooks: Type.Optional(PurgeWebhooks),
    ...policyFields,
  },
  strict,
)
export type LevelFields = Static<typeof LevelFields>

const blockSize = { min: 64 * 1024, max: 1024 * 1024 } as const
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

function durationOf(element: string, value: string | number): number {
  const ms = parseDuration(value)
  if (ms === undefined)
    throw invalidRequest(element, 'is no duration: one is a number of seconds, or such as 5m, 1h or 365d')
  return ms
}

function sizeOf(element: string, value: string | number): number {
  if (typeof value === 'number') return value
  try {
    return parseSize(value)
  } catch (error) {
    throw invalidRequest(element, (error as Error).message.replace(/^.*?is /, 'is ').replace(/\.$/, ''))
  }
}

type Convert = (element: string, value: string | number) => number

/** Conversions by dotted path. */
const converted: Readonly<Record<string, Convert>> = {
  'ttl.default': durationOf,
  'ttl.min': durationOf,
  'ttl.max': durationOf,
  staleWhileRevalidate: durationOf,
  staleIfError: durationOf,
  negativeCaching: durationOf,
  minSize: sizeOf,
  maxObjectSize: sizeOf,
  'compression.minSize': sizeOf,
  'rangeCaching.blockSize': sizeOf,
}

/** Converts fields to a policy. `element`: their place in the document. Throws `invalid_cache_request` with all that is wrong. */
export function readPolicy(fields: PolicyFields, element = ''): PartialPolicy {
  const policy: Record<string, unknown> = {}
  const read = (name: string) => () => {
    const value = fields[name as keyof PolicyFields]
    if (value === undefined) return
    policy[name] = typeof value === 'object' ? readPart(name, value, element) : convert(name, value, element)
  }
  requireAll([...Object.keys(policyFields).map(read), () => check(policy as PartialPolicy, element)])
  return policy as PartialPolicy
}

function readPart(name: string, value: object, element: string): object {
  const part: Record<string, unknown> = {}
  const read = ([field, given]: [string, unknown]) => {
    part[field] = convert(`${name}.${field}`, given, element)
  }
  requireAll(Object.entries(value).map(entry => () => read(entry)))
  return part
}

function convert(path: string, value: unknown, element: string): unknown {
  const change = converted[path]
  return change === undefined ? value : change(`${element}/${path.replace('.', '/')}`, value as string | number)
}

function check({ cacheKey, bypass, rangeCaching, browserCacheControl }: PartialPolicy, element: string): void {
  const refuse = (field: string, isWrong: boolean, message: string) => () => {
    if (isWrong) throw invalidRequest(`${element}/${field}`, message)
  }
  const refuseNames = (field: string, names: readonly string[] = []) =>
    refuse(field, !names.every(name => headerName.test(name)), 'has a name that no header or cookie can have')
  const rule = cacheKey?.queryString ?? 'none'
  const bytes = rangeCaching?.blockSize ?? blockSize.min
  requireAll([
    refuse(
      'cacheKey/queryString',
      !/^(none|all|(allow|deny):[^:]*)$/.test(rule),
      'is none of none, all, allow:a,b and deny:a,b',
    ),
    refuseNames('cacheKey/headers', cacheKey?.headers),
    refuseNames('cacheKey/cookies', cacheKey?.cookies),
    refuseNames('bypass/headers', bypass?.headers),
    refuseNames('bypass/cookies', bypass?.cookies),
    refuse('rangeCaching/blockSize', bytes < blockSize.min || bytes > blockSize.max, 'is not between 64KiB and 1MiB'),
    refuse(
      'browserCacheControl',
      /[^\x20-\x7e]/.test(browserCacheControl ?? ''),
      'has a character that no header may have',
    ),
  ])
}

/** Checks the effective policy, some of whose fields come from other levels: what is given here is told to be wrong. */
export function requireOrder(policy: CachePolicy, given: PartialPolicy, element: string): void {
  requireAll([() => requireTimes(policy, given, element), () => requireSizes(policy, given, element)])
}

function requireSizes({ minSize, maxObjectSize }: CachePolicy, given: PartialPolicy, element: string): void {
  // At most 0 bytes: nothing is to be stored.
  if (maxObjectSize === 0 || minSize <= maxObjectSize) return
  throw given.minSize === undefined && given.maxObjectSize !== undefined
    ? invalidRequest(`${element}/maxObjectSize`, `is less than minSize, which is ${formatSize(minSize)}`)
    : invalidRequest(`${element}/minSize`, `is more than maxObjectSize, which is ${formatSize(maxObjectSize)}`)
}

function requireTimes({ ttl }: CachePolicy, { ttl: given = {} }: PartialPolicy, element: string): void {
  const refuse = (field: keyof CachePolicy['ttl'], message: string) =>
    invalidRequest(`${element}/ttl/${field}`, message)
  if (ttl.min > ttl.max)
    throw given.min === undefined && given.max !== undefined
      ? refuse('max', `is less than min, which is ${ttl.min}s`)
      : refuse('min', 'is more than max')
  if (ttl.default >= ttl.min && ttl.default <= ttl.max) return
  const bound = ttl.default < ttl.min ? 'min' : 'max'
  if (given.default !== undefined || given[bound] === undefined) throw refuse('default', 'is not between min and max')
  throw refuse(bound, `leaves out default, which is ${ttl.default}s`)
}

const quotaBytesMin = 1024 * 1024

function quotaOf(value: string | number, element: string): number {
  const bytes = sizeOf(element, value)
  if (bytes < quotaBytesMin) throw invalidRequest(element, 'is less than 1MiB')
  return bytes
}

/** Converts the settings of one level. */
export function readLevel(fields: LevelFields, element = ''): LevelSettings {
  const { enabled, policy, autoInvalidate, quota, purgeWebhooks } = fields
  let ofPolicy: PartialPolicy = {}
  let bytes: number | undefined
  requireAll([
    () => {
      ofPolicy = readPolicy(fields, element)
    },
    () => {
      bytes = quota === undefined ? undefined : quotaOf(quota, `${element}/quota`)
    },
  ])
  return {
    ...ofPolicy,
    ...(enabled !== undefined && { enabled }),
    ...(policy !== undefined && { policy }),
    ...(autoInvalidate !== undefined && { autoInvalidate }),
    ...(bytes !== undefined && { quota: bytes }),
    ...(purgeWebhooks !== undefined && { purgeWebhooks }),
  }
}
