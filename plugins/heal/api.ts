/** The service `heal`, in every thread: starts and lists heal jobs, and reports redundancy. For the Admin API's operations. */
import { adminErrors } from 'svc/plugins/admin/api'
import type { ChangeOrigin } from 'svc/plugins/objects/api'
import type { Redundancy } from './admin/get-redundancy.ts'
import type { HealJob, HealRequest } from './admin/heal-schema.ts'

export interface HealService {
  start(request: HealRequest, origin: ChangeOrigin): Promise<{ readonly job: HealJob; readonly isNew: boolean }>
  /** Newest first. */
  list(): Promise<readonly HealJob[]>
  /** Throws `heal_job_not_found`. */
  get(id: string): Promise<HealJob>
  /** Throws `heal_job_not_found`, and `conflict` if the job has ended. */
  cancel(id: string): Promise<HealJob>
  /** Throws `not_implemented` on a single drive. */
  redundancy(): Promise<Redundancy>
}

/** In the place of the service where the plugin is not loaded. */
export const noHeal: HealService = {
  start: () => refuse(),
  list: () => refuse(),
  get: () => refuse(),
  cancel: () => refuse(),
  redundancy: () => refuse(),
}

async function refuse(): Promise<never> {
  throw adminErrors.not_implemented('The plugin heal is not loaded.')
}

declare module 'svc/kernel' {
  interface Services {
    heal: HealService
  }
}
