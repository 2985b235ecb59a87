import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { TargetParameters } from './notify-schema.ts'

export default defineAdminOperation({
  id: 'discardNotifyQueue',
  method: 'DELETE',
  path: '/notify/queues/{id}',
  tag: 'notify',
  summary: 'Deletes the waiting events and the dead letters of a removed target.',
  authorize: ['admin:ConfigUpdate'],
  params: TargetParameters,
  response: Type.Object(
    { target: Type.String(), discarded: Type.Integer({ description: 'Events and dead letters.' }) },
    { $id: 'NotifyQueueDiscardResult' },
  ),
  errors: ['notify_queue_in_use', 'notify_queue_not_found'],
  uses: ['notify'],
  async handle({ params: { id } }, { notify }) {
    return { target: id, discarded: await notify.discardQueue(id) }
  },
})
