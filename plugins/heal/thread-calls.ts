/** The service `heal` in each thread: other threads call the main thread, where jobs run. */
import type { Threads } from 'svc/kernel'
import type { ChangeOrigin } from 'svc/plugins/objects/api'
import type { Redundancy } from './admin/get-redundancy.ts'
import type { HealRequest } from './admin/heal-schema.ts'
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

/** To be called during set-up. `own`: in the main thread only. */
export function createHealService(threads: Threads, own: MainHealService | undefined): HealService {
  if (own !== undefined) {
    const { jobs, redundancy } = own
    threads.handle(message.start, ({ request, origin }: StartMessage) => jobs.start(request, origin))
    threads.handle(message.list, () => jobs.list())
    threads.handle(message.get, (id: string) => jobs.get(id))
    threads.handle(message.cancel, (id: string) => jobs.cancel(id))
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
