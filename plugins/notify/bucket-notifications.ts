/**
 * Which events of a bucket are told to whom: rules, checked and stored exactly as they were put. Delivery is the business of who
 * contributes targets. Source: AWS S3 User Guide, "Amazon S3 Event Notifications".
 */
import type { MaybePromise } from 'svc/kernel'
import type { NotificationMatcher } from './matcher.ts'
import type { NotificationRule } from './rules.ts'

export { matchedEvents } from './events.ts'
export type { MatchedRule, NotificationMatcher } from './matcher.ts'
export { checkNotificationRules, type NotificationProblem, type NotificationRule } from './rules.ts'

/** What a destination gets when a configuration that names it is put. */
export interface TestEvent {
  readonly Service: 'svc'
  readonly Event: 's3:TestEvent'
  /** ISO 8601, UTC. */
  readonly Time: string
  readonly Bucket: string
  readonly RequestId: string
}

/** A kind of destination; which ones there are of it may change at run time. The id of the contribution is the kind. */
export interface NotificationTarget {
  /** To be waited for before `knows` is asked: then every acknowledged change counts. */
  prepare?(): MaybePromise<void>
  /** Whether the ARN names a destination of this kind that is configured. Neither waits nor throws. */
  knows(arn: string): boolean
  /** Delivers within a bounded time, past any queue; rejects where the destination does not take it. */
  test(arn: string, event: TestEvent): Promise<void>
}

/** Of buckets that exist; who asks makes sure of that. Changes reject with `storeErrors`. */
export interface BucketNotificationsService {
  /** In the order in which they were put; empty where there are none. */
  rules(
    bucket: string,
  ): MaybePromise<{ readonly rules: readonly NotificationRule[]; readonly etag: string | undefined }>
  /** Rules that `checkNotificationRules` has nothing against; none removes them all. Resolves with the ETag, undefined for none. */
  replace(
    bucket: string,
    rules: readonly NotificationRule[],
    options?: { readonly ifMatch?: string },
  ): Promise<string | undefined>
  /** The bucket's rules, compiled; undefined where it has none. As fresh as the store: at once in the main thread. */
  matcher(bucket: string): MaybePromise<NotificationMatcher | undefined>
  /** Buckets with a rule that names the ARN, by name; at most `limit` of them. */
  subscribers(arn: string, limit: number): Promise<readonly string[]>
  /** To be waited for before `target` is asked: then every acknowledged change counts. */
  prepareTargets(): Promise<void>
  /** The target that knows an ARN; undefined where nobody does. */
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
