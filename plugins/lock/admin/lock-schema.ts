import { Type } from 'typebox'
import { type Lock, lockTypes } from '../api.ts'

export const LockType = Type.Enum([...lockTypes])

export const LockView = Type.Object(
  {
    resource: Type.String({ description: '`<bucket>/<activity>`; `svc/…` for the whole deployment.' }),
    uid: Type.String(),
    owner: Type.String({ description: 'The node that holds it.' }),
    source: Type.String({ description: 'The operation that it is held for.' }),
    type: LockType,
    quorum: Type.Integer({ description: 'Nodes that have to agree.' }),
    since: Type.String({ format: 'date-time' }),
    refreshed: Type.String({ format: 'date-time', description: 'When its holder renewed it last.' }),
    servers: Type.Array(Type.String(), { description: 'Nodes that know the lock.' }),
    total: Type.Integer({ description: 'Nodes in all.' }),
  },
  { $id: 'Lock' },
)

export function describeLock({ sinceMs, refreshedMs, ...lock }: Lock) {
  return {
    ...lock,
    quorum: 1,
    since: new Date(sinceMs).toISOString(),
    refreshed: new Date(refreshedMs).toISOString(),
    servers: [lock.owner],
    total: 1,
  }
}
