import type { Clock } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { PolicyService } from 'svc/plugins/policy/api'
import type { Changes } from './changes.ts'
import type { Documents } from './documents.ts'
import type { LastUses } from './last-uses.ts'
import type { ShareRoom } from './share-room.ts'

/** Shared by the parts of the directory. */
export interface Context {
  readonly documents: Documents
  readonly changes: Changes
  readonly policy: PolicyService
  readonly clock: Clock
  readonly lastUses: LastUses
  readonly shareRoom: ShareRoom
  readonly keysPerUserMax: number
  /** The root user. */
  readonly owner: Identity
}
