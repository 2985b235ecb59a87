/**
 * Cache policies and their inheritance: cluster, distribution, domain, path behavior. The `policy` that a level names replaces all fields of the
 * levels above; the fields of the level itself then override one by one. Each field remembers the level that it is from.
 */

/** Times in milliseconds, sizes in bytes. */
export interface CachePolicy {
  readonly ttl: { readonly default: number; readonly min: number; readonly max: number }
  readonly respectObjectCacheControl: boolean
  /** `Cache-Control` for clients; empty: the object's. */
  readonly browserCacheControl: string
  readonly cacheKey: {
    /** `none`, `all`, `allow:a,b`, `deny:a,b`. */
    readonly queryString: string
    readonly headers: readonly string[]
    readonly cookies: readonly string[]
    readonly normalize: boolean
    readonly includeHost: boolean
  }
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
  /** Lifetime of answers 404 and 410 that have no explicit lifetime; 0: they are not cached. */
  readonly negativeCaching: number
  readonly bypass: {
    readonly always: boolean
    readonly authorization: boolean
    readonly cookies: readonly string[]
    readonly queryParams: readonly string[]
    readonly headers: readonly string[]
  }
  readonly compression: {
    readonly enabled: boolean
    readonly algorithms: readonly string[]
    readonly contentTypes: readonly string[]
    readonly minSize: number
  }
  readonly minSize: number
  /** 0: nothing new is stored, and stored answers are served. */
  readonly maxObjectSize: number
  readonly rangeCaching: { readonly enabled: boolean; readonly blockSize: number }
  readonly contentTypes: { readonly allow: readonly string[]; readonly deny: readonly string[] }
}

export type PartialPolicy = { readonly [Name in keyof CachePolicy]?: Partial<CachePolicy[Name]> | CachePolicy[Name] }

export const levels = ['cluster', 'distribution', 'domain', 'behavior'] as const
export type CacheLevel = 'default' | (typeof levels)[number]

/** The settings of one level. */
export interface LevelSettings extends PartialPolicy {
  readonly enabled?: boolean
  /** Name of a policy. */
  readonly policy?: string
  readonly autoInvalidate?: boolean
  /** Bytes. Only distributions and domains have quotas. */
  readonly quota?: number
  /** Ids of webhooks of the distribution; not of the cluster. */
  readonly purgeWebhooks?: readonly string[]
}

/** The webhooks of a distribution that are told about purges at a place, and the level that names them. */
export interface NamedWebhooks {
  readonly level: CacheLevel
  readonly ids: readonly string[]
}

/** The webhooks of the narrowest level that names any. Undefined: no level does, so all are told. */
export function namedWebhooks(
  settings: Partial<Readonly<Record<CacheLevel, LevelSettings>>>,
): NamedWebhooks | undefined {
  for (const level of ['behavior', 'domain', 'distribution'] as const) {
    const ids = settings[level]?.purgeWebhooks
    if (ids !== undefined) return { level, ids }
  }
  return undefined
}

/** Bytes that the answers of a distribution, or of one of its domains, may take in the memory of a node. */
export interface Quota {
  /** Identifies the distribution or the domain. */
  readonly id: string
  readonly level: 'distribution' | 'domain'
  readonly bytes: number
  /** A wider quota that also counts these answers. */
  readonly within: Quota | undefined
}

export interface EffectivePolicy {
  readonly enabled: boolean
  readonly enabledLevel: CacheLevel
  readonly autoInvalidate: boolean
  readonly policyName: string
  readonly policyLevel: CacheLevel
  readonly policy: CachePolicy
  /** The level that each field is from, by dotted path such as `ttl.default`. */
  readonly fields: ReadonlyMap<string, CacheLevel>
  /** The narrowest quota. */
  readonly quota?: Quota | undefined
  readonly purgeWebhooks?: NamedWebhooks | undefined
}

const second = 1000
const hour = 3600 * second
const day = 24 * hour

const packedText = ['text/*', 'application/json', 'application/javascript', 'application/xml', 'application/wasm']
const packedImages = ['image/svg+xml', 'font/ttf', 'font/otf', 'application/vnd.ms-fontobject']

const standard: CachePolicy = {
  ttl: { default: hour, min: 0, max: 7 * day },
  respectObjectCacheControl: true,
  browserCacheControl: '',
  cacheKey: { queryString: 'none', headers: [], cookies: [], normalize: true, includeHost: false },
  staleWhileRevalidate: 0,
  staleIfError: hour,
  negativeCaching: 10 * second,
  bypass: { always: false, authorization: true, cookies: [], queryParams: [], headers: [] },
  compression: {
    enabled: true,
    algorithms: ['br', 'zstd', 'gzip'],
    contentTypes: [...packedText, ...packedImages],
    minSize: 1024,
  },
  minSize: 0,
  maxObjectSize: 1024 ** 3,
  rangeCaching: { enabled: true, blockSize: 1024 ** 2 },
  contentTypes: { allow: [], deny: [] },
}

/** Fields in which the built-in policies differ from `standard`. */
export const builtInPolicies: ReadonlyMap<string, PartialPolicy> = new Map<string, PartialPolicy>([
  ['standard', {}],
  [
    'aggressive',
    {
      ttl: { default: day, min: hour, max: 30 * day },
      staleWhileRevalidate: day,
      staleIfError: 7 * day,
      negativeCaching: 60 * second,
    },
  ],
  [
    'immutable-assets',
    {
      ttl: { default: 365 * day, min: 365 * day, max: 365 * day },
      respectObjectCacheControl: false,
      browserCacheControl: 'public, max-age=31536000, immutable',
      staleIfError: 7 * day,
    },
  ],
  ['respect-origin', { ttl: { default: 0, min: 0, max: 365 * day }, staleIfError: 0, negativeCaching: 0 }],
  ['disabled', { bypass: { always: true } }],
  ['read-only', { maxObjectSize: 0 }],
])

type Flat = readonly (readonly [path: string, value: unknown])[]

/** Turns fields of sections into dotted paths; a list is one value. */
function flatten(policy: PartialPolicy): Flat {
  const flat: (readonly [string, unknown])[] = []
  for (const [name, base] of Object.entries(standard)) {
    const value = policy[name as keyof CachePolicy]
    if (value === undefined) continue
    if (typeof base !== 'object') flat.push([name, value])
    else
      for (const field of Object.keys(base)) {
        const part = (value as Record<string, unknown>)[field]
        if (part !== undefined) flat.push([`${name}.${field}`, part])
      }
  }
  return flat
}

function unflatten(values: ReadonlyMap<string, unknown>): CachePolicy {
  const policy: Record<string, unknown> = {}
  for (const [path, value] of values) {
    const [name, field] = path.split('.') as [string, string?]
    if (field === undefined) policy[name] = value
    else policy[name] = { ...(policy[name] as object), [field]: value }
  }
  return policy as unknown as CachePolicy
}

const standardFields = flatten(standard)

/**
 * The effective policy, from the settings of each level. `named` finds policies that are not built in. A policy that is not found bypasses the cache:
 * it may have been the reason why answers are not cached.
 */
export function resolvePolicy(
  settings: Partial<Readonly<Record<CacheLevel, LevelSettings>>>,
  named: (name: string) => PartialPolicy | undefined = () => undefined,
): EffectivePolicy {
  const values = new Map<string, unknown>(standardFields)
  const fields = new Map<string, CacheLevel>(standardFields.map(([path]) => [path, 'default']))
  const take = (flat: Flat, level: CacheLevel) => {
    for (const [path, value] of flat) {
      values.set(path, value)
      fields.set(path, level)
    }
  }
  let head = { enabled: true, enabledLevel: 'default' as CacheLevel, autoInvalidate: true }
  let choice = { policyName: 'standard', policyLevel: 'default' as CacheLevel }
  for (const level of levels) {
    const own = settings[level]
    if (own === undefined) continue
    if (own.policy !== undefined) {
      const found = builtInPolicies.get(own.policy) ?? named(own.policy) ?? { bypass: { always: true } }
      take(standardFields, level)
      take(flatten(found), level)
      choice = { policyName: own.policy, policyLevel: level }
    }
    if (own.enabled !== undefined) head = { ...head, enabled: own.enabled, enabledLevel: level }
    if (own.autoInvalidate !== undefined) head = { ...head, autoInvalidate: own.autoInvalidate }
    take(flatten(own), level)
  }
  return { ...head, ...choice, policy: unflatten(values), fields, purgeWebhooks: namedWebhooks(settings) }
}
