import type { Point } from 'svc/kernel'
import type { DocumentPage, StoreService } from 'svc/plugins/store/api'
import { Type } from 'typebox'
import type { BucketNotificationsService, NotificationTarget } from './bucket-notifications.ts'
import { compileRules } from './matcher.ts'
import { NotificationRule } from './rules.ts'

export function createBucketNotifications(
  store: StoreService,
  targets: Point<NotificationTarget>,
): BucketNotificationsService {
  const documents = store.collection({
    name: 'bucket-notification',
    schema: Type.Object({ rules: Type.Array(NotificationRule) }, { additionalProperties: false }),
    version: 1,
    scope: 'bucket',
  })
  const matchers = documents.compiled(({ value }) => compileRules(value.rules))
  return {
    rules(bucket) {
      const document = documents.get(bucket)
      const rulesOf = (found: Awaited<typeof document>) => ({ rules: found?.value.rules ?? [], etag: found?.etag })
      return document instanceof Promise ? document.then(rulesOf) : rulesOf(document)
    },
    async replace(bucket, rules, options = {}) {
      const change = { ...options, overwriteUnreadable: true }
      if (rules.length > 0) return (await documents.put(bucket, { rules: [...rules] }, change)).etag
      await documents.delete(bucket, change)
      return undefined
    },
    matcher: bucket => matchers.get(bucket),
    async subscribers(arn, limit) {
      const found: string[] = []
      for (let startAfter: string | undefined = ''; startAfter !== undefined && found.length < limit; ) {
        const page: DocumentPage<{ rules: NotificationRule[] }> = await documents.list({ startAfter })
        for (const { id, value } of page.documents) {
          if (found.length < limit && value.rules.some(rule => rule.arn === arn)) found.push(id)
        }
        startAfter = page.next
      }
      return found
    },
    async prepareTargets() {
      for (const { value } of targets.list()) await value.prepare?.()
    },
    target: arn => targets.list().find(({ value }) => value.knows(arn))?.value,
  }
}
