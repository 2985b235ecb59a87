/** Heal jobs as every thread asks for them. */
import type { ChangeOrigin } from 'svc/plugins/objects/api'
import type { Redundancy } from './admin/get-redundancy.ts'
import type { HealJob, HealRequest } from './admin/heal-schema.ts'

export interface HealService {
  start(request: HealRequest, origin: ChangeOrigin): Promise<{ readonly job: HealJob; readonly isNew: boolean }>
  /** Newest first. */
  list(): Promise<readonly HealJob[]>
  /** Throws `heal_job_not_found`. */
  get(id: string): Promise<HealJob>
  /** Throws `heal_job_not_found`, and `conflict` for one that has ended. */
  cancel(id: string): Promise<HealJob>
  /** Throws `not_implemented` where the storage is no set. */
  redundancy(): Promise<Redundancy>
}

declare module 'svc/kernel' {
  interface Services {
    heal: HealService
  }
}
