import type { ObjectLock } from 'svc/plugins/objects/api'
import { Type } from 'typebox'

const fields = {
  mode: Type.Union([Type.Literal('GOVERNANCE'), Type.Literal('COMPLIANCE'), Type.Literal('')], {
    description: 'Empty: none.',
  }),
  retainUntil: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { default: null }),
}

export const Retention = Type.Object(fields, { $id: 'Retention' })

export const SetRetention = Type.Object(
  {
    ...fields,
    bypassGovernance: Type.Boolean({
      default: false,
      description:
        'Allows a retention in GOVERNANCE mode to be shortened or removed; needs `s3:BypassGovernanceRetention`.',
    }),
  },
  { $id: 'SetRetention' },
)

export function describeRetention(lock: ObjectLock | undefined) {
  const retention = lock?.retention
  if (retention === undefined) return { mode: '' as const, retainUntil: null }
  return { mode: retention.mode, retainUntil: new Date(retention.retainUntilMs).toISOString() }
}
