/** Headers that a distribution and its behaviors add to answers: after the cache, so that a change needs no purge. */
import { chain, type MaybePromise } from 'svc/kernel'
import type { Distribution, Visit } from 'svc/plugins/distributions/api'
import type { PurgeService } from 'svc/plugins/purge/api'
import type { ReadyBehavior } from './behaviors.ts'
import { AnswerHeaders, type HeaderChange, headerChanges, presetHeaders } from './response-headers.ts'

export interface SiteHeaders {
  add(headers: AnswerHeaders, visit: Visit, behavior: ReadyBehavior): void
  /** The headers of an answer that is no object. */
  start(visit: Visit, behavior: ReadyBehavior): MaybePromise<AnswerHeaders>
  /** The headers that carry these tags to caches in front. */
  tagged(tags: readonly string[] | undefined): MaybePromise<readonly HeaderChange[]>
}

export function createSiteHeaders(distribution: Distribution, purge: PurgeService | undefined): SiteHeaders {
  const { preset, response } = distribution.headers
  const changes = headerChanges(response)
  const site: SiteHeaders = {
    add(headers, visit, behavior) {
      headers.apply(presetHeaders(preset, visit.exchange.secure))
      headers.apply(changes)
      headers.apply(behavior.headers)
    },
    tagged: (tags = []) => purge?.tagHeaders(distribution, tags) ?? [],
    start: (visit, behavior) =>
      chain(site.tagged(undefined), tagged => {
        const headers = new AnswerHeaders()
        headers.apply(tagged)
        site.add(headers, visit, behavior)
        return headers
      }),
  }
  return site
}

export function corsOf({ exchange }: Visit, { cors }: ReadyBehavior): readonly string[] {
  return cors?.forRequest(exchange.request.headers.origin) ?? []
}
