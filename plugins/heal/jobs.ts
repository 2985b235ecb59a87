/**
 * Starts, lists and cancels heal jobs, in the main thread, which has the open sets. A job is stored as a document when it begins, every few
 * seconds, and when it ends. After a restart a job that was running has failed with `interrupted`, and keeps its counts.
 *
 * | State | Next |
 * |---|---|
 * | running | all records visited: completed; canceled; it cannot go on, or the server ends: failed |
 * | completed, failed, canceled | listed for an hour, then deleted; later, when another job has checked what it has found or left (`superseded.ts`) |
 */
import { hostname } from 'node:os'
import type { Logger, Ports } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { RedundancyService } from 'svc/plugins/erasure/api'
import type { LockService } from 'svc/plugins/lock/api'
import type { ChangeOrigin, ObjectsService } from 'svc/plugins/objects/api'
import type { StorageService } from 'svc/plugins/storage/api'
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type HealJob, type HealRequest, StoredHealJob } from './admin/heal-schema.ts'
import { healErrors } from './errors.ts'
import { newJob, runJob } from './job-run.ts'
import { stillNeeded, takeChecked } from './superseded.ts'

const runningMax = 4
const savedEveryMs = 5000
const listedMs = 3_600_000
/** Most jobs that are stored; beyond it the oldest that have ended are deleted, those that are still needed last. */
const jobsMax = 200

export interface HealJobs {
  /** `isNew` is false if an identical job is running, which is returned. Throws `not_implemented` and `too_many_requests`. */
  start(request: HealRequest, origin: ChangeOrigin): Promise<{ readonly job: StoredHealJob; readonly isNew: boolean }>
  /** Newest first. */
  list(): readonly StoredHealJob[]
  get(id: string): StoredHealJob
  cancel(id: string): Promise<StoredHealJob>
  countByState(): Readonly<Record<HealJob['state'], number>>
  /** Loads the jobs of earlier runs of the server. */
  open(): Promise<void>
  /** Ends running jobs as interrupted. */
  close(): Promise<void>
}

/** During set-up, in every thread. */
export function declareJobs(store: StoreService): Collection<StoredHealJob> {
  return store.collection({
    name: 'heal-job',
    version: 2,
    archiveNote: 'not in it: the work of a moment',
    schema: StoredHealJob,
    migrate: value => ({ damaged: 0, ...(value as object) }),
  })
}

export interface HealJobsOptions {
  readonly redundancy: RedundancyService
  readonly documents: Collection<StoredHealJob>
  readonly objects: Pick<ObjectsService, 'removeLostVersion' | 'tellLostVersion'>
  readonly storage: Pick<StorageService, 'get'>
  readonly locks: LockService
  readonly ports: Ports
  readonly log: Logger
}

interface Running {
  readonly abort: AbortController
  readonly ended: Promise<void>
}

export function createJobs({ redundancy, documents, objects, storage, locks, ports, log }: HealJobsOptions): HealJobs {
  const { clock, random } = ports
  const jobs = new Map<string, StoredHealJob>()
  const running = new Map<string, Running>()

  const save = async (job: StoredHealJob) => {
    try {
      await documents.put(job.id, structuredClone(job), { overwriteUnreadable: true })
    } catch (error) {
      log.warn(
        { err: error, job: job.id },
        'the state of a heal job could not be stored: the job goes on, but its counts may be lost with a restart',
      )
    }
  }

  const end = (job: StoredHealJob, state: HealJob['state'], error: string) => {
    if (job.finished) return
    const nowMs = clock.now()
    Object.assign(job, { state, finished: true, error, current: '', finishedAt: new Date(nowMs).toISOString() })
    job.updatedAt = job.finishedAt!
  }

  /** Newest first. `kept`: jobs that have not ended, whose time is not over, or that are still needed. */
  const look = (nowMs: number) => {
    const all = [...jobs.values()].sort((a, b) => compare(b, a))
    const isOld = ({ finishedAt }: HealJob) => finishedAt !== undefined && nowMs - Date.parse(finishedAt) > listedMs
    const needed = stillNeeded(all, isOld)
    return { all, needed, kept: all.filter(job => !isOld(job) || needed.has(job)) }
  }

  const deleteOld = async (nowMs: number) => {
    const { all, needed, kept } = look(nowMs)
    const ended = all.filter(({ finished }) => finished).reverse()
    const surplus = [...ended.filter(job => !needed.has(job)), ...ended.filter(job => needed.has(job))]
    const deleted = new Set(surplus.slice(0, Math.max(0, jobs.size - jobsMax)))
    for (const job of ended) {
      if (!deleted.has(job) && kept.includes(job)) continue
      jobs.delete(job.id)
      await documents
        .delete(job.id)
        .catch(error =>
          log.warn({ err: error }, 'an old heal job could not be deleted; it is tried again when the next job starts'),
        )
    }
  }

  const run = async (job: StoredHealJob, origin: ChangeOrigin, { signal }: AbortController) => {
    const redundant = redundancy.storage()!
    let lastMs = clock.now()
    const now = () => {
      const nowMs = clock.now()
      if (nowMs - lastMs >= savedEveryMs) {
        lastMs = nowMs
        void save(job)
      }
      return nowMs
    }
    try {
      // A canceled job keeps the state that was reported.
      await locks.hold(`svc/heal/${job.id}`, { source: 'startHeal' }, async lease => {
        const either = AbortSignal.any([signal, lease.signal])
        await runJob(job, { redundant, objects, storage, origin, signal: either, beforeChange: lease.check, now })
        lease.signal.throwIfAborted()
      })
      end(job, 'completed', '')
    } catch (error) {
      log.error({ err: error, job: job.id }, 'a heal job has failed; objects that it has healed stay healed')
      end(job, 'failed', String((error as Error).message ?? error))
    }
    running.delete(job.id)
    const { id, state, scanned, damaged, healed, failed, dangling, removed } = job
    log.info({ job: id, state, scanned, damaged, healed, failed, dangling, removed }, 'a heal job has ended')
    await save(job)
    for (const earlier of takeChecked(job, jobs.values())) {
      // Another job may have deleted it meanwhile.
      if (jobs.has(earlier.id)) await save(earlier)
    }
  }

  const find = (id: string): StoredHealJob => {
    const job = jobs.get(id)
    if (job === undefined) throw healErrors.heal_job_not_found()
    return job
  }

  return {
    async start(request, origin) {
      if (redundancy.storage() === undefined) throw healErrors.not_implemented()
      const text = identityOf(request)
      for (const job of jobs.values())
        if (!job.finished && identityOf(job.request) === text) return { job, isNew: false }
      if (running.size >= runningMax) {
        throw adminErrors.too_many_requests(`${runningMax} heal jobs are running. Wait for one to end, or cancel one.`)
      }
      const nowMs = clock.now()
      await deleteOld(nowMs)
      const job = newJob(random.bytes(8).toString('hex'), request, hostname(), nowMs)
      jobs.set(job.id, job)
      await save(job)
      const abort = new AbortController()
      // Begins in a later turn, so that the answer shows the job as it begins.
      const ended = new Promise<void>(resolve => setImmediate(resolve)).then(() => run(job, origin, abort))
      running.set(job.id, { abort, ended })
      return { job: structuredClone(job), isNew: true }
    },
    list: () => look(clock.now()).kept,
    get: find,
    async cancel(id) {
      const job = find(id)
      if (job.finished) throw adminErrors.conflict('The heal job has ended already.')
      running.get(id)?.abort.abort()
      end(job, 'canceled', '')
      await save(job)
      return job
    },
    countByState() {
      const counts = { running: 0, completed: 0, failed: 0, canceled: 0 }
      for (const { state } of jobs.values()) counts[state]++
      return counts
    },
    async open() {
      let startAfter: string | undefined = ''
      while (startAfter !== undefined) {
        const page: Awaited<ReturnType<typeof documents.list>> = await documents.list({ startAfter })
        for (const { value } of page.documents) {
          const job = structuredClone(value) as StoredHealJob
          jobs.set(job.id, job)
          if (job.finished) continue
          end(job, 'failed', 'interrupted')
          await save(job)
        }
        startAfter = page.next
      }
      await deleteOld(clock.now())
    },
    async close() {
      const ends: Promise<void>[] = []
      for (const [id, { abort, ended }] of running) {
        abort.abort()
        end(jobs.get(id)!, 'failed', 'interrupted')
        ends.push(ended)
      }
      await Promise.all(ends)
    },
  }
}

function identityOf({ bucket = '', prefix = '', recursive, dryRun, deep, remove }: HealRequest): string {
  return JSON.stringify([bucket, prefix, recursive === true, dryRun === true, deep === true, remove === true])
}

function compare(a: HealJob, b: HealJob): number {
  return Date.parse(a.startedAt) - Date.parse(b.startedAt) || (a.id < b.id ? -1 : 1)
}
