/**
 * The length of a day of lifecycle rules. A day shorter than the real one deletes data early, so the length is fixed when a deployment is
 * new: an environment variable that is set by mistake cannot shorten the days of a deployment with data.
 */
import { defineErrors, type Logger, type Threads } from 'svc/kernel'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { StoreService } from 'svc/plugins/store/api'
import { Type } from 'typebox'
import { indexDayMs } from './ready-rules.ts'

const documentId = 'day'
const dayCall = 'lifecycle.day'

/** The error of a refused start. */
const dayErrors = defineErrors({
  lifecycle_day_fixed: { status: 500, title: 'The length of a lifecycle day cannot be changed.' },
})

export interface LifecycleDay {
  /** In milliseconds; available after the start. */
  ms(): number
  /** Throws `lifecycle_day_fixed` if the configured length differs from the deployment's. */
  start(): Promise<void>
}

export interface LifecycleDayOptions {
  readonly store: StoreService
  readonly objects: ObjectsService
  readonly threads: Threads
  readonly log: Logger
  /** The configured length in milliseconds; undefined: the deployment's. */
  readonly wantedMs: number | undefined
}

/** Declares a collection: during set-up. */
export function createLifecycleDay({ store, objects, threads, log, wantedMs }: LifecycleDayOptions): LifecycleDay {
  const documents = store.collection({
    name: 'lifecycle-day',
    version: 1,
    archiveNote: 'not in it: is set where a deployment is created',
    schema: Type.Object({ dayMs: Type.Integer({ minimum: 1000, maximum: indexDayMs }) }),
  })
  let ms = indexDayMs
  if (threads.isMain) threads.handle(dayCall, () => ms)

  const settle = async (): Promise<number> => {
    const stored = (await documents.get(documentId))?.value.dayMs
    const problem = await documents.problem(documentId)
    if (problem !== undefined) {
      throw dayErrors.lifecycle_day_fixed(`The length of a lifecycle day of this deployment cannot be read: ${problem}`)
    }
    const existing = stored ?? indexDayMs
    if (wantedMs === undefined || wantedMs === existing) return existing
    const { buckets } = await objects.listBuckets({ prefix: '', startAfter: '', limit: 1 })
    if (stored !== undefined || buckets.length > 0) {
      throw dayErrors.lifecycle_day_fixed(
        `SVC_LIFECYCLE_DAY is ${wantedMs / 1000} s, but a day of this deployment has ${existing / 1000} s, which cannot be changed: ` +
          'objects would expire early or late. Remove the variable, or test rules on an empty drive.',
      )
    }
    await documents.put(documentId, { dayMs: wantedMs }, { ifNoneMatch: '*' })
    return wantedMs
  }

  return {
    ms: () => ms,
    async start() {
      if (!threads.isMain) {
        ms = await threads.call<number>(0, dayCall)
        return
      }
      ms = await settle()
      if (ms === indexDayMs) return
      log.warn(
        { dayMs: ms },
        'days of lifecycle rules of this deployment are shorter than real ones (SVC_LIFECYCLE_DAY): objects expire early',
      )
    },
  }
}
