/**
 * The way of a request for a website, from its path to its answer. Each step is a function; a refusal is thrown as `WebRefusal` and answered
 * by an error page:
 *
 * path → redirects → behavior → preflight, method → access → object, index, folder, fallback → conditions, range → answer
 */
import { STATUS_CODES } from 'node:http'
import { isCatalogError, type Logger } from 'svc/kernel'
import type { Distribution, DistributionRefusal, DistributionServer, Visit } from 'svc/plugins/distributions/api'
import type { ObjectVersion } from 'svc/plugins/objects/api'
import { type Coding, codedEtag, startCompression } from 'svc/plugins/payload/api'
import { httpDate, quoteEtag } from 'svc/plugins/s3/api'
import { type AccessDecision, type AccessServices, decideAccess } from './access.ts'
import { send } from './answer.ts'
import { compileBehaviors, keyOf, type ReadyBehavior } from './behaviors.ts'
import { chooseForm, collect } from './coding.ts'
import { checkConditions, chooseRange, notModifiedEtag, type Validators } from './conditions.ts'
import { contentTypeOf } from './content-types.ts'
import type { Origin } from './origin.ts'
import { decodePath, encodePath } from './path.ts'
import { compileRedirects } from './redirects.ts'
import { AnswerHeaders, headerChanges, presetHeaders } from './response-headers.ts'

export interface WebsiteEnvironment extends AccessServices {
  readonly log: Logger
  readonly origin: Origin
  readonly normalizeKey: (key: string) => string
}

/** The reason why a request gets no object. */
class WebRefusal extends Error {
  readonly status: number
  /** For records; undefined if it is not a refusal, such as a missing page. */
  readonly reason: string | undefined
  readonly headers: readonly (readonly [string, string])[]

  constructor(status: number, reason?: string, headers: WebRefusal['headers'] = []) {
    super(reason)
    this.status = status
    this.reason = reason
    this.headers = headers
  }
}

interface Target {
  readonly path: string
  /** Raw, with its question mark; or empty. */
  readonly query: string
  readonly port: string
}

type Granted = Extract<AccessDecision, { isAllowed: true }>

export function createWebsite(distribution: Distribution, environment: WebsiteEnvironment): DistributionServer {
  const { origin, normalizeKey, log } = environment
  const { headers: siteHeaders, errorPages } = distribution
  const behaviorOf = compileBehaviors(distribution)
  const redirectOf = compileRedirects(distribution.redirects)
  const siteChanges = headerChanges(siteHeaders.response)
  const isPinning = distribution.origin.versionPinning
  const defaultBehavior = behaviorOf('')

  async function serve(visit: Visit): Promise<void> {
    const target = readTarget(visit, normalizeKey)
    const redirection = redirectOf({ ...target, secure: visit.exchange.secure, host: visit.host })
    if (redirection !== undefined) {
      const headers = startHeaders(visit, defaultBehavior)
      headers.set('Location', redirection.location)
      return send(visit, { status: redirection.status, headers, more: [], data: undefined, sizeBytes: 0 })
    }
    const behavior = behaviorOf(target.path)
    visit.behavior = behavior.index
    visit.access = behavior.access
    const method = visit.exchange.request.method as string
    if (method === 'OPTIONS' && behavior.methods.has(method)) return answerOptions(visit, behavior)
    if (!behavior.methods.has(method)) throw new WebRefusal(405, 'method', [['Allow', behavior.methodList]])
    const access = await decideAccess(visit, behavior, environment)
    if (!access.isAllowed) throw new WebRefusal(403, access.reason)
    visit.cache = origin.cache
    await serveObject(visit, target, behavior, access)
  }

  function answerOptions(visit: Visit, { cors, methodList }: ReadyBehavior): Promise<void> {
    const { headers: asked } = visit.exchange.request
    const headers = new AnswerHeaders()
    headers.set('Allow', methodList)
    const { origin: page, 'access-control-request-method': method } = asked
    const isPreflight = page !== undefined && method !== undefined
    const answers = isPreflight ? cors?.forPreflight(page, method, asked['access-control-request-headers']) : undefined
    const vary = isPreflight ? ['Vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'] : []
    return send(visit, { status: 204, headers, more: [...(answers ?? []), ...vary], data: undefined, sizeBytes: 0 })
  }

  /** An object of the site, if this request may read it. */
  async function find(key: string, { mayRead }: Granted, versionId?: string): Promise<ObjectVersion | undefined> {
    if (!(await mayRead(distribution.origin.pathPrefix + key, versionId))) throw new WebRefusal(403, 'access_denied')
    return origin.find(key, versionId)
  }

  async function serveObject(visit: Visit, target: Target, behavior: ReadyBehavior, access: Granted): Promise<void> {
    const { indexDocument, spaFallback } = behavior
    const key = target.path.slice(1)
    const isFolder = key === '' || key.endsWith('/')
    const versionId = isPinning ? readVersionId(target.query) : undefined
    if (!isFolder || indexDocument !== undefined) {
      const named = isFolder ? key + indexDocument : key
      const version = await find(named, access, versionId)
      if (version !== undefined) return answerObject(visit, version, behavior, access, { versionId })
    }
    if (!isFolder && indexDocument !== undefined && versionId === undefined) {
      const index = await find(`${key}/${indexDocument}`, access)
      if (index !== undefined) return redirectToFolder(visit, target, behavior)
    }
    if (spaFallback !== undefined && versionId === undefined) {
      const version = await find(spaFallback, access)
      if (version !== undefined) return answerObject(visit, version, behavior, access, {})
    }
    throw new WebRefusal(404)
  }

  function redirectToFolder(visit: Visit, { path, query, port }: Target, behavior: ReadyBehavior): Promise<void> {
    const headers = startHeaders(visit, behavior)
    const scheme = visit.exchange.secure ? 'https' : 'http'
    // Absolute: of a path such as //other.example a relative location would make another host.
    headers.set('Location', `${scheme}://${visit.host}${port}${encodePath(path)}/${query}`)
    headers.set('X-Cache', origin.cache)
    return send(visit, { status: 302, headers, more: corsOf(visit, behavior), data: undefined, sizeBytes: 0 })
  }

  async function answerObject(
    visit: Visit,
    version: ObjectVersion,
    behavior: ReadyBehavior,
    { isPrivate }: Granted,
    { versionId }: { readonly versionId?: string },
  ): Promise<void> {
    visit.key = version.key
    if (version.encryption?.type === 'SSE-C') throw new WebRefusal(403, 'customer_key')
    const headers = objectHeaders(visit, version, behavior, { isPrivate, isPinned: versionId !== undefined })
    const more = [...corsOf(visit, behavior)]
    const { websiteRedirectLocation: elsewhere } = version.system
    if (elsewhere !== undefined) {
      for (const name of ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Type', 'Content-Encoding'])
        headers.apply([[name, '']])
      headers.set('Location', locationOf(elsewhere))
      return send(visit, { status: 301, headers, more, data: undefined, sizeBytes: 0 })
    }
    const { headers: asked } = visit.exchange.request
    const etag = quoteEtag(version.etag)
    const { varies, coding } = chooseForm(asked, headers, version.sizeBytes)
    const validators: Validators = { etag, modifiedMs: version.modifiedMs, varies }
    if (varies) more.push('Vary', 'Accept-Encoding')
    const condition = checkConditions(asked, validators)
    if (condition === 412) throw new WebRefusal(412)
    if (condition === 304) {
      headers.apply([['Content-Type', '']])
      headers.set('ETag', notModifiedEtag(asked, validators, coding === undefined ? etag : codedEtag(etag, coding)))
      return send(visit, { status: 304, headers, more, data: undefined, sizeBytes: 0 })
    }
    const { sizeBytes } = version
    if (coding !== undefined && (await sendCompressed(visit, version, coding, headers, more))) return
    const range = chooseRange(asked, validators, sizeBytes)
    if (range === 'unsatisfiable') throw new WebRefusal(416, undefined, [['Content-Range', `bytes */${sizeBytes}`]])
    if (range !== undefined) {
      headers.set('Content-Range', `bytes ${range.start}-${range.start + range.length - 1}/${sizeBytes}`)
    }
    const start = range?.start ?? 0
    const length = range?.length ?? sizeBytes
    const isHead = visit.exchange.request.method === 'HEAD' || visit.rehearsal !== undefined
    const data = isHead ? undefined : await origin.read(version, start, length)
    return send(visit, { status: range === undefined ? 200 : 206, headers, more, data, sizeBytes: length })
  }

  /** False where the stored form has to be sent: it is no larger, or too many others are being compressed. */
  async function sendCompressed(
    visit: Visit,
    version: ObjectVersion,
    coding: Coding,
    headers: AnswerHeaders,
    more: readonly string[],
  ): Promise<boolean> {
    const isHead = visit.exchange.request.method === 'HEAD' || visit.rehearsal !== undefined
    const job = isHead ? undefined : startCompression(coding)
    if (!isHead && job === undefined) return false
    let bytes: Buffer | undefined
    try {
      const plain = job && (await collect(await origin.read(version, 0, version.sizeBytes)))
      bytes = plain && (await job!.run(plain))
      if (bytes !== undefined && bytes.length >= version.sizeBytes) return false
    } finally {
      job?.cancel()
    }
    headers.set('Content-Encoding', coding)
    headers.set('ETag', codedEtag(quoteEtag(version.etag), coding))
    headers.apply([['Accept-Ranges', '']])
    const data = bytes && ({ kind: 'whole', bytes } as const)
    await send(visit, { status: 200, headers, more, data, sizeBytes: bytes?.length })
    return true
  }

  function objectHeaders(
    visit: Visit,
    version: ObjectVersion,
    behavior: ReadyBehavior,
    { isPrivate, isPinned }: { readonly isPrivate: boolean; readonly isPinned: boolean },
  ): AnswerHeaders {
    const headers = new AnswerHeaders()
    const { system, key } = version
    headers.set('Content-Type', contentTypeOf(key, system.contentType))
    headers.set('Content-Encoding', system.contentEncoding)
    headers.set('Content-Language', system.contentLanguage)
    headers.set('Content-Disposition', system.contentDisposition)
    headers.set('Expires', system.expires)
    headers.set('Cache-Control', isPinned ? 'public, max-age=31536000, immutable' : system.cacheControl)
    addSiteHeaders(headers, visit, behavior)
    headers.set('Cache-Control', behavior.cacheControl)
    if (isPrivate && !headers.get('Cache-Control')?.includes('no-store'))
      headers.set('Cache-Control', 'private, no-store')
    headers.set('Accept-Ranges', 'bytes')
    headers.set('ETag', quoteEtag(version.etag))
    headers.set('Last-Modified', httpDate(version.modifiedMs))
    headers.set('X-Cache', origin.cache)
    if (isPinning) headers.set('x-amz-version-id', version.versionId)
    return headers
  }

  function addSiteHeaders(headers: AnswerHeaders, visit: Visit, behavior: ReadyBehavior): void {
    headers.apply(presetHeaders(siteHeaders.preset, visit.exchange.secure))
    headers.apply(siteChanges)
    headers.apply(behavior.headers)
  }

  /** Of an answer that is no object. */
  function startHeaders(visit: Visit, behavior: ReadyBehavior): AnswerHeaders {
    const headers = new AnswerHeaders()
    addSiteHeaders(headers, visit, behavior)
    return headers
  }

  function corsOf(visit: Visit, { cors }: ReadyBehavior): readonly string[] {
    return cors?.forRequest(visit.exchange.request.headers.origin) ?? []
  }

  /** Of a path that could not be decoded nothing is known: then it is the default. */
  function currentBehavior(visit: Visit): ReadyBehavior {
    const path = decodePath(splitTarget(visit).rawPath, normalizeKey)
    return path === undefined ? defaultBehavior : behaviorOf(path)
  }

  async function answerRefusal(visit: Visit, refusal: WebRefusal): Promise<void> {
    const { status, reason } = refusal
    if (visit.isClosed || visit.exchange.response.headersSent) return
    visit.reason = reason
    const behavior = currentBehavior(visit)
    const headers = startHeaders(visit, behavior)
    // A missing page may be cached as the site says; a refused request may be allowed the next time.
    if (status === 404 || status === 410) headers.set('Cache-Control', behavior.cacheControl)
    else headers.set('Cache-Control', 'no-store')
    for (const [name, value] of refusal.headers) headers.set(name, value)
    if (visit.cache !== '') headers.set('X-Cache', visit.cache)
    const more = corsOf(visit, behavior)
    const page = isRead(visit) ? await errorPage(status) : undefined
    if (page !== undefined) {
      headers.set('Content-Type', contentTypeOf(page.version.key, page.version.system.contentType))
      headers.set('Content-Encoding', page.version.system.contentEncoding)
      const { sizeBytes } = page.version
      const isHead = visit.exchange.request.method === 'HEAD' || visit.rehearsal !== undefined
      const data = isHead ? undefined : await origin.read(page.version, 0, sizeBytes)
      return send(visit, { status: page.status, headers, more, data, sizeBytes })
    }
    headers.set('Content-Type', 'text/html; charset=utf-8')
    const bytes = Buffer.from(builtInPage(status, visit.exchange.requestId))
    return send(visit, { status, headers, more, data: { kind: 'whole', bytes }, sizeBytes: bytes.length })
  }

  async function errorPage(status: number) {
    const page = errorPages.find(one => one.status === status)
    if (page === undefined) return undefined
    const version = await origin.find(keyOf(page.path))
    if (version === undefined || version.encryption?.type === 'SSE-C') return undefined
    return { version, status: page.responseStatus ?? status }
  }

  async function answerFailure(visit: Visit, error: unknown): Promise<void> {
    const { response, requestId } = visit.exchange
    const isUnavailable = isCatalogError(error) && error.status === 503
    if (!isUnavailable)
      log.error({ err: error, requestId, distribution: distribution.id }, 'a request of a website failed')
    if (response.headersSent || visit.isClosed) {
      // The status has been sent: closing the connection tells the client that the answer is incomplete.
      response.destroy()
      return
    }
    const headers = new AnswerHeaders()
    headers.set('Cache-Control', 'no-store')
    headers.set('Content-Type', 'text/html; charset=utf-8')
    if (isUnavailable) headers.set('Retry-After', '1')
    const status = isUnavailable ? 503 : 500
    const bytes = Buffer.from(builtInPage(status, requestId))
    await send(visit, { status, headers, more: [], data: { kind: 'whole', bytes }, sizeBytes: bytes.length })
  }

  async function answered(visit: Visit, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof WebRefusal)) return answerFailure(visit, error)
      try {
        await answerRefusal(visit, error)
      } catch (failure) {
        await answerFailure(visit, failure)
      }
    }
  }

  return {
    serve: visit => answered(visit, () => serve(visit)),
    refuse: (visit, refusal) => answered(visit, () => Promise.reject(refusalOf(refusal))),
    behaviorOf(path) {
      const { index, access, keyGroup } = behaviorOf(decodePath(path, normalizeKey) ?? '')
      return { index, access, ...(keyGroup !== undefined && { keyGroup }) }
    },
  }
}

function refusalOf({ status, reason, retryAfterSeconds }: DistributionRefusal): WebRefusal {
  const headers = retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)] as const]
  return new WebRefusal(status, reason, headers)
}

function splitTarget({ exchange }: Visit): { readonly rawPath: string; readonly query: string } {
  const url = exchange.request.url as string
  const mark = url.indexOf('?')
  return mark < 0 ? { rawPath: url, query: '' } : { rawPath: url.slice(0, mark), query: url.slice(mark) }
}

function readTarget(visit: Visit, normalizeKey: (key: string) => string): Target {
  const { rawPath, query } = splitTarget(visit)
  const path = decodePath(rawPath, normalizeKey)
  if (path === undefined) throw new WebRefusal(400, 'path')
  const port = /:(\d+)$/.exec(visit.exchange.host)?.[1]
  return { path, query, port: port === undefined ? '' : `:${port}` }
}

function isRead({ exchange }: Visit): boolean {
  return exchange.request.method === 'GET' || exchange.request.method === 'HEAD'
}

/** The first `versionId` of the query; undefined if there is none, or if it is not a text. */
function readVersionId(query: string): string | undefined {
  const found = /[?&]versionId=([^&]*)/.exec(query)?.[1]
  return found === undefined || !/^[A-Za-z0-9._~-]{1,64}$/.test(found) ? undefined : found
}

/** A path, or http(s)://; a path of several slashes would be another host. */
function locationOf(location: string): string {
  const safe = location.startsWith('/') ? location.replace(/^[/\\]+/, '/') : location
  return safe.replaceAll(
    /[^\x21-\x7e]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

function builtInPage(status: number, requestId: string): string {
  const title = `${status} ${STATUS_CODES[status] ?? ''}`.trim()
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1><p>Request ${requestId}</p></body></html>\n`
}
