/** The targets as rules of buckets know them: by ARN. */

import { parseArn, targetId } from './arn.ts'
import type { NotificationTarget } from './bucket-notifications.ts'
import type { TargetTest } from './service.ts'
import { configuredTargets, type KindSettings } from './subsystems.ts'
import type { TestOutcome } from './targets.ts'

export interface NotificationTargetOptions {
  kinds(): ReadonlyMap<string, KindSettings>
  region(): string
  test(test: TargetTest): Promise<TestOutcome>
}

export function createNotificationTarget({ kinds, region, test }: NotificationTargetOptions): NotificationTarget {
  /** Disabled ones included: what is told to them waits. */
  let known: ReadonlySet<string> = new Set()
  return {
    async prepare() {
      known = new Set((await configuredTargets(kinds())).map(targetId))
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
