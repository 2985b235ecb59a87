import type { Random } from 'svc/kernel'
import { BucketParameters, defineAdminOperation, invalidRules, replyWith } from 'svc/plugins/admin/api'
import type { Static } from 'typebox'
import { findUnreachable } from '../destinations.ts'
import { checkNotificationRules, type NotificationProblem, type NotificationRule, newRuleId } from '../rules.ts'
import { describeEvents, Events } from './events-schema.ts'

export default defineAdminOperation({
  id: 'putBucketEvents',
  method: 'PUT',
  path: '/buckets/{bucket}/events',
  tag: 'buckets',
  summary:
    'Replaces the event subscriptions of a bucket; an empty list removes all. Each destination gets a test event first. `ruleErrors` has the problems of each subscription.',
  authorize: ['s3:PutBucketNotification'],
  params: BucketParameters,
  body: Events,
  response: Events,
  etag: true,
  errors: ['bucket_not_found', 'invalid_configuration', 'precondition_failed'],
  uses: ['bucketNotifications', 'objects', 'ports'],
  async handle(
    { params: { bucket }, body, ifMatch, requestId, normalizeKey },
    { bucketNotifications, objects, ports: { clock, random } },
  ) {
    await objects.getBucket(bucket)
    await bucketNotifications.prepareTargets()
    const { rules: current } = await bucketNotifications.rules(bucket)
    const rules = body.subscriptions.map(subscription => readRule(subscription, current, random))
    const isKnown = (arn: string) => bucketNotifications.target(arn) !== undefined
    const problems = checkNotificationRules(rules, isKnown, normalizeKey)
    if (problems.length > 0) {
      throw invalidRules(
        problems.map(problem => {
          const { index, code } = problem
          const field = fieldOf(problem, body.subscriptions[index]!)
          return {
            rule: index,
            id: rules[index]?.id,
            ...(field !== undefined && { field }),
            code,
            message: explain(problem),
          }
        }),
      )
    }
    // Those that the bucket has told until now may be offline for a while: their events wait, and other rules can be changed.
    const told = new Set(current.map(({ arn }) => arn))
    const added = rules.filter(({ arn }) => !told.has(arn))
    const unreachable = await findUnreachable(bucketNotifications, added, { bucket, requestId, clock })
    if (unreachable.length > 0) {
      throw invalidRules(
        rules.flatMap(({ id, arn }, rule) => {
          const reason = unreachable.find(other => other.arn === arn)?.reason
          const message = `The target ${arn} does not take events now, so no new rule can name it: ${reason}`
          return reason === undefined ? [] : [{ rule, id, field: 'arn', code: 'InvalidArgument', message }]
        }),
      )
    }
    const etag = await bucketNotifications.replace(bucket, rules, { ifMatch })
    return replyWith(describeEvents(rules), { etag })
  },
})

/** By the name of AWS. */
const fields: Readonly<Record<string, string>> = { Id: 'id', Arn: 'arn', Event: 'events' }

/** The field of the subscription that a problem is about. */
function fieldOf({ argument }: NotificationProblem, { prefix = '' }: Subscription): string | undefined {
  if (argument?.name === 'FilterRule.Value') return prefix.startsWith(argument.value) ? 'prefix' : 'suffix'
  return fields[argument?.name ?? '']
}

/** The message of AWS, with the value that it is about. */
function explain({ message, argument, detail }: NotificationProblem): string {
  const about =
    argument === undefined || message.includes(argument.value) ? '' : ` (${argument.name} ${argument.value})`
  return `${message}${about}${detail === undefined ? '' : ` ${detail}`}`
}

type Subscription = Static<typeof Events>['subscriptions'][number]

/** S3 has three kinds of rules, which differ in name only: a rule that was put over S3 keeps its kind. */
function readRule(
  { id, arn, events, prefix, suffix }: Subscription,
  current: readonly NotificationRule[],
  random: Random,
): NotificationRule {
  const filters = [
    { name: 'prefix', value: prefix },
    { name: 'suffix', value: suffix },
  ]
  return {
    kind: current.find(rule => rule.id === id)?.kind ?? 'queue',
    id: id === '' ? newRuleId(random) : id,
    arn,
    events,
    filters: filters.filter(({ value }) => value !== ''),
  }
}
