/** The service `heal` in each thread: other threads call the main thread, where jobs run. */
import type { Threads } from 'svc/kernel'
import type { ChangeOrigin } from 'svc/plugins/objects/api'
import type { Redundancy } from './admin/get-redundancy.ts'
import type { HealJob, HealRequest, StoredHealJob } from './admin/heal-schema.ts'
import type { HealService } from './api.ts'
import type { HealJobs } from './jobs.ts'

const message = {
  start: 'heal.start',
  list: 'heal.list',
  get: 'heal.get',
  cancel: 'heal.cancel',
  redundancy: 'heal.redundancy',
} as const
const main = 0

interface StartMessage {
  readonly request: HealRequest
  readonly origin: ChangeOrigin
}

export interface MainHealService {
  readonly jobs: HealJobs
  redundancy(): Promise<Redundancy>
}

const shown = ({ left, ...job }: StoredHealJob): HealJob => job

/** To be called during set-up. `own`: in the main thread only. */
export function createHealService(threads: Threads, own: MainHealService | undefined): HealService {
  if (own !== undefined) {
    const { jobs, redundancy } = own
    threads.handle(message.start, async ({ request, origin }: StartMessage) => {
      const { job, isNew } = await jobs.start(request, origin)
      return { job: shown(job), isNew }
    })
    threads.handle(message.list, () => jobs.list().map(shown))
    threads.handle(message.get, (id: string) => shown(jobs.get(id)))
    threads.handle(message.cancel, async (id: string) => shown(await jobs.cancel(id)))
    threads.handle(message.redundancy, redundancy)
  }
  return {
    start: (request, origin) => threads.call(main, message.start, { request, origin }),
    list: () => threads.call(main, message.list),
    get: id => threads.call(main, message.get, id),
    cancel: id => threads.call(main, message.cancel, id),
    redundancy: () => threads.call(main, message.redundancy),
  }
}
