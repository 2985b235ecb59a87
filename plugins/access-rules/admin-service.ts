/** Functions of the Admin API's operations, beside the service. */
import type { Clock, MaybePromise } from 'svc/kernel'
import type { AdminRequest } from 'svc/plugins/admin/api'
import type { IamService } from 'svc/plugins/iam/api'
import type { PolicyService } from 'svc/plugins/policy/api'
import type { UsersService } from 'svc/plugins/users/api'
import type { AccessRulesService, RulesOfBucket } from './api.ts'
import { accessRuleErrors } from './errors.ts'
import { type Opening, openingsOf } from './openings.ts'
import type { AccessRoute, AccessRouteFinder } from './points.ts'
import type { AccessRule } from './rule.ts'
import { unknownPrincipals } from './unknown-principals.ts'
import { publicWarningOf, warningsOf } from './warnings.ts'

export interface RulesView {
  readonly bucket: string
  readonly rules: AccessRule[]
  readonly etag: string
  readonly updatedAt?: string
  readonly updatedBy?: string
  readonly public: boolean
  readonly blockPublic: boolean
  readonly openings: Opening[]
  readonly objectLists: boolean
  readonly warnings: string[]
}

export interface AccessRulesAdmin {
  /** Rules as clients read them, with warnings. Only callers who may read users and groups are warned about missing ones. */
  describe(request: Pick<AdminRequest, 'isAllowed'>, bucket: string, found: RulesOfBucket): Promise<RulesView>
  /** Throws `distribution_not_found`, also for a distribution of another bucket. */
  route(distribution: string, bucket: string): Promise<AccessRoute>
}

export interface AccessRulesAdminOptions {
  readonly accessRules: AccessRulesService
  readonly iam: IamService
  readonly policy: Pick<PolicyService, 'prepare' | 'publicStatements' | 'countsObjectAcls'>
  /** Undefined: nothing is known of users. */
  readonly users: UsersService | undefined
  readonly clock: Clock
  /** Undefined: there are no distributions. */
  readonly routes: () => AccessRouteFinder | undefined
}

/** The permission that a caller needs to learn whether one exists. */
const actions = { user: 'admin:GetUser', group: 'admin:GetGroup', 'access-key': 'admin:ListServiceAccounts' } as const

export function createAccessRulesAdmin(options: AccessRulesAdminOptions): AccessRulesAdmin {
  const { accessRules, iam, policy, users, clock, routes } = options

  function unknown(request: Pick<AdminRequest, 'isAllowed'>, { set }: RulesOfBucket): MaybePromise<readonly string[]> {
    if (users === undefined || set === undefined) return []
    const mayKnow = (kind: keyof typeof actions) => request.isAllowed(actions[kind])
    return unknownPrincipals(set.ordered, { users, iam, mayKnow })
  }

  return {
    async describe(request, bucket, found) {
      const { rules, etag, updatedMs, updatedBy, set } = found
      const isBlocked = await accessRules.ignoresPublic(bucket)
      const nowMs = clock.now()
      const context = { isPublicBlocked: isBlocked, nowMs }
      await policy.prepare(bucket)
      return {
        bucket,
        rules: [...rules],
        etag,
        ...(updatedMs === undefined ? {} : { updatedAt: new Date(updatedMs).toISOString() }),
        ...(updatedBy === undefined ? {} : { updatedBy }),
        public: !isBlocked && set?.isPublicAt(nowMs) === true,
        blockPublic: isBlocked,
        openings: openingsOf(bucket, {
          policy,
          rules: set?.publicFrom(nowMs) ?? [],
          ordered: set?.ordered ?? [],
          nowMs,
          warningOf: rule => publicWarningOf(set?.ordered ?? [], rule, context),
          routes: (await routes()?.publicRoutes(bucket)) ?? [],
          isPublicBlocked: isBlocked,
        }),
        objectLists: policy.countsObjectAcls(bucket),
        warnings: [...warningsOf(set?.ordered ?? [], context, await unknown(request, found))],
      }
    },
    async route(distribution, bucket) {
      const route = await routes()?.find(distribution)
      // In the same words: whoever manages rules of one bucket learns nothing of others.
      if (route?.bucket !== bucket) throw accessRuleErrors.distribution_not_found()
      return route
    },
  }
}

declare module 'svc/kernel' {
  interface Services {
    /** Used by the operations of this plugin only. */
    accessRulesAdmin: AccessRulesAdmin
  }
}
