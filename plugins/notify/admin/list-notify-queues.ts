import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'

const NotifyQueue = Type.Object(
  {
    id: Type.String({ description: 'Of the target: `<kind>:<name>`.' }),
    target: Type.Union([Type.Literal('configured'), Type.Literal('unloaded'), Type.Literal('removed')], {
      description:
        '`unloaded`: it has settings, but no loaded plugin implements its kind. `removed`: it has no settings; nothing delivers its events.',
    }),
    pendingEvents: Type.Integer({ description: 'Waiting events.' }),
    pendingBytes: Type.Integer(),
    deadLetters: Type.Integer({ description: 'Events that the target will never take.' }),
  },
  { $id: 'NotifyQueue' },
)

export default defineAdminOperation({
  id: 'listNotifyQueues',
  method: 'GET',
  path: '/notify/queues',
  tag: 'notify',
  summary:
    'Lists the queues of events: those of all configured targets, and those of removed targets that have events or dead letters.',
  authorize: [['admin:GetConfig', 'admin:ServerInfo']],
  response: Type.Object({ items: Type.Array(NotifyQueue) }),
  uses: ['notify'],
  handle: async (_request, { notify }) => ({ items: [...(await notify.queues())] }),
})
