/** The targets by ARN, for the rules of buckets. */

import type { Targets } from 'svc/plugins/delivery/api'
import type { NotifyTarget } from './api.ts'
import { parseArn, targetId } from './arn.ts'
import type { NotificationTarget } from './bucket-notifications.ts'
import type { TargetTest } from './service.ts'
import type { TestOutcome } from './targets.ts'

export interface NotificationTargetOptions {
  readonly targets: Pick<Targets<NotifyTarget>, 'configured'>
  region(): string
  test(test: TargetTest): Promise<TestOutcome>
}

export function createNotificationTarget({ targets, region, test }: NotificationTargetOptions): NotificationTarget {
  /** Disabled targets included: their events wait in the queue. */
  let known: ReadonlySet<string> = new Set()
  return {
    async prepare() {
      known = new Set((await targets.configured()).map(({ id }) => id))
    },
    knows(arn) {
      const name = parseArn(arn, region())
      return name !== undefined && known.has(targetId(name))
    },
    async test(arn, event) {
      const id = targetId(parseArn(arn, region())!)
      const { error } = await test({ id, bucket: event.Bucket, requestId: event.RequestId, mustBeEnabled: true })
      if (error !== undefined) throw new Error(error)
    },
  }
}
