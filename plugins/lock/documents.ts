/**
 * The stored form of a lock: two documents with its resource as their id.
 *
 * | Collection | Changes | Why |
 * |---|---|---|
 * | `lock` | when it is taken and when it is given back | its ETag is the fencing token: other commits can demand it |
 * | `lock-renewal` | with each renewal | a renewal must not invalidate the token |
 */
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { Type } from 'typebox'
import { lockTypes } from './api.ts'

const LockDocument = Type.Object({
  uid: Type.String(),
  owner: Type.String(),
  source: Type.String(),
  type: Type.Enum([...lockTypes]),
  sinceMs: Type.Integer(),
})

const RenewalDocument = Type.Object({ uid: Type.String() })

export type LockDocument = Type.Static<typeof LockDocument>

export interface LockDocuments {
  readonly locks: Collection<LockDocument>
  readonly renewals: Collection<Type.Static<typeof RenewalDocument>>
}

/** During set-up, in every thread. */
export function declareLockDocuments(store: StoreService): LockDocuments {
  return {
    locks: store.collection({
      name: 'lock',
      version: 1,
      archiveNote: 'not in it: the work of a moment',
      schema: LockDocument,
    }),
    renewals: store.collection({
      name: 'lock-renewal',
      version: 1,
      archiveNote: 'not in it: the work of a moment',
      schema: RenewalDocument,
    }),
  }
}
