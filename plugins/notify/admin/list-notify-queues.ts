import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'

const NotifyQueue = Type.Object(
  {
    id: Type.String({ description: 'Of the target: `<kind>:<name>`.' }),
    target: Type.Union([Type.Literal('configured'), Type.Literal('unloaded'), Type.Literal('removed')], {
      description:
        '`unloaded`: it has settings, and no plugin that is loaded knows its kind. `removed`: it has none; nobody takes what waits.',
    }),
    pendingEvents: Type.Integer({ description: 'Events that wait.' }),
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
    'Lists the queues of events: of all targets that are configured, and of others that have left events or dead letters.',
  authorize: [['admin:GetConfig', 'admin:ServerInfo']],
  response: Type.Object({ items: Type.Array(NotifyQueue) }),
  uses: ['notify'],
  handle: async (_request, { notify }) => ({ items: [...(await notify.queues())] }),
})
