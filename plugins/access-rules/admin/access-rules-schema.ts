import { type Clock, chain, type MaybePromise } from 'svc/kernel'
import { BucketParameters } from 'svc/plugins/admin/api'
import type { Identity } from 'svc/plugins/iam/api'
import { userNameOf } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'
import type { AccessRulesService, RulesOfBucket } from '../api.ts'
import { AccessRule, isPublicRule } from '../rule.ts'
import { warningsOf } from '../warnings.ts'

export { BucketParameters }

export const AccessRulesDocument = Type.Object(
  {
    bucket: Type.String(),
    rules: Type.Array(AccessRule),
    etag: Type.String(),
    updatedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Absent where there are no rules.' })),
    updatedBy: Type.Optional(Type.String({ description: 'A user.' })),
    public: Type.Boolean({ description: 'A rule allows something to everybody, and public access is not blocked.' }),
    blockPublic: Type.Boolean({ description: 'Rules that allow something to everybody have no effect.' }),
    warnings: Type.Array(Type.String(), { description: 'Public access, and rules that never decide.' }),
  },
  { $id: 'AccessRulesDocument' },
)

export function describeRules(
  bucket: string,
  { rules, etag, updatedMs, updatedBy, set }: RulesOfBucket,
  accessRules: AccessRulesService,
  clock: Clock,
): MaybePromise<Static<typeof AccessRulesDocument>> {
  return chain(accessRules.ignoresPublic(bucket), isBlocked => ({
    bucket,
    rules: [...rules],
    etag,
    ...(updatedMs === undefined ? {} : { updatedAt: new Date(updatedMs).toISOString() }),
    ...(updatedBy === undefined ? {} : { updatedBy }),
    public: !isBlocked && rules.some(isPublicRule),
    blockPublic: isBlocked,
    warnings: [...warningsOf(set?.ordered ?? [], { isPublicBlocked: isBlocked, nowMs: clock.now() })],
  }))
}

/** The user who makes the change. Every caller of a change has an identity. */
export function changedBy(identity: Identity | undefined): string {
  return identity === undefined ? '' : userNameOf(identity)
}
