import { Type } from 'typebox'
import { SentRule, sentRulesMax } from './access-rules-schema.ts'

export const keysMax = 100

export const AccessTestRequest = Type.Object(
  {
    keys: Type.Optional(
      Type.Array(Type.String({ maxLength: 1024 }), {
        maxItems: keysMax,
        description: 'Of a listing its prefixes. Default: the empty one.',
      }),
    ),
    rules: Type.Optional(
      Type.Array(SentRule, {
        maxItems: sentRulesMax,
        description: 'AccessRule; a draft that is tested instead of the stored rules. Nothing is stored.',
      }),
    ),
    action: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        default: 'read',
        description: 'A class (read, list, write, delete, tag), which stands for its first action, or an action of S3.',
      }),
    ),
    principal: Type.Optional(
      Type.String({
        maxLength: 128,
        description: "An access key, which a user's name is, too; default, and `*`: an anonymous caller.",
      }),
    ),
    ip: Type.Optional(Type.String({ maxLength: 45, description: 'Default: that of this request.' })),
    host: Type.Optional(Type.String({ maxLength: 261, description: 'Default: that of this request.' })),
    method: Type.Optional(Type.String({ maxLength: 20, description: 'Default: the usual one of the action.' })),
    secure: Type.Optional(Type.Boolean({ description: 'Default: as this request.' })),
    referer: Type.Optional(Type.String({ maxLength: 4096 })),
    headers: Type.Optional(
      Type.Record(Type.String({ maxLength: 128 }), Type.String({ maxLength: 4096 }), { maxProperties: 100 }),
    ),
    distribution: Type.Optional(
      Type.String({ maxLength: 64, description: 'Through which the request comes: its host, mode and access count.' }),
    ),
    time: Type.Optional(Type.String({ format: 'date-time', description: 'Default: now.' })),
  },
  { $id: 'AccessTestRequest', additionalProperties: false },
)

const TestedRule = Type.Object(
  {
    id: Type.String(),
    priority: Type.Integer(),
    effect: Type.Union([Type.Literal('allow'), Type.Literal('deny')]),
    captures: Type.Record(Type.String(), Type.String(), { description: 'Named groups of its regex.' }),
    matched: Type.Boolean(),
    mismatch: Type.Optional(
      Type.Union(
        [Type.Literal('principal'), Type.Literal('action'), Type.Literal('match'), Type.Literal('condition')],
        { description: 'The first condition that did not match; absent if all did.' },
      ),
    ),
    condition: Type.Optional(Type.String({ description: 'The condition that does not match.' })),
  },
  { $id: 'TestedAccessRule' },
)

const TestedKey = Type.Object(
  {
    key: Type.String(),
    normalizedKey: Type.String(),
    rules: Type.Array(TestedRule, { description: 'In the order in which they decide.' }),
    matched: Type.Array(Type.String()),
    blockedPublic: Type.Array(Type.String(), {
      description: 'Rules that have no effect here because public access is blocked.',
    }),
    rulesOutcome: Type.Union([Type.Literal('allow'), Type.Literal('deny'), Type.Literal('none')], {
      description: 'Of the rules alone.',
    }),
    allowed: Type.Boolean({ description: 'By rules, policies and lists together.' }),
    determinant: Type.String({ description: 'The rule, policy or statement that decided; empty where none did.' }),
    source: Type.String({
      description:
        'root, policy, group-policy, bucket-policy, access-rule, acl, embedded-policy, block-public, distribution or none; hidden: policies that the caller may not read.',
    }),
    reason: Type.String(),
  },
  { $id: 'TestedKey' },
)

export const AccessTestResult = Type.Object(
  {
    bucket: Type.String(),
    action: Type.String({ description: 'The action of S3 that was tested.' }),
    blockPublic: Type.Boolean(),
    results: Type.Array(TestedKey),
  },
  { $id: 'AccessTestResult' },
)
