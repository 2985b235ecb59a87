import type { Point } from 'svc/kernel'
import type { ArchiveSection } from 'svc/plugins/cluster-archive/api'
import type { TargetName } from 'svc/plugins/delivery/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { bucketRules, type DocumentPage, type StoreService } from 'svc/plugins/store/api'
import { arnOf, targetId } from './arn.ts'
import type { BucketNotificationsService, NotificationTarget } from './bucket-notifications.ts'
import { compileRules } from './matcher.ts'
import { NotificationRule } from './rules.ts'

const shownSubscribers = 5

export function createBucketNotifications(
  store: StoreService,
  targets: Point<NotificationTarget>,
  normalizeKey: NormalizeKey,
): BucketNotificationsService & { readonly section: ArchiveSection } {
  const documents = bucketRules(store, { name: 'bucket-notification', rule: NotificationRule })
  const matchers = documents.compiled(({ value }) => compileRules(value.rules, normalizeKey))
  return {
    section: { documents },
    rules: documents.rules,
    replace: documents.replace,
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

/** Why a target may not be removed, as a sentence: the buckets whose rules name it. */
export async function subscriptionsOf(
  bucketNotifications: Pick<BucketNotificationsService, 'subscribers'>,
  target: TargetName,
  region: string,
): Promise<string | undefined> {
  const buckets = await bucketNotifications.subscribers(arnOf(target, region), shownSubscribers + 1)
  if (buckets.length === 0) return undefined
  const shown = buckets.slice(0, shownSubscribers).join(', ')
  const others = buckets.length > shownSubscribers ? ' and others' : ''
  return `The target ${targetId(target)} cannot be removed, because rules of buckets name it: ${shown}${others}.`
}
