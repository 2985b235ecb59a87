import { BucketParameters } from 'svc/plugins/admin/api'
import type { Identity } from 'svc/plugins/iam/api'
import { userNameOf } from 'svc/plugins/policy/api'
import { Type } from 'typebox'
import { AccessRule } from '../rule.ts'

export { BucketParameters }

const Opening = Type.Object(
  {
    source: Type.Enum(['access-rule', 'bucket-policy', 'acl', 'distribution'], {
      description: '`acl`: the access control list of the bucket. `distribution`: one that shows objects to everybody.',
    }),
    name: Type.String({
      description:
        'The id of the rule or of the distribution; of a statement of the policy its Sid, else its index. Empty for the list.',
    }),
    actions: Type.Array(Type.String(), {
      description: 'Classes (read, list, write, delete, tag), and single actions of S3.',
    }),
    keys: Type.Array(Type.String(), { description: 'Patterns of keys, as they are written; empty: every key.' }),
    except: Type.Array(Type.String(), {
      description:
        'Of a distribution: patterns of keys among them for which it asks for a signed link or a user, or shows nobody.',
    }),
    limited: Type.Boolean({ description: 'Conditions, or restrictions of the distribution, have to hold as well.' }),
    blocked: Type.Boolean({ description: 'It has no effect, because public access is blocked.' }),
    domains: Type.Array(Type.String(), { description: 'Of a distribution.' }),
  },
  { $id: 'AccessOpening' },
)

export const AccessRulesDocument = Type.Object(
  {
    bucket: Type.String(),
    rules: Type.Array(AccessRule),
    etag: Type.String(),
    updatedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Absent where there are no rules.' })),
    updatedBy: Type.Optional(Type.String({ description: 'A user.' })),
    public: Type.Boolean({
      description: 'A rule allows something to everybody at present, and public access is not blocked.',
    }),
    blockPublic: Type.Boolean({ description: 'Rules that allow something to everybody have no effect.' }),
    openings: Type.Array(Opening, {
      description:
        'What opens the bucket to callers without credentials, whoever decides: rules, the policy, the access control list of the bucket, distributions. Denies still count. Presigned requests and shares have credentials.',
    }),
    objectLists: Type.Boolean({
      description: 'Access control lists of single objects count, and may open these, too.',
    }),
    warnings: Type.Array(Type.String(), {
      description: 'Public access, rules that never decide, and users and groups that do not exist.',
    }),
  },
  { $id: 'AccessRulesDocument' },
)

/** Errors of a rule name the place in it, so the schema of a request accepts any object. */
export const SentRule = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 })

/** Above the largest SVC_ACCESS_RULES_MAX, whose excess has an error of its own. */
export const sentRulesMax = 2000

/** The user who makes the change. Every caller of a change has an identity. */
export function changedBy(identity: Identity | undefined): string {
  return identity === undefined ? '' : userNameOf(identity)
}
