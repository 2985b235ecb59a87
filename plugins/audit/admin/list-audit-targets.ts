import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'

const AuditTarget = Type.Object(
  {
    id: Type.String({
      description: 'The name of its settings, `audit_webhook:backup`; the name of a target without a name is `_`.',
    }),
    type: Type.String({ description: 'The kind: `webhook`.' }),
    enabled: Type.Boolean(),
    endpoint: Type.String({ description: 'The address of the target, without credentials.' }),
    online: Type.Boolean({ description: 'It is enabled, and no delivery has failed since the last success.' }),
    pendingRecords: Type.Integer({ description: 'Waiting records, in memory and in the queue.' }),
    deadLetters: Type.Integer({
      description: 'Records that the target has refused for good: they are not sent again.',
    }),
    droppedTotal: Type.Integer({
      description:
        'Records since the start that were lost on the way into the queue; those that a worker lost are in `svc_audit_dropped_total` alone.',
    }),
    failedTotal: Type.Integer({ description: 'Failed attempts since the start.' }),
    lastError: Type.String({ description: 'Empty if there is none.' }),
    lastErrorAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'Of the last delivery or test, if it failed.' }),
    ),
    lastSuccessAt: Type.Optional(Type.String({ format: 'date-time', description: 'Since the start.' })),
    queueLimit: Type.Integer(),
  },
  { $id: 'AuditTarget' },
)

export default defineAdminOperation({
  id: 'listAuditTargets',
  method: 'GET',
  path: '/audit/targets',
  tag: 'monitoring',
  summary: 'Lists the configured targets of audit records, including disabled ones, with their states.',
  authorize: [['admin:GetConfig', 'admin:ServerInfo']],
  response: Type.Object({ items: Type.Array(AuditTarget) }),
  uses: ['audit'],
  async handle(_request, { audit }) {
    const targets = await audit.targets()
    return {
      items: targets.map(({ kind, isEnabled, isOnline, lastErrorMs, lastSuccessMs, ...target }) => ({
        ...target,
        type: kind,
        enabled: isEnabled,
        online: isOnline,
        ...(lastErrorMs === undefined ? undefined : { lastErrorAt: new Date(lastErrorMs).toISOString() }),
        ...(lastSuccessMs === undefined ? undefined : { lastSuccessAt: new Date(lastSuccessMs).toISOString() }),
      })),
    }
  },
})
