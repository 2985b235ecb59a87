/** Jobs run in the main thread; the others ask it. */
import type { Threads } from 'svc/kernel'
import type { ChangeOrigin } from 'svc/plugins/objects/api'
import type { HealRequest } from './admin/heal-schema.ts'
import type { HealService } from './api.ts'
import type { HealJobs } from './jobs.ts'

const message = { start: 'heal.start', list: 'heal.list', get: 'heal.get', cancel: 'heal.cancel' } as const
const main = 0

interface StartMessage {
  readonly request: HealRequest
  readonly origin: ChangeOrigin
}

/** During set-up. `jobs`: in the main thread. */
export function createHealService(threads: Threads, jobs: HealJobs | undefined): HealService {
  if (jobs !== undefined) {
    threads.handle(message.start, ({ request, origin }: StartMessage) => jobs.start(request, origin))
    threads.handle(message.list, () => jobs.list())
    threads.handle(message.get, (id: string) => jobs.get(id))
    threads.handle(message.cancel, (id: string) => jobs.cancel(id))
  }
  return {
    start: (request, origin) => threads.call(main, message.start, { request, origin }),
    list: () => threads.call(main, message.list),
    get: id => threads.call(main, message.get, id),
    cancel: id => threads.call(main, message.cancel, id),
  }
}
