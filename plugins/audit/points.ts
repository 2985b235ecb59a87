/** The extension point for targets of audit records. */
import { targetKindSchema } from 'svc/plugins/delivery/api'

export const auditPoints = {
  'audit.sink': {
    cardinality: 'many',
    schema: targetKindSchema('A kind of target for audit records; its id makes the subsystem of its settings.'),
  },
} as const
