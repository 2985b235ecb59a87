/** The document of a distribution: as clients write and read it, and as it is stored. */
import { commentOf } from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'

const strict = { additionalProperties: false } as const
const text = (maxLength: number, description: string) => Type.String({ maxLength, description })

export const PathPattern = Type.Object(
  {
    type: Type.Enum(['prefix', 'glob', 'regex']),
    pattern: Type.String({ minLength: 1, maxLength: 1024 }),
    caseInsensitive: Type.Optional(Type.Boolean()),
  },
  strict,
)
export type PathPattern = Static<typeof PathPattern>

export const Cors = Type.Object(
  {
    allowedOrigins: Type.Array(text(255, '`https://app.example.org`, or `*`.'), { minItems: 1, maxItems: 100 }),
    allowedMethods: Type.Optional(Type.Array(Type.Enum(['GET', 'HEAD']), { maxItems: 2 })),
    allowedHeaders: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 50 })),
    exposeHeaders: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 50 })),
    maxAge: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400, description: 'Seconds.' })),
    allowCredentials: Type.Optional(Type.Boolean()),
  },
  strict,
)
export type Cors = Static<typeof Cors>

const HeaderMap = Type.Record(Type.String({ maxLength: 128 }), Type.String({ maxLength: 8192 }), {
  maxProperties: 50,
  description: 'Headers of answers; an empty value removes one.',
})

const behaviorFields = {
  access: Type.Optional(Type.Enum(['public', 'signed', 'authenticated', 'deny'])),
  allowedMethods: Type.Optional(Type.Array(Type.Enum(['GET', 'HEAD', 'OPTIONS']), { minItems: 1, maxItems: 3 })),
  indexDocument: Type.Optional(text(255, 'Name of the object that stands for a path that ends in /.')),
  spaFallback: Type.Optional(text(1024, 'Path of the object that is served with 200 for missing ones.')),
  cache: Type.Optional(
    Type.Object({ cacheControl: Type.Optional(text(1024, '`Cache-Control` for clients.')) }, strict),
  ),
  signing: Type.Optional(Type.Object({ keyGroup: Type.Optional(Type.String({ maxLength: 64 })) }, strict)),
  responseHeaders: Type.Optional(HeaderMap),
  cors: Type.Optional(Cors),
}

export const Behavior = Type.Object(behaviorFields, strict)
export type Behavior = Static<typeof Behavior>

export const PathBehavior = Type.Object({ pathPattern: PathPattern, ...behaviorFields }, strict)
export type PathBehavior = Static<typeof PathBehavior>

export const ErrorPage = Type.Object(
  {
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    path: Type.String({ minLength: 1, maxLength: 1024 }),
    responseStatus: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
  },
  strict,
)

export const Redirect = Type.Object(
  {
    from: Type.Optional(text(1024, 'Decoded path; `:name` is a segment, a final `*` the rest. Absent: any path.')),
    to: Type.Optional(text(1024, 'Percent-encoded path; may use `:name` and `:splat`. Absent: the same path.')),
    hostFrom: Type.Optional(text(253, 'Only at this one of the aliases.')),
    toHost: Type.Optional(text(260, 'Host, perhaps with a port.')),
    httpsOnly: Type.Optional(Type.Boolean({ description: 'Only requests without TLS; the target is https.' })),
    status: Type.Optional(Type.Enum([301, 302, 303, 307, 308])),
  },
  strict,
)
export type Redirect = Static<typeof Redirect>

const Addresses = Type.Array(Type.String({ maxLength: 64 }), { maxItems: 1000 })

const SourceIp = Type.Object({ allow: Type.Optional(Addresses), deny: Type.Optional(Addresses) }, strict)
const RateLimit = Type.Object(
  {
    requestsPerSecond: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    burst: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    per: Type.Optional(Type.Enum(['ip', 'distribution'])),
  },
  strict,
)

/** The document as clients send and read it: secrets are only sent in clear, never returned. */
const OriginSecretHeader = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 128 }),
    value: Type.Optional(
      text(1024, 'Replaces all values: the former ones are refused at once. Masked `values` beside it do not count.'),
    ),
    values: Type.Optional(
      Type.Array(Type.String({ maxLength: 1024 }), {
        maxItems: 10,
        description: 'Each of them is valid. Reads return them masked; a masked one that is sent back stays.',
      }),
    ),
  },
  strict,
)
export type OriginSecretHeader = Static<typeof OriginSecretHeader>

const StoredOriginSecret = Type.Object(
  {
    name: Type.String(),
    secrets: Type.Array(
      Type.Object({
        salt: Type.String(),
        digest: Type.String(),
        expiresMs: Type.Optional(Type.Integer()),
        reference: Type.Optional(Type.String()),
      }),
    ),
  },
  strict,
)
export type StoredOriginSecret = Static<typeof StoredOriginSecret>

const commonFields = {
  enabled: Type.Boolean({ default: true }),
  comment: Type.String({ maxLength: 256, default: '' }),
  aliases: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 100 }),
  origin: Type.Object(
    {
      bucket: Type.String({ minLength: 3, maxLength: 63 }),
      pathPrefix: Type.String({ maxLength: 900, default: '', description: 'Ends in /, begins with none.' }),
      versionPinning: Type.Boolean({ default: false }),
    },
    strict,
  ),
  mode: Type.Enum(['website', 's3'], { default: 'website' }),
  defaultBehavior: Type.Object(behaviorFields, { ...strict, default: {} }),
  behaviors: Type.Array(PathBehavior, { maxItems: 100, default: [] }),
  errorPages: Type.Array(ErrorPage, { maxItems: 20, default: [] }),
  redirects: Type.Array(Redirect, { maxItems: 200, default: [] }),
  headers: Type.Object(
    {
      preset: Type.Optional(Type.Enum(['none', 'standard', 'strict'])),
      response: Type.Optional(HeaderMap),
      cors: Type.Optional(Cors),
    },
    { ...strict, default: {} },
  ),
  tls: Type.Object(
    {
      certificate: Type.String({ maxLength: 64, default: 'none' }),
      challenge: Type.Optional(Type.Enum(['http-01', 'tls-alpn-01', 'dns-01'])),
      dnsProvider: Type.Optional(Type.String({ maxLength: 64 })),
    },
    { ...strict, default: { certificate: 'none' } },
  ),
  logging: Type.Object(
    {
      accessLog: Type.Optional(Type.Boolean()),
      format: Type.Optional(Type.Enum(['json', 'combined'])),
      target: Type.Optional(
        text(255, '`log` (default): the log of the server. `bucket:<bucket>/<prefix>`: objects in a bucket.'),
      ),
    },
    { ...strict, default: {} },
  ),
}

const restrictions = <Secret extends typeof OriginSecretHeader | typeof StoredOriginSecret>(secret: Secret) =>
  Type.Object(
    {
      sourceIp: Type.Optional(SourceIp),
      originSecretHeader: Type.Optional(secret),
      rateLimit: Type.Optional(RateLimit),
    },
    { ...strict, default: {} },
  )

export const distributionId = '^[a-z0-9][a-z0-9._-]{0,63}$'

const readOnlyFields = {
  createdAt: Type.Optional(Type.String({ readOnly: true })),
  updatedAt: Type.Optional(Type.String({ readOnly: true })),
  etag: Type.Optional(Type.String({ readOnly: true })),
  warnings: Type.Optional(Type.Array(Type.String(), { readOnly: true })),
  blocked: Type.Optional(Type.Boolean({ readOnly: true })),
  logEnded: Type.Optional(Type.Boolean({ readOnly: true })),
  served: Type.Optional(Type.Unknown({ readOnly: true })),
  shadowed: Type.Optional(Type.Unknown({ readOnly: true })),
}

export const DistributionInput = Type.Object(
  {
    id: Type.String({
      pattern: distributionId,
      errorMessage: 'must be 1 to 64 characters of a-z, 0-9, dot, underscore and hyphen',
      description: 'At most 64 of a-z, 0-9, `.`, `_`, `-`.',
    }),
    ...commonFields,
    comment: commentOf(256, { default: '' }),
    restrictions: restrictions(OriginSecretHeader),
    ...readOnlyFields,
  },
  { ...strict, $id: 'DistributionInput' },
)
export type DistributionInput = Static<typeof DistributionInput>

const Served = Type.Object(
  {
    domain: Type.String({ description: 'An alias.' }),
    certificate: Type.String({ description: 'Its id.' }),
    state: Type.Enum(['pending', 'valid', 'expiring', 'expired', 'failed']),
    notAfter: Type.String({ description: 'Empty before there is a certificate.' }),
    covers: Type.Boolean({ description: 'Whether it is for this domain: else browsers refuse it.' }),
  },
  { $id: 'ServedCertificate' },
)

const Shadowed = Type.Object(
  {
    domain: Type.String({ description: 'An alias.' }),
    wildcard: Type.String(),
    distribution: Type.Optional(Type.String({ description: 'Absent: of somebody else.' })),
  },
  { $id: 'ShadowedWildcard' },
)

export const DistributionView = Type.Object(
  {
    id: Type.String(),
    ...commonFields,
    restrictions: restrictions(OriginSecretHeader),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
    etag: Type.String(),
    warnings: Type.Optional(
      Type.Array(Type.String(), { description: 'Of a change: settings that do not work as they seem to.' }),
    ),
    blocked: Type.Boolean({
      description: 'Its public pages answer 403, because public access to its bucket is blocked.',
    }),
    logEnded: Type.Boolean({
      description:
        'It writes no log any more, because the bucket for it was deleted. Saved again, it writes into the one that is there then.',
    }),
    served: Type.Array(Served, {
      description:
        'The certificate that a TLS connection for each domain gets at its next handshake, whether `tls` names it or not. Empty where no listener that answers for distributions speaks TLS.',
    }),
    shadowed: Type.Optional(
      Type.Array(Shadowed, {
        description:
          'Of `getDistribution`: the wildcard of another distribution that has a domain once this distribution does not have it any more; a disabled one answers 403 there. No distribution answers then at domains that are not in the list.',
      }),
    ),
  },
  { $id: 'Distribution' },
)

/** The stored form. Secrets are hashed; the id is that of the document. */
export const StoredDistribution = Type.Object(
  { ...commonFields, restrictions: restrictions(StoredOriginSecret), createdMs: Type.Integer() },
  strict,
)
export type StoredDistribution = Static<typeof StoredDistribution>

export interface Distribution extends StoredDistribution {
  readonly id: string
}

/** Names that may be no ids: paths of the API have them, or the field of certificates, which are ordered under the id. */
export const reservedIds: ReadonlySet<string> = new Set(['auto', 'export', 'import', 'none'])
