/**
 * The way of a request for a website, from its path to its answer. Each step is a function; a refusal is thrown as `WebRefusal` and answered
 * by an error page:
 *
 * path → redirects → behavior → preflight, method → access → cache → object, index, folder, fallback → conditions, range → answer
 */
import { chain, type Logger, type MaybePromise, rescue } from 'svc/kernel'
import { type CacheResult, type CacheService, ReplacedObject } from 'svc/plugins/cache/api'
import type { Distribution, DistributionServer, Visit } from 'svc/plugins/distributions/api'
import type { PurgeService } from 'svc/plugins/purge/api'
import { type AccessDecision, type AccessServices, decideAccess, isShownToEverybody } from './access.ts'
import { send } from './answer.ts'
import { compileBehaviors, type ReadyBehavior } from './behaviors.ts'
import { type CachedRequest, createCachedSite } from './cached-site.ts'
import { type KnownTarget, knownTarget } from './known-targets.ts'
import { createObjectAnswers } from './object-answer.ts'
import { directBytes, type Found, type Origin } from './origin.ts'
import { decodePath, encodePath } from './path.ts'
import { compileRedirects } from './redirects.ts'
import { refusalOf, WebRefusal } from './refusal.ts'
import { createRefusalAnswers } from './refusal-answer.ts'
import { type Asked, type Find, resolvePath } from './resolution.ts'
import { AnswerHeaders, keepFromSharedCaches } from './response-headers.ts'
import { corsOf, createSiteHeaders } from './site-headers.ts'
import { portOf, readTarget, readVersionId, splitTarget, type Target } from './target.ts'

export interface WebsiteEnvironment extends AccessServices {
  readonly log: Logger
  readonly origin: Origin
  /** Undefined: every answer is read from the bucket. */
  readonly cache: CacheService | undefined
  /** Undefined: no caches in front are known. */
  readonly purge: PurgeService | undefined
  readonly normalizeKey: (key: string) => string
}

type Granted = Extract<AccessDecision, { isAllowed: true }>

/** An object that is replaced again each time is more than a moment's matter. */
const readsMax = 5

const noHeaders: Found['headers'] = []

function requireAllowed(isAllowed: boolean): void {
  if (!isAllowed) throw new WebRefusal(403, 'access_denied')
}

export function createWebsite(distribution: Distribution, environment: WebsiteEnvironment): DistributionServer {
  const { origin, normalizeKey, cache } = environment
  const { pathPrefix, versionPinning: isPinning } = distribution.origin
  const behaviorOf = compileBehaviors(distribution)
  const redirectOf = compileRedirects(distribution.redirects)
  const hasRedirects = distribution.redirects.length > 0
  const site = createSiteHeaders(distribution, environment.purge)
  const cached = cache && createCachedSite(distribution, cache, origin)
  const answerObject = createObjectAnswers(site, isPinning)
  const { answerRefusal, answerFailure } = createRefusalAnswers({ ...environment, distribution, site, findPage })
  const defaultBehavior = behaviorOf('')
  /** Error pages are for everybody, and have no index document and no fallback. */
  const pageBehavior: ReadyBehavior = { ...defaultBehavior, indexDocument: undefined, spaFallback: undefined }

  function serve(visit: Visit): MaybePromise<void> {
    const { exchange } = visit
    const known = knownTarget(site, exchange.request.url as string, () => {
      const target = readTarget(visit, normalizeKey)
      return { target, behavior: behaviorOf(target.path) }
    })
    const { target, behavior } = known
    const redirection = hasRedirects
      ? redirectOf({ ...target, port: () => portOf(visit), secure: exchange.secure, host: visit.host })
      : undefined
    if (redirection !== undefined) {
      return chain(site.start(visit, defaultBehavior), headers => {
        headers.set('Location', redirection.location)
        return send(visit, { status: redirection.status, headers, more: [], data: undefined, sizeBytes: 0 })
      })
    }
    visit.behavior = behavior.index
    visit.access = behavior.access
    const method = exchange.request.method as string
    if (method === 'OPTIONS' && behavior.methods.has(method)) return answerOptions(visit, behavior)
    if (!behavior.methods.has(method)) throw new WebRefusal(405, 'method', [['Allow', behavior.methodList]])
    return chain(decideAccess(visit, behavior, environment), access => {
      if (!access.isAllowed) throw new WebRefusal(403, access.reason)
      visit.mayRead = access.mayRead
      visit.cache = 'BYPASS'
      return serveObject(visit, known, access, readsMax)
    })
  }

  function answerOptions(visit: Visit, { cors, methodList }: ReadyBehavior): MaybePromise<void> {
    const { headers: asked } = visit.exchange.request
    const headers = new AnswerHeaders()
    headers.set('Allow', methodList)
    const { origin: page, 'access-control-request-method': method } = asked
    const isPreflight = page !== undefined && method !== undefined
    const answers = isPreflight ? cors?.forPreflight(page, method, asked['access-control-request-headers']) : undefined
    const vary = isPreflight ? ['Vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'] : []
    return send(visit, { status: 204, headers, more: [...(answers ?? []), ...vary], data: undefined, sizeBytes: 0 })
  }

  /** Resolves the path by reading the bucket. `known`: the object that it led to last time. */
  function findDirectly(
    asked: Asked,
    behavior: ReadyBehavior,
    mayRead?: Granted['mayRead'],
    known?: KnownTarget,
  ): MaybePromise<Found> {
    const find: Find = (key, versionId) =>
      mayRead === undefined
        ? origin.find(key, versionId)
        : chain(requireReadable([key], mayRead, versionId), () => origin.find(key, versionId))
    const last = known?.object
    return chain(resolvePath(asked, behavior, find, last), ({ resolution, version }) => {
      const { object } = resolution
      if (known !== undefined) known.object = object
      const isKept = object !== undefined && object === last
      return {
        resolution,
        bytes: directBytes(origin, version),
        cache: 'BYPASS',
        source: 'origin',
        headers: noHeaders,
        isKept,
      }
    })
  }

  /** `from`: the first of the keys that is still to be asked about. */
  function requireReadable(
    keys: readonly string[],
    mayRead: Granted['mayRead'],
    versionId: string | undefined,
    from = 0,
  ): MaybePromise<void> {
    for (let index = from; index < keys.length; index++) {
      const allowed = mayRead(pathPrefix + keys[index], index === 0 ? versionId : undefined)
      if (allowed instanceof Promise) {
        return allowed.then(isAllowed => {
          requireAllowed(isAllowed)
          return requireReadable(keys, mayRead, versionId, index + 1)
        })
      }
      requireAllowed(allowed)
    }
  }

  function findThroughCache(visit: Visit, request: CachedRequest, { mayRead }: Granted): MaybePromise<Found> {
    return chain(cached!.find(visit, request), found => {
      visit.cache = found.cache
      visit.cacheSource = found.source
      visit.cacheHeaders = found.headers
      // What others have read is no right to read it.
      const readable = requireReadable(found.resolution.keys, mayRead, request.versionId)
      return readable instanceof Promise ? readable.then(() => found) : found
    })
  }

  /** `reads`: how often it may be looked for, should it be replaced each time. */
  function serveObject(visit: Visit, known: KnownTarget, access: Granted, reads: number): MaybePromise<void> {
    return rescue(
      () => serveFound(visit, known, access),
      error => {
        const isBegun = visit.exchange.response.headersSent
        if (!(error instanceof ReplacedObject) || isBegun || reads <= 1) throw error
        return serveObject(visit, known, access, reads - 1)
      },
    )
  }

  function serveFound(visit: Visit, known: KnownTarget, access: Granted): MaybePromise<void> {
    const { target, behavior } = known
    const { path, query } = target
    const versionId = isPinning ? readVersionId(query) : undefined
    const { isPrivate, mayRead } = access
    return chain(isPrivate ? undefined : cached?.policyOf(visit, behavior), policy => {
      const isRehearsed = visit.rehearsal !== undefined
      if (isRehearsed && policy !== undefined) {
        // What a visitor would get, hit or miss, depends on who asked before.
        visit.cache = ''
        visit.cachePolicy = policy.policyName
      }
      const finding =
        policy === undefined || isRehearsed
          ? findDirectly({ path, versionId }, behavior, mayRead, known)
          : findThroughCache(visit, { path, versionId, query, behavior, policy, known }, access)
      return chain(finding, found => {
        const { kind, object } = found.resolution
        if (kind === 'folder') return redirectToFolder(visit, target, behavior)
        if (object === undefined) throw new WebRefusal(404)
        const browserCacheControl = policy?.policy.browserCacheControl ?? ''
        const isPinned = versionId !== undefined
        return answerObject({ visit, behavior, object, found, isPinned, browserCacheControl, isPrivate })
      })
    })
  }

  function redirectToFolder(visit: Visit, { path, query }: Target, behavior: ReadyBehavior): MaybePromise<void> {
    const scheme = visit.exchange.secure ? 'https' : 'http'
    return chain(site.start(visit, behavior), headers => {
      // Absolute: of a path such as //other.example a relative location would make another host.
      headers.set('Location', `${scheme}://${visit.host}${portOf(visit)}${encodePath(path)}/${query}`)
      keepFromSharedCaches(headers, behavior.access)
      if (visit.cache !== '') headers.set('X-Cache', visit.cache)
      for (const [name, value] of visit.cacheHeaders) headers.set(name, value)
      return send(visit, { status: 302, headers, more: corsOf(visit, behavior), data: undefined, sizeBytes: 0 })
    })
  }

  /** An error page is for everybody, or for the visitor who was let in, and not for whoever is refused. */
  async function mayShow(visit: Visit, key: string, status: number): Promise<boolean> {
    if (await isShownToEverybody(visit, key, environment)) return true
    if (visit.mayRead === undefined || status === 401 || status === 403) return false
    // Records say why the visit was refused, not the page.
    const tags = { ...visit.tags }
    const mayRead = await visit.mayRead(key)
    visit.tags = tags
    return mayRead
  }

  async function findPage(visit: Visit, path: string, status: number): Promise<Found | undefined> {
    if (!(await mayShow(visit, pathPrefix + path.slice(1), status))) return undefined
    const asked = { path, versionId: undefined }
    const policy = visit.rehearsal === undefined ? await cached?.policyOf(visit, defaultBehavior) : undefined
    if (policy === undefined) return findDirectly(asked, pageBehavior)
    return cached!.find(visit, { ...asked, query: '', behavior: pageBehavior, policy, purpose: 'error page' })
  }

  /** The behavior of the visit; the default one if the path cannot be decoded. */
  function currentBehavior(visit: Visit): ReadyBehavior {
    const path = decodePath(splitTarget(visit).rawPath, normalizeKey)
    return path === undefined ? defaultBehavior : behaviorOf(path)
  }

  function answered(visit: Visit, work: () => MaybePromise<void>): MaybePromise<void> {
    return rescue(work, error => {
      if (!(error instanceof WebRefusal)) return answerFailure(visit, error)
      return rescue(
        () => answerRefusal(visit, error, currentBehavior(visit)),
        failure => answerFailure(visit, failure),
      )
    })
  }

  function count(visit: Visit): void {
    if (cache === undefined || visit.cache === '' || visit.rehearsal !== undefined) return
    const { alias, sentBytes, cacheSource: source } = visit
    const { rawPath: path } = splitTarget(visit)
    cache.served({ distribution: distribution.id, alias, path, result: visit.cache as CacheResult, sentBytes, source })
  }

  return {
    serve(visit) {
      const done = answered(visit, () => serve(visit))
      return done instanceof Promise ? done.then(() => count(visit)) : count(visit)
    },
    refuse: (visit, refusal) =>
      answered(visit, () => {
        throw refusalOf(refusal)
      }),
    behaviorOf(path) {
      const { index, access, keyGroup } = behaviorOf(decodePath(path, normalizeKey) ?? '')
      return { index, access, ...(keyGroup !== undefined && { keyGroup }) }
    },
  }
}
