/** Takes a sample of every family each 10 seconds, in the main thread, and answers the questions of all threads there. */
import type { Clock, Logger, Threads } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { MetricFamily, MetricsHistoryService, MetricsQuery, MetricsResult } from './api.ts'
import { createHistory, type History, tickSeconds } from './history.ts'
import { answerQuery } from './query.ts'

const tickMs = tickSeconds * 1000
const message = { families: 'metrics-history.families', query: 'metrics-history.query' } as const

export interface MetricsHistoryOptions {
  readonly metrics: Pick<MetricsService, 'sample'>
  readonly threads: Threads
  readonly clock: Clock
  readonly log: Logger
}

export interface RunningMetricsHistory extends MetricsHistoryService {
  serve(): void
  stop(): void
}

export function createMetricsHistory({ metrics, threads, clock, log }: MetricsHistoryOptions): RunningMetricsHistory {
  if (!threads.isMain) {
    return {
      families: () => threads.call<readonly MetricFamily[]>(0, message.families),
      query: query => threads.call<MetricsResult>(0, message.query, query),
      serve: () => undefined,
      stop: () => undefined,
    }
  }
  const history = createHistory()
  let isStopped = false
  let cancel: (() => void) | undefined

  async function sample(tick: number): Promise<void> {
    try {
      history.add(tick, await metrics.sample())
    } catch (err) {
      // The point is missing; the next one comes in ten seconds.
      log.warn({ err }, 'metrics cannot be sampled for the history')
    }
    schedule()
  }

  function schedule(): void {
    if (isStopped) return
    const tick = Math.floor(clock.now() / tickMs) + 1
    cancel = clock.after(tick * tickMs - clock.now(), () => sample(tick))
  }

  /** The first sample; a request before it waits for it, so that its answer is not empty. The start does not wait. */
  let first: Promise<void> | undefined
  const families = async () => {
    await first
    return listFamilies(history)
  }
  const query = async (asked: MetricsQuery) => {
    await first
    return answerQuery(history, asked)
  }
  threads.handle(message.families, families)
  threads.handle(message.query, query)
  return {
    families,
    query,
    serve() {
      first = sample(Math.floor(clock.now() / tickMs))
    },
    stop() {
      isStopped = true
      cancel?.()
    },
  }
}

function listFamilies({ families }: History): readonly MetricFamily[] {
  return [...families.values()]
    .map(({ name, help, type, labels }) => ({ name, help, type, labels }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
