/** The schemas of the requests and answers of the cache's operations. */
import { commentOf } from 'svc/plugins/admin/api'
import { PathPattern } from 'svc/plugins/distributions/api'
import { isReference } from 'svc/plugins/secret-references/api'
import { maskedValue } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'
import type { WebhookDocument } from '../api.ts'
import { builtInPolicies, resolvePolicy } from '../policy/policy.ts'
import { PurgePattern } from '../purge/documents.ts'
import type { PurgeFacts } from '../purge/purges.ts'
import type { Stored } from '../settings/changes.ts'
import {
  defaultSettings,
  type StoredDistributionCache,
  type StoredPolicy,
  type StoredSettings,
  unsetEtag,
} from '../settings/documents.ts'
import { type LevelFields, PurgeWebhooks, policyFields, Quota } from '../settings/fields.ts'

const strict = { additionalProperties: false } as const
const Time = Type.String({ format: 'date-time' })
const readOnly = { readOnly: true } as const

export const manage = ['admin:ManageCache']
/** Callers that may purge may also read purges and warm-ups. */
export const watch = [['admin:InvalidateCache', 'admin:ManageCache']]

export const PolicyName = Type.String({
  pattern: '^(?!\\.{1,2}$)[a-z0-9._-]{1,64}$',
  errorMessage: 'must be 1 to 64 characters of a-z, 0-9, dot, underscore and hyphen, and not only one or two dots',
  description: 'At most 64 of a-z, 0-9, `.`, `_`, `-`.',
})
export const PolicyParameters = Type.Object({ name: Type.String({ minLength: 1, maxLength: 64 }) })
export const IdParameters = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) })

export const CachePolicyInput = Type.Object(
  {
    name: PolicyName,
    comment: Type.Optional(commentOf(256)),
    ...policyFields,
    builtin: Type.Optional(Type.Boolean(readOnly)),
    updatedAt: Type.Optional(Type.String(readOnly)),
    etag: Type.Optional(Type.String(readOnly)),
  },
  { ...strict, $id: 'CachePolicyInput' },
)
export type CachePolicyInput = Static<typeof CachePolicyInput>

export const CachePolicy = Type.Object(
  {
    name: Type.String(),
    comment: Type.String(),
    builtin: Type.Boolean(),
    ...policyFields,
    updatedAt: Type.Optional(Time),
    etag: Type.String(),
  },
  { $id: 'CachePolicy' },
)
export type CachePolicy = Static<typeof CachePolicy>

export function readPolicyInput({
  comment = '',
  name: _name,
  builtin: _builtin,
  updatedAt: _at,
  etag: _etag,
  ...policy
}: CachePolicyInput): StoredPolicy {
  return { comment, policy }
}

export function describePolicy({ id, value, etag, modifiedMs }: Stored<StoredPolicy>): CachePolicy {
  const { comment, policy } = value
  return { name: id, comment, builtin: false, ...policy, updatedAt: new Date(modifiedMs).toISOString(), etag }
}

/** The policy with all fields, times in seconds. */
export function shownPolicy(policy: ReturnType<typeof resolvePolicy>['policy']) {
  const { ttl, staleWhileRevalidate, staleIfError, negativeCaching } = policy
  const seconds = (ms: number) => ms / 1000
  return {
    ...policy,
    ttl: { default: seconds(ttl.default), min: seconds(ttl.min), max: seconds(ttl.max) },
    staleWhileRevalidate: seconds(staleWhileRevalidate),
    staleIfError: seconds(staleIfError),
    negativeCaching: seconds(negativeCaching),
  } as unknown as Static<ReturnType<typeof policyObject>>
}
const policyObject = () => Type.Object(policyFields)

export function describeBuiltIn(name: string): CachePolicy {
  const { policy } = resolvePolicy({ cluster: { policy: name } })
  return { name, comment: '', builtin: true, ...shownPolicy(policy), etag: `builtin-${name}` }
}

export const isBuiltIn = (name: string): boolean => builtInPolicies.has(name)
export const builtInNames = [...builtInPolicies.keys()]

const level = {
  enabled: Type.Optional(Type.Boolean()),
  policy: Type.Optional(Type.String({ maxLength: 64 })),
  autoInvalidate: Type.Optional(Type.Boolean()),
  ...policyFields,
}
const Level = Type.Object(level, strict)
/** Settings of any level within a distribution. */
const levelWithWebhooks = { ...level, purgeWebhooks: Type.Optional(PurgeWebhooks) }
const BehaviorLevel = Type.Object(levelWithWebhooks, strict)
/** Settings of a distribution or a domain. */
const LevelWithQuota = Type.Object({ ...levelWithWebhooks, quota: Type.Optional(Quota) }, strict)

const DebugFields = Type.Object(
  {
    header: Type.Optional(
      Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', errorMessage: 'must be 1 to 64 letters, digits and hyphens' }),
    ),
    secret: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          'At least 16 characters, or empty for none. Masked in answers; sent back masked, or left out, it stays.',
      }),
    ),
  },
  strict,
)

const document = {
  updatedAt: Type.Optional(Type.String(readOnly)),
  etag: Type.Optional(Type.String(readOnly)),
}

export const CacheSettingsInput = Type.Object(
  {
    cache: Type.Optional(Level),
    nodeHeader: Type.Optional(Type.Boolean({ description: 'Answers carry X-Cache-Node.' })),
    debug: Type.Optional(DebugFields),
    ...document,
  },
  { ...strict, $id: 'GlobalCacheSettingsInput' },
)
export type CacheSettingsInput = Static<typeof CacheSettingsInput>

export const CacheSettings = Type.Object(
  {
    cache: Level,
    nodeHeader: Type.Boolean(),
    debug: Type.Object({ header: Type.String(), secret: Type.String() }),
    updatedAt: Type.Optional(Time),
    etag: Type.String(),
  },
  { $id: 'GlobalCacheSettings' },
)

export function describeSettings(stored: Stored<StoredSettings> | undefined): Static<typeof CacheSettings> {
  const { cache, nodeHeader, debug } = stored?.value ?? defaultSettings
  const secret = debug.secret === '' || isReference(debug.secret) ? debug.secret : maskedValue
  return {
    cache,
    nodeHeader,
    debug: { header: debug.header, secret },
    ...(stored !== undefined && { updatedAt: new Date(stored.modifiedMs).toISOString() }),
    etag: stored?.etag ?? unsetEtag,
  }
}

export function readSettings({ cache = {}, nodeHeader = false, debug = {} }: CacheSettingsInput) {
  return (current: StoredSettings): StoredSettings => {
    const { header = defaultSettings.debug.header, secret = maskedValue } = debug
    return { cache, nodeHeader, debug: { header, secret: secret === maskedValue ? current.debug.secret : secret } }
  }
}

const Domains = Type.Array(Type.Object({ host: Type.String({ maxLength: 255 }), cache: LevelWithQuota }, strict), {
  maxItems: 100,
})
const Behaviors = Type.Array(Type.Object({ pathPattern: PathPattern, cache: BehaviorLevel }, strict), { maxItems: 100 })
const WarmOnWrite = Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { maxItems: 50 })

const webhook = {
  id: Type.String({ maxLength: 64 }),
  type: Type.String({ maxLength: 64, description: '`generic`, `cdn_1` to `cdn_5`, or a kind of a plugin.' }),
  domains: Type.Optional(
    Type.Array(Type.String({ maxLength: 255 }), {
      maxItems: 100,
      description:
        'Aliases that are behind this cache; empty: all of them. Exact ones are needed where a webhook has a secret and a placeholder as host.',
    }),
  ),
}
/** The names and values of these fields depend on the kind of the webhook, which checks them. */
const WebhookField = Type.Union([
  Type.String({ maxLength: 16_384 }),
  Type.Number(),
  Type.Boolean(),
  Type.Record(Type.String({ maxLength: 1024 }), Type.String({ maxLength: 16_384 }), { maxProperties: 100 }),
])
const Webhooks = Type.Array(
  Type.Object(webhook, {
    maxProperties: 100,
    additionalProperties: WebhookField,
    description: 'A cache in front that is told what to forget. Beside these fields it has those of its kind.',
  }),
  { maxItems: 10, description: 'Secrets are masked in answers; sent back masked, or left out, they stay.' },
)

export const DistributionCacheInput = Type.Object(
  {
    distribution: Type.Optional(Type.String(readOnly)),
    cache: Type.Optional(LevelWithQuota),
    domains: Type.Optional(Domains),
    behaviors: Type.Optional(Behaviors),
    webhooks: Type.Optional(Webhooks),
    warmOnWrite: Type.Optional(WarmOnWrite),
    ...document,
  },
  { ...strict, $id: 'DistributionCacheInput' },
)
export type DistributionCacheInput = Static<typeof DistributionCacheInput>

export const DistributionCache = Type.Object(
  {
    distribution: Type.String(),
    cache: LevelWithQuota,
    domains: Domains,
    behaviors: Behaviors,
    webhooks: Webhooks,
    warmOnWrite: WarmOnWrite,
    updatedAt: Type.Optional(Time),
    etag: Type.String(),
  },
  { $id: 'DistributionCache' },
)

export function describeDistribution(
  distribution: string,
  stored: Stored<StoredDistributionCache> | undefined,
  webhooks: readonly WebhookDocument[],
): Static<typeof DistributionCache> {
  const none: { cache: LevelFields; domains: []; behaviors: []; warmOnWrite: [] } = {
    cache: {},
    domains: [],
    behaviors: [],
    warmOnWrite: [],
  }
  const { cache, domains, behaviors, warmOnWrite } = stored?.value ?? none
  return {
    distribution,
    cache,
    domains,
    behaviors,
    webhooks: webhooks as Static<typeof Webhooks>,
    warmOnWrite,
    ...(stored !== undefined && { updatedAt: new Date(stored.modifiedMs).toISOString() }),
    etag: stored?.etag ?? unsetEtag,
  }
}

export const InvalidationRequest = Type.Object(
  {
    domain: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    paths: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
        maxItems: 1000,
        description: 'Paths, or absolute URLs.',
      }),
    ),
    patterns: Type.Optional(Type.Array(PurgePattern, { maxItems: 100 })),
    tags: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 100 })),
    all: Type.Optional(Type.Boolean()),
    soft: Type.Optional(Type.Boolean({ description: 'Expires instead of being dropped.' })),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Counts the answers in memory that it selects, in `removed`, and purges nothing.' }),
    ),
  },
  { ...strict, $id: 'InvalidationRequest' },
)

export const Invalidation = Type.Object(
  {
    id: Type.String({ description: 'Empty after a dry run.' }),
    request: Type.Object({
      distribution: Type.Optional(Type.String()),
      domain: Type.Optional(Type.String()),
      paths: Type.Array(Type.String()),
      patterns: Type.Array(PurgePattern),
      tags: Type.Array(Type.String()),
      all: Type.Boolean(),
      soft: Type.Boolean(),
      actor: Type.String(),
    }),
    createdAt: Time,
    finishedAt: Type.Optional(Time),
    state: Type.Enum(['in-progress', 'completed', 'failed']),
    removed: Type.Integer({ description: 'Answers that left the memory, or expired.' }),
    nodes: Type.Array(
      Type.Object({
        node: Type.String(),
        state: Type.Enum(['pending', 'done', 'failed', 'offline']),
        at: Type.Optional(Time),
        removed: Type.Integer(),
        error: Type.Optional(Type.String()),
      }),
    ),
  },
  { $id: 'Invalidation' },
)

export function describeInvalidation({
  id,
  request,
  createdMs,
  finishedMs,
  state,
  nodes,
}: PurgeFacts): Static<typeof Invalidation> {
  const at = (ms: number) => new Date(ms).toISOString()
  return {
    id,
    request,
    createdAt: at(createdMs),
    ...(finishedMs !== undefined && { finishedAt: at(finishedMs) }),
    state,
    removed: nodes.reduce((sum, { removed }) => sum + removed, 0),
    nodes: nodes.map(({ atMs, ...node }) => ({ ...node, ...(atMs !== undefined && { at: at(atMs) }) })),
  }
}
