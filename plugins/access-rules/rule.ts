/** The schema of an access rule, for the Admin API and the store. `check-rules.ts` checks what a schema cannot express. */
import { parseInstant } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'

/** Classes of actions that a rule may name instead of single ones. */
export const actionClasses = {
  read: ['s3:GetObject', 's3:GetObjectVersion', 's3:GetObjectAttributes', 's3:GetObjectVersionAttributes'],
  list: ['s3:ListBucket', 's3:ListBucketVersions', 's3:ListBucketMultipartUploads'],
  write: ['s3:PutObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'],
  delete: ['s3:DeleteObject', 's3:DeleteObjectVersion'],
  tag: [
    's3:GetObjectTagging',
    's3:PutObjectTagging',
    's3:DeleteObjectTagging',
    's3:GetObjectVersionTagging',
    's3:PutObjectVersionTagging',
    's3:DeleteObjectVersionTagging',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type ActionClass = keyof typeof actionClasses

export const priorityDefault = 100
export const priorityMax = 1_000_000

export const Match = Type.Object(
  {
    type: Type.Union([Type.Literal('prefix'), Type.Literal('glob'), Type.Literal('regex')], {
      description:
        'prefix: literal. glob: `*` any run without `/`, `**` any run, `?` one character but `/`, `{a,b}`; the whole key. regex: RE2, somewhere in the key.',
    }),
    pattern: Type.String({ maxLength: 4096, description: 'At most 1 KiB.' }),
    caseInsensitive: Type.Optional(Type.Boolean({ default: false })),
  },
  { $id: 'AccessRuleMatch', additionalProperties: false },
)

export const Conditions = Type.Object(
  {
    sourceIp: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Addresses and CIDR blocks; the address of the client is in one of them.',
      }),
    ),
    notSourceIp: Type.Optional(
      Type.Array(Type.String(), { description: 'The address of the client is in none of them.' }),
    ),
    referer: Type.Optional(Type.Array(Type.String(), { description: '`*` is any run, `?` one character.' })),
    host: Type.Optional(
      Type.Array(Type.String(), { description: 'A host, or `*.example.org`; a port where it counts.' }),
    ),
    secureTransport: Type.Optional(Type.Boolean()),
    timeWindow: Type.Optional(
      Type.Object(
        {
          from: Type.Optional(Type.String({ description: 'RFC 3339; this instant is inside.' })),
          to: Type.Optional(Type.String({ description: 'RFC 3339; this instant is outside.' })),
        },
        { additionalProperties: false },
      ),
    ),
    methods: Type.Optional(Type.Array(Type.String(), { description: 'HTTP methods.' })),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'A value for each header, in which `*` is any run and `?` one character.',
      }),
    ),
    captureEquals: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'Of a regex: a text for each named group, or a property of the caller: `aws:username` behind `$` in braces.',
      }),
    ),
  },
  { $id: 'AccessRuleConditions', additionalProperties: false },
)

export const AccessRule = Type.Object(
  {
    id: Type.String({ description: '1 to 64 letters, digits and . _ -, unique in the bucket.' }),
    priority: Type.Integer({
      default: priorityDefault,
      description: 'Among the matching rules the one with the lowest number decides; among equal ones a deny.',
    }),
    effect: Type.Union([Type.Literal('allow'), Type.Literal('deny')]),
    principals: Type.Array(Type.String(), {
      description: '`*` is everybody, without credentials too; a user `ada`, `user:ada`, or a group `group:staff`.',
    }),
    actions: Type.Array(Type.String(), {
      description: 'Classes (read, list, write, delete, tag), single actions on objects, and s3:ListBucket….',
    }),
    match: Type.Optional(Match),
    conditions: Type.Optional(Conditions),
    description: Type.Optional(Type.String()),
  },
  { $id: 'AccessRule', additionalProperties: false },
)

export type AccessRule = Static<typeof AccessRule>
export type AccessRuleMatch = Static<typeof Match>
export type AccessRuleConditions = Static<typeof Conditions>

export const StoredRules = Type.Object(
  { rules: Type.Array(AccessRule), updatedBy: Type.String() },
  { additionalProperties: false },
)

export type StoredRules = Static<typeof StoredRules>

export interface OpenTime {
  /** ms since 1970; this instant is inside. */
  readonly fromMs: number
  /** This instant is outside. */
  readonly toMs: number
}

/** The time window of a rule, all of time where it has none. */
export function openTimeOf({ conditions }: AccessRule): OpenTime {
  const { from, to } = conditions?.timeWindow ?? {}
  return {
    fromMs: (from === undefined ? undefined : parseInstant(from)) ?? Number.NEGATIVE_INFINITY,
    toMs: (to === undefined ? undefined : parseInstant(to)) ?? Number.POSITIVE_INFINITY,
  }
}

/** Whether a rule gives everybody a right, at whatever time. */
export function isPublicRule({ effect, principals }: AccessRule): boolean {
  return effect === 'allow' && principals.includes('*')
}
