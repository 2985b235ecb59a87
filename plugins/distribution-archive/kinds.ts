/** The kinds of documents, in the order in which files have them: those that are named come before those that name them. */
import { CachePolicyInput, CacheSettingsInput, DistributionCacheInput } from 'svc/plugins/cache/api'
import { DistributionInput } from 'svc/plugins/distributions/api'
import { type TObject, type TSchema, Type } from 'typebox'

export const apiVersion = 'svc/v1'
export const kindNames = ['KeyGroup', 'CachePolicy', 'CacheSettings', 'Distribution', 'DistributionCache'] as const
export type KindName = (typeof kindNames)[number]

const strict = { additionalProperties: false } as const
const readOnly = Type.Optional(Type.Unknown({ readOnly: true }))

function without(schema: TObject, name: string): TObject {
  const { [name]: _name, ...properties } = schema.properties as Record<string, TSchema>
  return Type.Object(properties, strict)
}

const KeyGroupSpec = Type.Object(
  {
    comment: Type.String({ maxLength: 256, default: '' }),
    keys: Type.Array(
      Type.Object(
        {
          name: Type.String({ maxLength: 128, default: '' }),
          publicKey: Type.String({ minLength: 1, maxLength: 4096 }),
          enabled: Type.Boolean({ default: true }),
          allowSha1: Type.Boolean({ default: false }),
          id: readOnly,
          algorithm: readOnly,
          hasPrivateKey: readOnly,
          createdAt: readOnly,
        },
        strict,
      ),
      { default: [], maxItems: 10 },
    ),
    usedBy: readOnly,
    createdAt: readOnly,
    updatedAt: readOnly,
    etag: readOnly,
  },
  strict,
)

/** Fields that documents have where they are left out, so that exports leave them out. */
const cacheDefaults = Type.Object(
  {
    ...(without(DistributionCacheInput, 'distribution').properties as Record<string, TSchema>),
    cache: Type.Object((DistributionCacheInput.properties.cache as unknown as TObject).properties, {
      ...strict,
      default: {},
    }),
    domains: Type.Array(Type.Unknown(), { default: [] }),
    behaviors: Type.Array(Type.Unknown(), { default: [] }),
    webhooks: Type.Array(
      Type.Object({ id: Type.String(), type: Type.String(), domains: Type.Array(Type.String(), { default: [] }) }),
      { default: [] },
    ),
    warmOnWrite: Type.Array(Type.String(), { default: [] }),
  },
  strict,
)
const policyDefaults = Type.Object({
  ...(CachePolicyInput.properties as Record<string, TSchema>),
  comment: Type.String({ default: '' }),
})
const settingsDefaults = Type.Object({
  cache: Type.Object((CacheSettingsInput.properties.cache as unknown as TObject).properties, { default: {} }),
  nodeHeader: Type.Boolean({ default: false }),
  debug: Type.Object(
    { header: Type.String({ default: 'X-Svc-Cache-Debug' }), secret: Type.String({ default: '' }) },
    { default: {} },
  ),
})

export interface Kind {
  /** Schema of `spec`: the document of the API without its name. Read-only fields are ignored. */
  readonly spec: TObject
  /** Has the defaults of fields that clients may leave out. */
  readonly written: TObject
  readonly namePattern: RegExp
  readonly nameRule: string
}

const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/
const nameRule = 'is not 1 to 64 of a-z, 0-9, ".", "_" and "-", the first a letter or a digit'
const DistributionSpec = without(DistributionInput, 'id')

export const kinds: Readonly<Record<KindName, Kind>> = {
  KeyGroup: { spec: KeyGroupSpec, written: KeyGroupSpec, namePattern, nameRule },
  CachePolicy: { spec: without(CachePolicyInput, 'name'), written: policyDefaults, namePattern, nameRule },
  CacheSettings: {
    spec: CacheSettingsInput,
    written: settingsDefaults,
    namePattern: /^cluster$/,
    nameRule: 'must be cluster',
  },
  Distribution: { spec: DistributionSpec, written: DistributionSpec, namePattern, nameRule },
  DistributionCache: {
    spec: without(DistributionCacheInput, 'distribution'),
    written: cacheDefaults,
    namePattern,
    nameRule,
  },
}

export const isKind = (name: unknown): name is KindName => kindNames.includes(name as KindName)
