/** Warm-ups on request: jobs in the memory of the main thread, at most four at a time. */
import { type Clock, isCatalogError, type Logger, type Random, type Threads } from 'svc/kernel'
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import type { WarmOutcome } from '../api.ts'
import { cacheErrors } from '../errors.ts'
import type { FetchBatch } from './fetching.ts'
import { targetsOf, type WarmRequest } from './targets.ts'

const runningMax = 4
/** Most jobs that are kept, with those that have ended; the oldest of these are dropped first. */
const keptMax = 1000
const keptMs = 3_600_000
/** Most characters of the requests of all kept jobs; one may have a megabyte. */
const keptCharsMax = 16 * 1024 * 1024
const errorsMax = 100
const startMessage = 'cache.warmup.start'
const getMessage = 'cache.warmup.get'

export interface WarmupFacts {
  readonly id: string
  readonly distribution: string
  readonly request: WarmRequest
  readonly state: 'in-progress' | 'completed' | 'failed' | 'aborted'
  readonly createdMs: number
  readonly finishedMs?: number
  readonly total: number
  readonly fetched: number
  readonly hits: number
  readonly skipped: number
  readonly failed: number
  readonly bytes: number
  readonly errors: readonly { readonly url: string; readonly status: number; readonly message: string }[]
  readonly nodes: readonly {
    readonly node: string
    readonly state: string
    readonly fetched: number
    readonly failed: number
  }[]
}

type Job = { -readonly [Field in keyof WarmupFacts]: WarmupFacts[Field] } & {
  errors: { url: string; status: number; message: string }[]
}

export interface WarmupsOptions {
  readonly threads: Threads
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly node: string
  readonly fetchBatch: FetchBatch
  readonly objects: Pick<ObjectsService, 'getObject' | 'listObjects' | 'read'>
  readonly distributions: DistributionsService | undefined
  readonly normalizeKey: NormalizeKey
  count(result: WarmOutcome['result']): void
}

export interface Warmups {
  /** Starts a warm-up. `hosts` are exact aliases. Throws `too_many_requests`. */
  start(distribution: string, request: WarmRequest, hosts: readonly string[]): Promise<WarmupFacts>
  /** Throws `warmup_not_found`. */
  get(distribution: string, id: string): Promise<WarmupFacts>
  /** Aborts the warm-ups that are under way. */
  stop(): void
}

interface Start {
  readonly distribution: string
  readonly request: WarmRequest
  readonly hosts: readonly string[]
}

/** To be called during set-up, in every thread. */
export function createWarmups(options: WarmupsOptions): Warmups {
  const { threads, clock, random, log, node, fetchBatch, objects, distributions, normalizeKey, count } = options
  const jobs = new Map<string, Job>()
  const chars = new WeakMap<Job, number>()
  let isStopped = false

  function forget(): void {
    let keptChars = 0
    for (const job of jobs.values()) keptChars += chars.get(job) ?? 0
    for (const [id, job] of jobs) {
      const { finishedMs } = job
      if (finishedMs === undefined) continue
      if (clock.now() - finishedMs <= keptMs && jobs.size <= keptMax && keptChars <= keptCharsMax) continue
      jobs.delete(id)
      keptChars -= chars.get(job) ?? 0
    }
  }

  function begin({ distribution, request, hosts }: Start): WarmupFacts {
    forget()
    const running = [...jobs.values()].filter(({ state }) => state === 'in-progress')
    if (running.length >= runningMax) {
      throw cacheErrors.too_many_requests(
        `${runningMax} warm-ups are under way (${running.map(({ id }) => id).join(', ')}): wait for one of them.`,
      )
    }
    const id = `warm-${Buffer.from(random.bytes(6)).toString('hex')}`
    const job: Job = {
      ...{ id, distribution, request, state: 'in-progress', createdMs: clock.now(), errors: [] },
      ...{ total: 0, fetched: 0, hits: 0, skipped: 0, failed: 0, bytes: 0 },
      nodes: [{ node, state: 'in-progress', fetched: 0, failed: 0 }],
    }
    jobs.set(id, job)
    chars.set(job, JSON.stringify(request).length)
    run(job, hosts)
      .catch(error => {
        const isRefusal = isCatalogError(error) && error.status < 500
        if (!isRefusal) log.error({ err: error, warmup: id }, 'a warm-up has failed')
        const message = isRefusal ? error.message : 'The warm-up has failed; the log of the server has the reason.'
        job.errors.push({ url: '', status: 0, message })
        job.state = 'failed'
      })
      .finally(() => {
        job.finishedMs = clock.now()
        job.nodes = [{ node, state: job.state, fetched: job.fetched, failed: job.failed }]
      })
    return copyOf(job)
  }

  async function run(job: Job, hosts: readonly string[]): Promise<void> {
    const { request } = job
    const site: Distribution | undefined = await distributions?.get(job.distribution)
    if (site === undefined) throw new Error('the distribution is gone')
    const targets = await targetsOf(request, site, objects, request.maxObjects ?? 1000, normalizeKey)
    const { concurrency = 4, headers = {} } = request
    job.total = targets.length * hosts.length
    for (const host of hosts) {
      for (let from = 0; from < targets.length; from += concurrency) {
        if (isStopped) {
          job.state = 'aborted'
          return
        }
        const batch = targets.slice(from, from + concurrency)
        const outcomes = await fetchBatch({ distribution: job.distribution, host, headers, targets: batch })
        for (const [index, outcome] of outcomes.entries()) add(job, outcome, `//${host}${batch[index]}`)
      }
    }
    job.state = job.failed > 0 && job.failed === job.total ? 'failed' : 'completed'
  }

  function add(job: Job, { result, status, bytes, message }: WarmOutcome, url: string): void {
    count(result)
    if (result === 'hit') job.hits++
    else job[result]++
    job.bytes += bytes
    if (result === 'failed' && job.errors.length < errorsMax) job.errors.push({ url, status, message })
  }

  if (threads.isMain) {
    threads.handle(startMessage, begin)
    threads.handle(getMessage, (id: string) => {
      forget()
      const job = jobs.get(id)
      return job && copyOf(job)
    })
  }

  return {
    start: (distribution, request, hosts) =>
      threads.call<WarmupFacts>(0, startMessage, { distribution, request, hosts } satisfies Start),
    async get(distribution, id) {
      const found = await threads.call<WarmupFacts | undefined>(0, getMessage, id)
      if (found === undefined || found.distribution !== distribution) throw cacheErrors.warmup_not_found()
      return found
    },
    stop() {
      isStopped = true
    },
  }
}

const copyOf = (job: Job): WarmupFacts => ({ ...job, errors: [...job.errors] })
