/** Fetches in every thread that serves, as each has a memory of its own; from the main thread, a bounded number at once. */
import type { Point, Threads } from 'svc/kernel'
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import type { CacheSite, RequestHeaders, WarmOutcome } from '../api.ts'

const message = 'cache.warm'

interface Batch {
  readonly distribution: string
  readonly host: string
  readonly headers: RequestHeaders
  readonly targets: readonly string[]
}

export interface FetchingOptions {
  readonly threads: Threads
  readonly distributions: DistributionsService | undefined
  readonly sites: Point<CacheSite>
}

export type FetchBatch = (batch: Batch) => Promise<readonly WarmOutcome[]>

const gone = (count: number): WarmOutcome[] =>
  Array.from({ length: count }, () => ({ result: 'skipped', status: 0, bytes: 0, message: 'the distribution is gone' }))

/** During set-up, in every thread. */
export function createFetching({ threads, distributions, sites }: FetchingOptions): FetchBatch {
  async function own({ distribution: id, host, headers, targets }: Batch): Promise<readonly WarmOutcome[] | undefined> {
    if (!threads.isFront) return undefined
    const distribution: Distribution | undefined = await distributions?.get(id)
    const site = sites.list().find(one => one.id === distribution?.mode)?.value
    if (distribution === undefined || site === undefined) return gone(targets.length)
    return site.warm({ distribution, alias: host, host, headers: { ...headers, host } }, targets)
  }

  threads.handle(message, own)

  return async batch => {
    const answers = [
      await own(batch),
      ...(await threads.callOthers<readonly WarmOutcome[] | undefined>(message, batch)),
    ]
    const lists = answers.filter(answer => answer !== undefined)
    return batch.targets.map((_, index) => together(lists.map(list => list[index]!)))
  }
}

const order: readonly WarmOutcome['result'][] = ['failed', 'fetched', 'hit', 'skipped']

/** Of one target in all threads: the worst, where a fetch counts before a hit. */
function together(outcomes: readonly WarmOutcome[]): WarmOutcome {
  const [first] = [...outcomes].sort((a, b) => order.indexOf(a.result) - order.indexOf(b.result))
  return first ?? { result: 'skipped', status: 0, bytes: 0, message: 'no thread serves' }
}
