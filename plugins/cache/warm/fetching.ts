/**
 * Fetches pages into the cache of every thread that serves, because each has a memory of its own. The main thread calls it, with a bounded number of
 * pages at once.
 */
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

/** To be called during set-up, in every thread. */
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

/** The outcome of one target in all threads: the first of `failed`, `fetched`, `hit` and `skipped` that a thread has. */
function together(outcomes: readonly WarmOutcome[]): WarmOutcome {
  const [first] = [...outcomes].sort((a, b) => order.indexOf(a.result) - order.indexOf(b.result))
  return first ?? { result: 'skipped', status: 0, bytes: 0, message: 'no thread serves' }
}
