import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { TargetParameters } from './notify-schema.ts'

const NotifyTestResult = Type.Object(
  {
    target: Type.String(),
    delivered: Type.Boolean(),
    error: Type.String({ description: 'Empty when it was delivered.' }),
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
    'Sends `s3:TestEvent` to a target at once, past its queue, also to one that is not enabled. What keeps a table of objects gets no entry. A delivery that fails is an answer, too.',
  authorize: ['admin:ConfigUpdate'],
  params: TargetParameters,
  response: NotifyTestResult,
  errors: ['notify_target_not_found'],
  uses: ['notify'],
  async handle({ params: { id } }, { notify }) {
    const { error, durationMs } = await notify.test(id)
    return { target: id, delivered: error === undefined, error: error ?? '', durationMs }
  },
})
