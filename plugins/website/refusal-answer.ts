/** Answers without an object: error pages of the site, built-in pages, failures. */
import { STATUS_CODES } from 'node:http'
import { isCatalogError, type Logger } from 'svc/kernel'
import { ReplacedObject } from 'svc/plugins/cache/api'
import type { Distribution, Visit } from 'svc/plugins/distributions/api'
import { send } from './answer.ts'
import type { ReadyBehavior } from './behaviors.ts'
import { contentTypeOf } from './content-types.ts'
import { isBodiless } from './object-answer.ts'
import type { Found } from './origin.ts'
import type { WebRefusal } from './refusal.ts'
import { AnswerHeaders, keepFromSharedCaches } from './response-headers.ts'
import { corsOf, type SiteHeaders } from './site-headers.ts'

export interface RefusalEnvironment {
  readonly distribution: Distribution
  readonly site: SiteHeaders
  readonly log: Logger
  /** An object of the site by its path; undefined where it is not for everybody, and the visitor was refused. */
  readonly findPage: (visit: Visit, path: string, status: number) => Promise<Found | undefined>
}

function isRead({ exchange }: Visit): boolean {
  return exchange.request.method === 'GET' || exchange.request.method === 'HEAD'
}

export function createRefusalAnswers({ distribution, site, log, findPage }: RefusalEnvironment) {
  const { errorPages, enabled } = distribution

  /** One that is disabled shows nothing of its bucket. */
  async function errorPage(visit: Visit, status: number) {
    const page = enabled ? errorPages.find(one => one.status === status) : undefined
    if (page === undefined) return undefined
    const found = await findPage(visit, page.path.startsWith('/') ? page.path : `/${page.path}`, status)
    const object = found?.resolution.object
    if (found === undefined || object === undefined || object.isSealed) return undefined
    visit.errorPage = page.path
    return { object, found, status: page.responseStatus ?? status }
  }

  async function answerRefusal(visit: Visit, refusal: WebRefusal, behavior: ReadyBehavior): Promise<void> {
    const { status, reason } = refusal
    if (visit.isClosed || visit.exchange.response.headersSent) return
    visit.reason = reason
    const headers = await site.start(visit, behavior)
    // A missing page may be cached as the site says; a refused request may be allowed the next time.
    if (status === 404 || status === 410) headers.set('Cache-Control', behavior.cacheControl)
    else headers.set('Cache-Control', 'no-store')
    keepFromSharedCaches(headers, behavior.access)
    for (const [name, value] of refusal.headers) headers.set(name, value)
    if (visit.cache !== '') headers.set('X-Cache', visit.cache)
    for (const [name, value] of visit.cacheHeaders) headers.set(name, value)
    const more = corsOf(visit, behavior)
    const page = isRead(visit) ? await errorPage(visit, status) : undefined
    if (page !== undefined) {
      const { object, found } = page
      headers.set('Content-Type', contentTypeOf(object.key, object.system.contentType))
      headers.set('Content-Encoding', object.system.contentEncoding)
      headers.apply(await site.tagged(object.tags))
      const { sizeBytes } = object
      const opened = isBodiless(visit) ? undefined : await found.bytes.open(0, sizeBytes)
      return send(visit, { status: page.status, headers, more, data: opened?.data, sizeBytes })
    }
    headers.set('Content-Type', 'text/html; charset=utf-8')
    const bytes = Buffer.from(builtInPage(status, visit.exchange.requestId))
    return send(visit, { status, headers, more, data: { kind: 'whole', bytes }, sizeBytes: bytes.length })
  }

  async function answerFailure(visit: Visit, error: unknown): Promise<void> {
    const { response, requestId } = visit.exchange
    const isReplaced = error instanceof ReplacedObject
    const isUnavailable = isReplaced || (isCatalogError(error) && error.status === 503)
    const facts = { requestId, distribution: distribution.id }
    if (isReplaced)
      log.info(facts, 'an answer of a website was given up: its object was replaced meanwhile, and the next one is new')
    else if (!isUnavailable) log.error({ err: error, ...facts }, 'a request of a website failed')
    if (response.headersSent || visit.isClosed) {
      // The status has been sent: closing the connection tells the client that the answer is incomplete.
      response.destroy()
      return
    }
    const headers = new AnswerHeaders()
    headers.set('Cache-Control', 'no-store')
    headers.set('Content-Type', 'text/html; charset=utf-8')
    if (isUnavailable) headers.set('Retry-After', (isCatalogError(error) && error.extra?.['retry-after']) || '1')
    const status = isUnavailable ? 503 : 500
    const bytes = Buffer.from(builtInPage(status, requestId))
    await send(visit, { status, headers, more: [], data: { kind: 'whole', bytes }, sizeBytes: bytes.length })
  }

  return { answerRefusal, answerFailure }
}

function builtInPage(status: number, requestId: string): string {
  const title = `${status} ${STATUS_CODES[status] ?? ''}`.trim()
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1><p>Request ${requestId}</p></body></html>\n`
}
