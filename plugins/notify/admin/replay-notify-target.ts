import { checkField, defineAdminOperation, invalidFields, passAll } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { TargetParameters } from './notify-schema.ts'

const NotifyReplay = Type.Object(
  {
    bucket: Type.String({ minLength: 3, maxLength: 63 }),
    prefix: Type.String({ default: '', maxLength: 1024 }),
    from: Type.Optional(Type.String({ format: 'date-time', description: 'Default: the oldest event that is kept.' })),
    to: Type.Optional(Type.String({ format: 'date-time', description: 'Events before this time. Default: now.' })),
  },
  { $id: 'NotifyReplay' },
)

export default defineAdminOperation({
  id: 'replayNotifyTarget',
  method: 'POST',
  path: '/notify/targets/{id}/replay',
  tag: 'notify',
  summary:
    'Queues kept events of a bucket again for a target, if the present rules of the bucket select them for it. Waits while the queue is full; answers when all are queued.',
  authorize: ['admin:ConfigUpdate'],
  params: TargetParameters,
  body: NotifyReplay,
  response: Type.Object({ target: Type.String(), queued: Type.Integer() }, { $id: 'NotifyReplayResult' }),
  errors: ['bucket_not_found', 'conflict', 'notify_outbox_disabled', 'notify_queue_full', 'notify_target_not_found'],
  uses: ['notify', 'objects'],
  async handle({ params: { id }, body: { bucket, from, to, ...body }, normalizeKey }, { notify, objects }) {
    const prefix = normalizeKey(body.prefix)
    const fromMs = from === undefined ? 0 : Date.parse(from)
    const toMs = to === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(to)
    await passAll([
      () => checkField('/bucket', async () => void (await objects.getBucket(bucket))),
      () => {
        if (!(fromMs < toMs)) throw invalidFields([{ element: '/from', message: 'must be before the end (`to`)' }])
      },
    ])
    return { target: id, queued: await notify.replay({ target: id, bucket, prefix, fromMs, toMs }) }
  },
})
