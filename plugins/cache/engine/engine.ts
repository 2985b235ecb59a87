/**
 * Serves requests from stored answers, or from their origin. It knows HTTP, and neither websites nor buckets.
 *
 * - An answer of at most 1 MiB is stored whole, in the entry of its key, one variant for each combination of the fields that `Vary` names.
 *   A larger one passes through.
 * - One read of a key at a time: who asks meanwhile waits for it at most 5 s, and goes alone where its answer cannot be shared.
 * - An unsafe request that succeeds drops the entry of its address, and of those in `Location` and `Content-Location` of the same host.
 *   No read that began before stores anything.
 *
 * Source: RFC 9111, RFC 5861, RFC 9211.
 */
import { type Clock, isCatalogError, type Logger } from 'svc/kernel'
import type {
  CacheAnswer,
  CacheOrigin,
  CacheRequest,
  CacheResult,
  CacheService,
  HeaderLine,
  OriginAnswer,
  RequestHeaders,
} from '../api.ts'
import { tierBodyBytesMax } from '../api.ts'
import { Sieve } from '../memory/sieve.ts'
import { type Directives, parseCacheControl } from '../policy/directives.ts'
import { isStorable, lifetimeOf } from '../policy/freshness.ts'
import { cacheKey } from '../policy/key.ts'
import type { CachePolicy } from '../policy/policy.ts'
import { type StoredAnswer, selectAnswer } from './answer.ts'
import { collect, drained } from './body.ts'
import { conditions, cookieOf, endToEnd, fieldOf, joined, originHeaders } from './headers.ts'
import {
  ageMs,
  createVariant,
  type Entry,
  entryBytes,
  findVariant,
  freshForMs,
  headBytes,
  headBytesMax,
  renewVariant,
  type Variant,
  varyOf,
  withVariant,
} from './variant.ts'

export interface EngineOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Of this thread. */
  readonly budgetBytes: number
}

/** Reads under way at once; beyond them requests pass the cache by. */
const readsMax = 4096
/** Bytes of answers that are still coming; beyond them answers pass through and are not stored. */
const unfinishedBytesMax = 64 * 1024 * 1024
const waitMsMax = 5000
/** How long nobody waits for the read of a key after its answer could not be shared. */
const unsharedMs = 120_000
const unsharedMax = 4096
const retryDelayMs = { min: 1000, max: 30_000 } as const
const failures: ReadonlySet<number> = new Set([500, 502, 503, 504])

const generationSlots = 4096

interface Visit {
  readonly request: CacheRequest
  readonly origin: CacheOrigin
  readonly policy: CachePolicy
  readonly id: string
  readonly asked: Directives
  readonly isHead: boolean
}

interface Outcome {
  readonly status: number
  readonly lines: readonly HeaderLine[]
  readonly body: Buffer | AsyncIterable<Uint8Array> | undefined
  readonly isStored: boolean
}

const isSafe = (method: string) => ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(method)
const slotOf = (id: string) => ((id.charCodeAt(0) << 8) | id.charCodeAt(1)) % generationSlots
const toLatin1 = (id: Buffer) => id.latin1Slice(0, id.length)

export class CacheEngine implements CacheService {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #entries: Sieve<Entry>
  readonly #reads = new Map<string, Promise<void>>()
  readonly #unshared = new Sieve<number>({ budgetBytes: unsharedMax })
  readonly #refreshes = new Set<string>()
  readonly #unfinished = { bytes: 0, bytesMax: unfinishedBytesMax }
  #readCount = 0
  /** By slots of ids. Rises with each unsafe request that succeeds: an answer that was asked for before is not stored after it. */
  readonly #generations = new Uint32Array(generationSlots)

  constructor({ clock, log, budgetBytes }: EngineOptions) {
    this.#clock = clock
    this.#log = log
    this.#entries = new Sieve({ budgetBytes })
  }

  usage() {
    return { entries: this.#entries.size, bytes: this.#entries.bytes, evictions: this.#entries.evictions }
  }

  async serve(request: CacheRequest, origin: CacheOrigin): Promise<CacheAnswer> {
    const { method, headers } = request
    if (method !== 'GET' && method !== 'HEAD') return this.#pass(request, origin)
    if (isBypassed(request) || this.#readCount >= readsMax) return this.#pass(request, origin)
    const visit: Visit = {
      request,
      origin,
      policy: request.policy.policy,
      id: this.#idOf(request),
      asked: parseCacheControl(request.honorsDirectives ? askedOf(headers) : undefined),
      isHead: method === 'HEAD',
    }
    const variant = findVariant(this.#entries.get(visit.id), headers)
    const nowMs = this.#clock.now()
    const { names } = visit.asked
    if (variant !== undefined && !names.has('no-cache')) {
      if (isFreshFor(variant, visit.asked, nowMs)) return this.#stored(visit, variant, 'HIT')
      if (freshForMs(variant, nowMs) + variant.staleWhileRevalidateMs > 0 && visit.asked.maxAge === undefined) {
        this.#refresh(visit, variant)
        return this.#stored(visit, variant, 'STALE')
      }
    }
    if (names.has('only-if-cached'))
      return answerOf({ status: 504, lines: [], body: undefined, isStored: false }, 'MISS')
    if (visit.isHead) return this.#head(visit, variant)
    return this.#get(visit, variant)
  }

  #idOf({ key, headers, policy }: CacheRequest): string {
    const header = (name: string) => fieldOf(headers, name)
    const cookie = (name: string) => cookieOf(headers, name)
    return toLatin1(cacheKey({ ...key, header, cookie }, policy.policy.cacheKey).id)
  }

  /** Nothing is read from or put into the cache. */
  async #pass(request: CacheRequest, origin: CacheOrigin): Promise<CacheAnswer> {
    const { method, headers } = request
    const { status, headers: lines, body } = await origin.fetch({ method, headers: originHeaders(headers, []) })
    if (!isSafe(method) && status >= 200 && status < 400) this.#invalidate(request, joined(lines))
    return answerOf({ status, lines: endToEnd(lines), body, isStored: false }, 'BYPASS')
  }

  #invalidate(request: CacheRequest, answer: ReadonlyMap<string, string>): void {
    this.#drop(this.#idOf(request))
    const { host, path, query } = request.key
    const base = `http://${host}${path}${query === '' ? '' : `?${query}`}`
    for (const name of ['location', 'content-location']) {
      const location = answer.get(name)
      const url = location === undefined ? null : URL.parse(location, base)
      if (url === null || url.hostname !== new URL(base).hostname) continue
      const key = { ...request.key, path: url.pathname, query: url.search.slice(1) }
      this.#drop(this.#idOf({ ...request, key }))
    }
  }

  #drop(id: string): void {
    const slot = slotOf(id)
    this.#generations[slot] = (this.#generations[slot] as number) + 1
    this.#entries.delete(id)
  }

  #generationOf(id: string): number {
    return this.#generations[slotOf(id)] as number
  }

  #stored(visit: Visit, variant: Variant, result: CacheResult, detail?: string): CacheAnswer {
    const nowMs = this.#clock.now()
    const answer = selectAnswer(variant, visit.request.headers, nowMs)
    const age: HeaderLine = ['Age', String(Math.floor(ageMs(variant, nowMs) / 1000))]
    const ttl = `svc; hit; ttl=${Math.floor(freshForMs(variant, nowMs) / 1000)}`
    return withBodyOf(visit, answer, result, detail ?? ttl, [age])
  }

  /** A HEAD reads no bytes; what it says renews the entry of the same bytes, and drops that of others. */
  async #head(visit: Visit, variant: Variant | undefined): Promise<CacheAnswer> {
    const { request, origin, policy, id } = visit
    const requestedMs = this.#clock.now()
    const answer = await origin.fetch({ method: 'HEAD', headers: originHeaders(request.headers, []) })
    await drained(answer.body)
    const lines = endToEnd(answer.headers)
    const headers = joined(lines)
    const entry = this.#entries.peek(id)
    if (variant !== undefined && answer.status === 200 && entry !== undefined) {
      const length = headers.get('content-length')
      const isSame =
        headers.get('etag') === variant.etag &&
        headers.get('last-modified') === variant.lastModified &&
        (length === undefined || Number(length) === variant.body.length)
      const times = { requestedMs, receivedMs: this.#clock.now() }
      if (isSame) this.#put(id, withVariant(entry, renewVariant(variant, lines, times, policy).variant, variant))
      else this.#entries.delete(id)
    }
    return answerOf({ status: answer.status, lines, body: undefined, isStored: false }, 'MISS')
  }

  async #get(visit: Visit, variant: Variant | undefined): Promise<CacheAnswer> {
    const { id, request } = visit
    const isAlone = this.#isUnshared(id) || visit.asked.names.has('no-store') || request.headers.range !== undefined
    const running = isAlone ? undefined : this.#reads.get(id)
    if (running !== undefined) {
      await this.#atMost(waitMsMax, running)
      const found = findVariant(this.#entries.get(id), request.headers)
      if (found !== undefined && found !== variant && freshForMs(found, this.#clock.now()) > 0) {
        return this.#stored(visit, found, 'MISS', 'svc; fwd=miss; collapsed')
      }
    }
    const read = this.#read(visit, variant)
    if (isAlone || this.#reads.has(id)) return read
    const settled = read.then(
      () => undefined,
      // Who waits reads itself then; who asked gets the rejection.
      () => undefined,
    )
    this.#reads.set(id, settled)
    void settled.then(() => this.#reads.delete(id))
    return read
  }

  async #atMost(limitMs: number, work: Promise<void>): Promise<void> {
    let cancel: (() => void) | undefined
    const limit = new Promise<void>(resolve => {
      cancel = this.#clock.after(limitMs, resolve)
    })
    await Promise.race([work, limit])
    cancel?.()
  }

  #isUnshared(id: string): boolean {
    const untilMs = this.#unshared.get(id)
    return untilMs !== undefined && untilMs > this.#clock.now()
  }

  /** Reads from the origin, with the validators of what is stored; stores what may be stored. */
  async #read(visit: Visit, variant: Variant | undefined): Promise<CacheAnswer> {
    const { request, origin, policy } = visit
    const requestedMs = this.#clock.now()
    const generation = this.#generationOf(visit.id)
    const isStale = (nowMs: number) => variant !== undefined && freshForMs(variant, nowMs) + variant.staleIfErrorMs > 0
    // Without an entry a range is read as it is asked for, and conditions are answered from the whole.
    const passed =
      variant === undefined ? conditions.filter(name => name !== 'range' && name !== 'if-range') : conditions
    const headers = originHeaders(request.headers, passed, validatorsOf(variant))
    this.#readCount++
    try {
      const answer = await origin.fetch({ method: 'GET', headers })
      const receivedMs = this.#clock.now()
      if (variant !== undefined && failures.has(answer.status) && isStale(receivedMs)) {
        await drained(answer.body)
        return this.#stored(visit, variant, 'STALE')
      }
      if (variant !== undefined && answer.status === 304) {
        await drained(answer.body)
        const lines = endToEnd(answer.headers)
        const times = { requestedMs, receivedMs }
        const { variant: renewed, lifetime } = renewVariant(variant, lines, times, policy)
        const head = { status: renewed.status, headers: joined(renewed.lines) }
        const entry = withVariant(this.#entries.peek(visit.id), renewed, variant)
        if (generation === this.#generationOf(visit.id) && isStorable(head, lifetime, authorizationOf(request)))
          this.#put(visit.id, entry)
        return this.#stored(visit, renewed, 'REVALIDATED', 'svc; fwd=stale; fwd-status=304')
      }
      const outcome = await this.#receive(visit, answer, { requestedMs, receivedMs, generation }, variant)
      return this.#answer(visit, outcome, variant === undefined ? 'MISS' : 'EXPIRED')
    } catch (error) {
      const nowMs = this.#clock.now()
      if (variant === undefined || !isStale(nowMs) || (isCatalogError(error) && error.status < 500)) throw error
      return this.#stored(visit, variant, 'STALE')
    } finally {
      this.#readCount--
    }
  }

  async #receive(
    visit: Visit,
    answer: OriginAnswer,
    {
      generation,
      ...times
    }: { readonly requestedMs: number; readonly receivedMs: number; readonly generation: number },
    variant: Variant | undefined,
  ): Promise<Outcome> {
    const { request, policy, id } = visit
    const { status } = answer
    const lines = endToEnd(answer.headers)
    const headers = joined(lines)
    const lifetime = lifetimeOf({ status, headers }, policy, times.receivedMs)
    const mayStore =
      isStorable({ status, headers }, lifetime, authorizationOf(request)) &&
      !visit.asked.names.has('no-store') &&
      headBytes(lines) <= headBytesMax &&
      isWanted(headers, policy)
    const bytesMax = mayStore ? Math.min(tierBodyBytesMax, policy.maxObjectSize) : 0
    const body = await collect(answer.body, bytesMax, this.#unfinished)
    const isWhole = Buffer.isBuffer(body)
    const isStored = mayStore && isWhole && body.length >= policy.minSize && policy.maxObjectSize > 0
    if (!isStored || generation !== this.#generationOf(id)) {
      // What was stored is not what the origin says now.
      if (variant !== undefined && status < 500) this.#entries.delete(id)
      if (request.headers.range === undefined) this.#unshared.set(id, this.#clock.now() + unsharedMs, 1)
      return { status, lines, body, isStored: false }
    }
    const stored = createVariant({ status, lines, body, vary: varyOf(lines, request.headers), lifetime, ...times })
    this.#unshared.delete(id)
    return { status, lines, body, isStored: this.#put(id, withVariant(this.#entries.peek(id), stored, variant)) }
  }

  #put(id: string, entry: Entry): boolean {
    return this.#entries.set(id, entry, entryBytes(entry))
  }

  #answer(visit: Visit, { status, lines, body, isStored }: Outcome, result: CacheResult): CacheAnswer {
    const forward = result === 'EXPIRED' ? 'stale' : 'miss'
    const detail = `svc; fwd=${forward}${isStored ? '; stored' : ''}`
    if (!Buffer.isBuffer(body)) return answerOf({ status, lines, body, isStored }, result, detail)
    return withBodyOf(
      visit,
      selectAnswer({ status, lines, body }, visit.request.headers, this.#clock.now()),
      result,
      detail,
    )
  }

  /** One refresh of a variant at a time; after failures with pauses from 1 s to 30 s. */
  #refresh(visit: Visit, variant: Variant): void {
    const { id } = visit
    if (this.#refreshes.has(id) || variant.retryAtMs > this.#clock.now() || this.#readCount >= readsMax) return
    this.#refreshes.add(id)
    const request = { ...visit.request, method: 'GET', headers: withoutConditions(visit.request.headers) }
    const failed = () => {
      variant.retryDelayMs = Math.min(Math.max(variant.retryDelayMs * 2, retryDelayMs.min), retryDelayMs.max)
      variant.retryAtMs = this.#clock.now() + variant.retryDelayMs
    }
    this.#read({ ...visit, request, isHead: false }, variant)
      .then(async ({ result, body }) => {
        if (!Buffer.isBuffer(body)) await drained(body)
        if (result === 'STALE') failed()
      })
      .catch((error: unknown) => {
        failed()
        this.#log.debug({ err: error }, 'an expired answer could not be read again')
      })
      .finally(() => this.#refreshes.delete(id))
  }
}

function isBypassed({ headers, policy: { enabled, policy }, key }: CacheRequest): boolean {
  const { always, authorization, cookies, headers: names, queryParams } = policy.bypass
  if (!enabled || always || (authorization && headers.authorization !== undefined)) return true
  if (names.some(name => headers[name.toLowerCase()] !== undefined)) return true
  if (cookies.some(name => cookieOf(headers, name) !== undefined)) return true
  return queryParams.length > 0 && queryParams.some(name => new URLSearchParams(key.query).has(name))
}

/** `Pragma: no-cache` counts where there is no `Cache-Control` (RFC 9111 section 5.4). */
function askedOf(headers: RequestHeaders): string | undefined {
  const control = fieldOf(headers, 'cache-control')
  if (control !== undefined) return control
  return /(^|,)\s*no-cache\s*(,|$)/i.test(fieldOf(headers, 'pragma') ?? '') ? 'no-cache' : undefined
}

function isFreshFor(variant: Variant, { maxAge, minFresh = 0, maxStale }: Directives, nowMs: number): boolean {
  if (maxAge !== undefined && ageMs(variant, nowMs) > maxAge * 1000) return false
  const freshMs = freshForMs(variant, nowMs)
  if (freshMs > minFresh * 1000) return true
  // Without a stale window nobody may be given what has expired, whoever asks.
  return maxStale !== undefined && variant.staleIfErrorMs > 0 && freshMs + maxStale * 1000 > 0
}

function validatorsOf(variant: Variant | undefined): RequestHeaders {
  if (variant === undefined) return {}
  const { etag, lastModified } = variant
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(lastModified !== undefined && { 'if-modified-since': lastModified }),
  }
}

const authorizationOf = ({ headers }: CacheRequest) => ({ isAuthorized: headers.authorization !== undefined })

function withoutConditions(headers: RequestHeaders): RequestHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !conditions.includes(name)))
}

/** By the media type of an answer: `text/*`, `image/png`. */
function isWanted(headers: ReadonlyMap<string, string>, { contentTypes: { allow, deny } }: CachePolicy): boolean {
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const isOf = (list: readonly string[]) =>
    list.some(one => one === type || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))))
  return !isOf(deny) && (allow.length === 0 || isOf(allow))
}

function withBodyOf(
  { isHead }: Visit,
  { status, lines, body }: StoredAnswer,
  result: CacheResult,
  detail: string,
  more: readonly HeaderLine[] = [],
): CacheAnswer {
  return answerOf(
    { status, lines: [...lines, ...more], body: isHead ? undefined : body, isStored: false },
    result,
    detail,
  )
}

function answerOf({ status, lines, body }: Outcome, result: CacheResult, detail?: string): CacheAnswer {
  const told = detail ?? (result === 'BYPASS' ? 'svc; fwd=bypass' : 'svc; fwd=miss')
  return { status, headers: [...lines, ['X-Cache', result], ['Cache-Status', told]], body, result }
}
