/** As AWS: each destination gets a test event before the rules that name it count. */
import type { Clock } from 'svc/kernel'
import { isoTime } from 'svc/plugins/s3/api'
import type { BucketNotificationsService, TestEvent } from './bucket-notifications.ts'
import type { NotificationRule } from './rules.ts'

/** Destinations that are tested at once: rules may name a hundred. */
const concurrencyMax = 8
/** Of one test. Targets have shorter deadlines, with better messages. */
const testMs = 20_000

export interface Unreachable {
  readonly arn: string
  /** A sentence for the client, without secrets. */
  readonly reason: string
}

/** Tests all destinations; those that do not take the event, with the reason, in the order of the rules. */
export async function findUnreachable(
  bucketNotifications: Pick<BucketNotificationsService, 'target'>,
  rules: readonly NotificationRule[],
  { bucket, requestId, clock }: { readonly bucket: string; readonly requestId: string; readonly clock: Clock },
): Promise<readonly Unreachable[]> {
  const event: TestEvent = {
    Service: 'svc',
    Event: 's3:TestEvent',
    Time: isoTime(clock.now()),
    Bucket: bucket,
    RequestId: requestId,
  }
  const arns = [...new Set(rules.map(rule => rule.arn))]
  const reasons = new Map<string, string>()
  let next = 0
  const testNext = async () => {
    while (next < arns.length) {
      const arn = arns[next++]!
      try {
        await inTime(clock, bucketNotifications.target(arn)?.test(arn, event))
      } catch (error) {
        reasons.set(arn, (error as Error).message || 'it does not take the test event')
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, arns.length) }, testNext))
  return arns.flatMap(arn => (reasons.has(arn) ? [{ arn, reason: reasons.get(arn)! }] : []))
}

/** Ignores answers after the deadline. */
function inTime(clock: Clock, test: Promise<void> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(testMs, () => reject(new Error(`it does not answer within ${testMs / 1000} s`)))
    Promise.resolve(test).finally(cancel).then(resolve, reject)
  })
}
