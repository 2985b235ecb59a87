import { objectErrors } from 'svc/plugins/objects/api'
import { defineS3Operation, s3Errors } from 'svc/plugins/s3/api'
import { findUnreachable } from '../destinations.ts'
import { notificationElements, readRules } from '../document.ts'
import { checkNotificationRules, type NotificationProblem } from '../rules.ts'

export default defineS3Operation({
  name: 'PutBucketNotificationConfiguration',
  summary: 'Replaces the notification rules of a bucket; an empty document removes all.',
  match: { method: 'PUT', level: 'bucket', query: ['notification'] },
  action: 's3:PutBucketNotification',
  body: {
    kind: 'xml',
    root: 'NotificationConfiguration',
    elements: notificationElements,
    maxBytes: 256 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['InvalidArgument', 'MalformedXML', 'NoSuchBucket', 'NotImplemented'],
  uses: ['bucketNotifications', 'objects', 'ports'],
  async handle(request, { bucketNotifications, objects, ports: { clock, random } }) {
    const rules = readRules(request.xml!, random)
    await objects.getBucket(request.bucket)
    await bucketNotifications.prepareTargets()
    const isKnown = (arn: string) => bucketNotifications.target(arn) !== undefined
    const problems = checkNotificationRules(rules, isKnown, request.normalizeKey)
    if (problems.length > 0) throw refusal(problems[0]!)
    if (request.headers['x-amz-skip-destination-validation'] !== 'true') {
      const { bucket, requestId } = request
      const [unreachable] = await findUnreachable(bucketNotifications, rules, { bucket, requestId, clock })
      if (unreachable !== undefined) {
        throw objectErrors.InvalidArgument('Unable to validate the following destination configurations', {
          cause: new Error(unreachable.reason),
          extra: { ArgumentName: 'Arn', ArgumentValue: unreachable.arn },
        })
      }
    }
    await bucketNotifications.replace(request.bucket, rules)
    return {}
  },
})

function refusal({ code, message, argument }: NotificationProblem) {
  const extra = argument && { ArgumentName: argument.name, ArgumentValue: argument.value }
  return code === 'NotImplemented'
    ? s3Errors.NotImplemented(message, { extra })
    : objectErrors.InvalidArgument(message, { extra })
}
