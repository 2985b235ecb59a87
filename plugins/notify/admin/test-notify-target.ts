import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { TargetParameters } from './notify-schema.ts'

const NotifyTestResult = Type.Object(
  {
    target: Type.String(),
    delivered: Type.Boolean(),
    error: Type.String({ description: 'Empty if the test event was delivered.' }),
    warning: Type.String({
      description:
        'Why nobody gets the test event although it was delivered, such as an exchange of AMQP without a queue for it; empty if nothing is known.',
    }),
    durationMs: Type.Integer(),
  },
  { $id: 'NotifyTestResult' },
)

export default defineAdminOperation({
  id: 'testNotifyTarget',
  method: 'POST',
  path: '/notify/targets/{id}/test',
  tag: 'notify',
  summary:
    'Sends `s3:TestEvent` to a target at once, without its queue, even if it is disabled. A target that is a table of objects gets no entry. The answer is 200 even if the delivery failed.',
  authorize: ['admin:ConfigUpdate'],
  params: TargetParameters,
  response: NotifyTestResult,
  errors: ['notify_target_not_found'],
  uses: ['notify'],
  async handle({ params: { id } }, { notify }) {
    const { error, warning = '', durationMs } = await notify.test(id)
    return { target: id, delivered: error === undefined, error: error ?? '', warning, durationMs }
  },
})
