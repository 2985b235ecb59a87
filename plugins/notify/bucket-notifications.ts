/**
 * Which events of a bucket go to which destination: rules, checked and stored exactly as they were put. Plugins that contribute targets
 * deliver the events. Source: AWS S3 User Guide, "Amazon S3 Event Notifications".
 */
import type { MaybePromise } from 'svc/kernel'
import type { NotificationMatcher } from './matcher.ts'
import type { NotificationRule } from './rules.ts'

export { matchedEvents } from './events.ts'
export type { MatchedRule, NotificationMatcher } from './matcher.ts'
export { checkNotificationRules, type NotificationProblem, type NotificationRule } from './rules.ts'

/** The message that a destination gets when a configuration that names it is put. */
export interface TestEvent {
  readonly Service: 'svc'
  readonly Event: 's3:TestEvent'
  /** ISO 8601, UTC. */
  readonly Time: string
  readonly Bucket: string
  readonly RequestId: string
}

/** A kind of destination; its destinations may change at run time. The id of the contribution is the kind. */
export interface NotificationTarget {
  /** Awaited before `knows`, so that every acknowledged change counts. */
  prepare?(): MaybePromise<void>
  /** Whether the ARN names a configured destination of this kind. Neither waits nor throws. */
  knows(arn: string): boolean
  /** Delivers within a bounded time, past any queue; rejects when the destination does not take it. */
  test(arn: string, event: TestEvent): Promise<void>
}

/** The caller checks that the bucket exists. Changes reject with `storeErrors`. */
export interface BucketNotificationsService {
  /** In the order in which they were put; empty without rules. */
  rules(bucket: string): MaybePromise<{ readonly rules: readonly NotificationRule[]; readonly etag: string }>
  /** Stores rules that passed `checkNotificationRules`; an empty list removes all. Resolves with the ETag. */
  replace(bucket: string, rules: readonly NotificationRule[], options?: { readonly ifMatch?: string }): Promise<string>
  /** The bucket's compiled rules; undefined when it has none. As fresh as the store; without a promise in the main thread. */
  matcher(bucket: string): MaybePromise<NotificationMatcher | undefined>
  /** Buckets with a rule that names the ARN, by name; at most `limit` of them. */
  subscribers(arn: string, limit: number): Promise<readonly string[]>
  /** Awaited before `target`, so that every acknowledged change counts. */
  prepareTargets(): Promise<void>
  /** The target that knows an ARN; undefined when none does. */
  target(arn: string): NotificationTarget | undefined
}

declare module 'svc/kernel' {
  interface Services {
    bucketNotifications: BucketNotificationsService
  }
  interface ExtensionPoints {
    /** Kinds of destinations for events. */
    'notification.target': NotificationTarget
  }
}
