/** Headers that a distribution and its behaviors add to answers: after the cache, so that a change needs no purge. */
import type { Distribution, Visit } from 'svc/plugins/distributions/api'
import type { ReadyBehavior } from './behaviors.ts'
import { AnswerHeaders, headerChanges, presetHeaders } from './response-headers.ts'

export interface SiteHeaders {
  add(headers: AnswerHeaders, visit: Visit, behavior: ReadyBehavior): void
  /** Of an answer that is no object. */
  start(visit: Visit, behavior: ReadyBehavior): AnswerHeaders
}

export function createSiteHeaders({ headers: { preset, response } }: Distribution): SiteHeaders {
  const changes = headerChanges(response)
  const site: SiteHeaders = {
    add(headers, visit, behavior) {
      headers.apply(presetHeaders(preset, visit.exchange.secure))
      headers.apply(changes)
      headers.apply(behavior.headers)
    },
    start(visit, behavior) {
      const headers = new AnswerHeaders()
      site.add(headers, visit, behavior)
      return headers
    },
  }
  return site
}

export function corsOf({ exchange }: Visit, { cors }: ReadyBehavior): readonly string[] {
  return cors?.forRequest(exchange.request.headers.origin) ?? []
}
