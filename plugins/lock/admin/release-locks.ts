import { defineAdminOperation, invalidFields } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { describeLock, LockView } from './lock-schema.ts'

export default defineAdminOperation({
  id: 'releaseLocks',
  method: 'DELETE',
  path: '/locks',
  tag: 'cluster',
  summary: 'Releases locks; their holders stop before their next commit. Locks that are not held are ignored.',
  authorize: ['admin:ForceUnlock'],
  query: Type.Object({
    resource: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
      minItems: 1,
      maxItems: 100,
      description: 'As the list shows it; repeated.',
    }),
    uid: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'As the list shows it, of one resource: it is not released if another holder has it by now.',
      }),
    ),
  }),
  response: Type.Object(
    { items: Type.Array(LockView, { description: 'Those that were held.' }) },
    { $id: 'ReleasedLocks' },
  ),
  errors: ['conflict'],
  uses: ['locks'],
  async handle({ query: { resource, uid } }, { locks }) {
    if (uid !== undefined && resource.length > 1) {
      throw invalidFields([{ element: 'query/uid', message: 'is of one resource' }])
    }
    return { items: (await locks.release(resource, uid)).map(describeLock) }
  },
})
