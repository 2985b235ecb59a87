/**
 * Serves requests from stored answers, or from their origin. It knows HTTP, and neither websites nor buckets.
 *
 * - A small answer is stored whole, in the entry of its key, one variant for each combination of the fields that `Vary` names. Larger
 *   objects are kept in blocks beside their entry; a larger answer without places to read from passes through.
 * - One read of a key at a time: who asks meanwhile waits for it at most 5 s, and goes alone where its answer cannot be shared.
 * - An answer with fences (`fence/fences.ts`) is used only while they hold. When they do not, the origin is asked what it has now: the same
 *   identity takes new fences, anything else is another answer.
 * - An unsafe request that succeeds drops the entry of its address, and of those in `Location` and `Content-Location` of the same host.
 *   No read that began before stores anything.
 *
 * Source: RFC 9111, RFC 5861, RFC 9211.
 */
import { type Clock, chain, isCatalogError, type Logger, type MaybePromise } from 'svc/kernel'
import type { CacheAnswer, CacheLookup, CacheOrigin, CacheRequest, CacheResult, OriginAnswer } from '../api.ts'
import { noDirectives, parseCacheControl } from '../policy/directives.ts'
import { isStorable } from '../policy/freshness.ts'
import { type FoundIn, noTiers, type Tiers } from '../tiers/tiers.ts'
import { answerOf } from './answer.ts'
import { drained } from './body.ts'
import { type Collapsing, createCollapsing } from './collapsing.ts'
import { conditions, endToEnd, joined, originHeaders } from './headers.ts'
import { notCached, originLookup, storedLookup, type Visit } from './lookups.ts'
import { createMemory, type Memory } from './memory.ts'
import { createRefresh, type Refresh } from './refreshing.ts'
import {
  askedOf,
  authorizationOf,
  idOf,
  isBypassed,
  isFreshFor,
  isSafe,
  validatorsOf,
  withoutConditions,
} from './requests.ts'
import { type Holds, type Received, receive, renewedRecord, type Times } from './storing.ts'
import {
  confirm,
  type Entry,
  findVariant,
  freshForMs,
  isNeverFresh,
  renewVariant,
  type Variant,
  withVariant,
} from './variant.ts'

export interface EngineOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Of this thread. */
  readonly budgetBytes: number
  /** Of the quotas, which are of all threads. */
  readonly quotaShare?: number
  /** Whether fences still hold. */
  readonly holds?: Holds
  /** Which stored answers somebody has purged. */
  readonly purges?: Purges
  /** Behind memory. */
  readonly tiers?: Tiers
  readonly counts?: OriginCounts
}

/** What became of what was asked of origins: `stored`, `passed` (not kept) or `failed`; `same`, `other` or `failed`. */
export interface OriginCounts {
  fill(result: 'stored' | 'passed' | 'failed'): void
  confirm(result: 'same' | 'other' | 'failed'): void
}

export interface Purges {
  /** The number of the last purge that is known. */
  readonly sequence: number
  /** Resolves when every acknowledged purge is known. */
  current(): MaybePromise<void>
  /** Of an answer to this request. A soft purge lets it expire instead. */
  isDead(request: CacheRequest, variant: Variant): boolean
}

/** Reads under way at once; beyond them requests pass the cache by. */
const readsMax = 4096
/** Bytes of answers that are still coming; beyond them answers pass through and are not stored. */
const unfinishedBytesMax = 64 * 1024 * 1024
const failures: ReadonlySet<number> = new Set([500, 502, 503, 504])
const generationSlots = 4096
const confirmedDetail = 'svc; fwd=stale; fwd-status=304'
const noCounts: OriginCounts = { fill() {}, confirm() {} }
const noPurges: Purges = { sequence: 0, current: () => undefined, isDead: () => false }

const slotOf = (id: string) => ((id.charCodeAt(0) << 8) | id.charCodeAt(1)) % generationSlots

export class CacheEngine {
  readonly #clock: Clock
  readonly #holds: Holds
  readonly #purges: Purges
  readonly #refresh: Refresh
  readonly #counts: OriginCounts
  readonly memory: Memory
  readonly tiers: Tiers
  readonly collapsing: Collapsing
  readonly unfinished = { bytes: 0, bytesMax: unfinishedBytesMax }
  #readCount = 0
  /** By slots of ids. Rises with each unsafe request that succeeds: an answer that was asked for before is not stored after it. */
  readonly #generations = new Uint32Array(generationSlots)

  constructor(options: EngineOptions) {
    const {
      clock,
      log,
      budgetBytes,
      quotaShare,
      holds = () => true,
      purges = noPurges,
      tiers = noTiers,
      counts = noCounts,
    } = options
    this.#counts = counts
    this.#clock = clock
    this.#holds = holds
    this.#purges = purges
    this.#refresh = createRefresh(clock, log)
    this.memory = createMemory(budgetBytes, quotaShare)
    this.tiers = tiers
    this.collapsing = createCollapsing(clock)
  }

  /** With conditions and ranges: for origins whose answers are lines and bytes. */
  serve(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheAnswer> {
    return chain(this.lookup(request, origin), found => answerOf(request, found, this.#clock.now()))
  }

  /** A hit makes no promise. */
  lookup(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheLookup> {
    const { method } = request
    if (method !== 'GET' && method !== 'HEAD') return this.#pass(request, origin)
    if (isBypassed(request) || this.#readCount >= readsMax) return this.#pass(request, origin)
    return chain(this.#purges.current(), () => this.#lookup(request, origin))
  }

  #lookup(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheLookup> {
    const { method, headers, policy } = request
    const asked = request.honorsDirectives ? parseCacheControl(askedOf(headers)) : noDirectives
    const visit: Visit = { request, origin, policy: policy.policy, id: idOf(request), asked }
    const variant = this.#find(visit)
    const nowMs = this.#clock.now()
    const { names } = asked
    if (variant !== undefined && !names.has('no-cache') && this.#isCurrent(visit, variant)) {
      if (isFreshFor(variant, asked, nowMs)) return storedLookup(this, visit, variant, 'HIT', nowMs)
      if (freshForMs(variant, nowMs) + variant.staleWhileRevalidateMs > 0 && asked.maxAge === undefined) {
        this.#readLater(visit, variant)
        return storedLookup(this, visit, variant, 'STALE', nowMs)
      }
      if (isNeverFresh(variant) && names.size === 0 && this.#isUntouched(visit, variant)) {
        confirm(variant, nowMs)
        return storedLookup(this, visit, variant, 'REVALIDATED', nowMs, confirmedDetail)
      }
    }
    if (names.has('only-if-cached')) return notCached
    const isUnknown = variant === undefined || variant.record === undefined
    return method === 'HEAD' && isUnknown ? this.#head(visit, variant) : this.#get(visit, variant)
  }

  /** What is stored for the request and nobody has purged. */
  #find({ id, request }: Visit): Variant | undefined {
    const variant = findVariant(this.memory.entry(id), request.headers)
    return variant === undefined || this.#isPurged(request, variant) ? undefined : variant
  }

  #isPurged(request: CacheRequest, variant: Variant): boolean {
    return variant.purgeSequence < this.#purges.sequence && this.#purges.isDead(request, variant)
  }

  /** Whether the origin would say the same now, as far as fences tell. */
  #isCurrent({ request }: Visit, { record }: Variant): boolean {
    return record === undefined || !request.policy.autoInvalidate || this.#holds(record.fences)
  }

  /** The fences of an object hold: to read it again would find the same. */
  #isUntouched({ request, asked }: Visit, { record }: Variant): boolean {
    return (
      record !== undefined && record.fences.length > 0 && request.policy.autoInvalidate && asked.maxAge === undefined
    )
  }

  /** Nothing is read from or put into the cache. */
  async #pass(request: CacheRequest, origin: CacheOrigin): Promise<CacheLookup> {
    const { method, headers } = request
    const answer = await origin.fetch({ method, headers: originHeaders(headers, []) })
    const { status, headers: lines } = answer
    if (!isSafe(method) && status >= 200 && status < 400) this.#invalidate(request, joined(lines))
    return originLookup(this, undefined, { ...answer, lines: endToEnd(lines), isStored: false }, 'BYPASS')
  }

  #invalidate(request: CacheRequest, answer: ReadonlyMap<string, string>): void {
    this.#drop(idOf(request))
    const { host, path, query } = request.key
    const base = `http://${host}${path}${query === '' ? '' : `?${query}`}`
    for (const name of ['location', 'content-location']) {
      const location = answer.get(name)
      const url = location === undefined ? null : URL.parse(location, base)
      if (url === null || url.hostname !== new URL(base).hostname) continue
      const key = { ...request.key, path: url.pathname, query: url.search.slice(1) }
      this.#drop(idOf({ ...request, key }))
    }
  }

  #drop(id: string): void {
    const slot = slotOf(id)
    this.#generations[slot] = this.#generationOf(id) + 1
    this.memory.delete(id)
    this.tiers.delete(id)
  }

  #generationOf(id: string): number {
    return this.#generations[slotOf(id)] as number
  }

  #stored(visit: Visit, variant: Variant, result: CacheResult, detail?: string, source?: string): CacheLookup {
    return storedLookup(this, visit, variant, result, this.#clock.now(), detail, source)
  }

  /** A HEAD reads no bytes; what it says renews the entry of the same bytes, and drops that of others. */
  async #head(visit: Visit, variant: Variant | undefined): Promise<CacheLookup> {
    const { request, origin, policy, id } = visit
    const requestedMs = this.#clock.now()
    const answer = await origin.fetch({ method: 'HEAD', headers: originHeaders(request.headers, []) })
    await drained(answer.body)
    const lines = endToEnd(answer.headers)
    const headers = joined(lines)
    const entry = this.memory.peek(id)
    if (variant !== undefined && answer.status === 200 && entry !== undefined) {
      const length = headers.get('content-length')
      const isSame =
        headers.get('etag') === variant.etag &&
        headers.get('last-modified') === variant.lastModified &&
        (length === undefined || Number(length) === variant.sizeBytes)
      const times = { requestedMs, receivedMs: this.#clock.now(), purgeSequence: this.#purges.sequence }
      if (isSame)
        this.memory.put(
          id,
          withVariant(entry, renewVariant(variant, lines, times, policy).variant, variant),
          request.policy.quota,
        )
      else this.memory.delete(id)
    }
    const body = answer.record === undefined ? undefined : answer.body
    return originLookup(this, undefined, { ...answer, body, lines, isStored: false }, 'MISS')
  }

  async #get(visit: Visit, variant: Variant | undefined): Promise<CacheLookup> {
    const { id } = visit
    const isAlone = this.collapsing.isUnshared(id) || visit.asked.names.has('no-store') || this.#isRangeOfLines(visit)
    const running = isAlone ? undefined : this.collapsing.running(id)
    if (running !== undefined) {
      await this.collapsing.wait(running)
      const found = this.#find(visit)
      // Fences that hold now held when that read began: it has everything that was acknowledged before this request.
      if (found !== undefined && freshForMs(found, this.#clock.now()) > 0 && this.#isCurrent(visit, found)) {
        if (found !== variant) return this.#stored(visit, found, 'MISS', 'svc; fwd=miss; collapsed')
        if (found.record !== undefined) return this.#stored(visit, found, 'HIT')
      }
    }
    const read = this.#read(visit, variant)
    if (!isAlone) this.collapsing.run(id, read)
    return read
  }

  /** Without an entry an origin of lines is asked for the range alone. */
  #isRangeOfLines({ request, origin }: Visit): boolean {
    return request.headers.range !== undefined && origin.hasObjects !== true
  }

  /** From the tiers behind memory, as far as the origin confirms it, or from the origin. */
  async #read(visit: Visit, variant: Variant | undefined): Promise<CacheLookup> {
    const { id, origin, asked } = visit
    if (variant !== undefined || this.tiers.isEmpty || origin.hasObjects !== true)
      return this.#readOrigin(visit, variant)
    const generation = this.#generationOf(id)
    const found = await this.#behind(visit)
    if (found === undefined) return this.#readOrigin(visit, undefined)
    const { value, source } = found
    // Only where nothing has to be confirmed: `autoInvalidate` is off.
    const isUsable = this.#isCurrent(visit, value) && isFreshFor(value, asked, this.#clock.now())
    if (!isUsable || asked.names.has('no-cache') || generation !== this.#generationOf(id))
      return this.#readOrigin(visit, value, source)
    this.memory.put(id, value, visit.request.policy.quota)
    return this.#stored(visit, value, 'HIT', undefined, source)
  }

  /** What a tier has for the request and nobody has purged. */
  async #behind({ id, request }: Visit): Promise<FoundIn<Variant> | undefined> {
    const found = await this.tiers.entry(id)
    if (found === undefined) return undefined
    const { value } = found
    // Of the future: the clock was set back, and its age is unknown.
    if (value.receivedMs <= this.#clock.now() && !this.#isPurged(request, value)) return found
    this.tiers.delete(id)
    return undefined
  }

  /** With the validators of what is stored; stores what may be stored. `source`: the tier that `variant` is from, if memory lacks it. */
  async #readOrigin(visit: Visit, variant: Variant | undefined, source?: string): Promise<CacheLookup> {
    const { request, origin } = visit
    const requestedMs = this.#clock.now()
    const generation = this.#generationOf(visit.id)
    const purgeSequence = this.#purges.sequence
    const mayBeStale = () =>
      variant !== undefined &&
      freshForMs(variant, this.#clock.now()) + variant.staleIfErrorMs > 0 &&
      this.#isCurrent(visit, variant)
    // Without an entry a range is read as it is asked for, and conditions are answered from the whole.
    const passed =
      variant === undefined ? conditions.filter(name => name !== 'range' && name !== 'if-range') : conditions
    const headers = originHeaders(request.headers, passed, validatorsOf(variant))
    this.#readCount++
    try {
      const answer = await origin.fetch({ method: 'GET', headers })
      const times: Times = { requestedMs, receivedMs: this.#clock.now(), purgeSequence }
      if (variant !== undefined && failures.has(answer.status) && mayBeStale()) {
        this.#counts.confirm('failed')
        await drained(answer.body)
        return this.#stored(visit, variant, 'STALE')
      }
      const mayPut = () => generation === this.#generationOf(visit.id)
      if (variant !== undefined) {
        const confirmed = await this.#confirmed(visit, { variant, source }, answer, times, mayPut)
        this.#counts.confirm(confirmed === undefined ? 'other' : 'same')
        if (confirmed !== undefined) return confirmed
      }
      // A fresh object that was replaced is no expired one.
      const isMiss = variant === undefined || (variant.record !== undefined && freshForMs(variant, requestedMs) > 0)
      const received = await this.#receive(visit, answer, times, variant, mayPut)
      this.#counts.fill(received.isStored ? 'stored' : 'passed')
      return originLookup(this, visit, received, isMiss ? 'MISS' : 'EXPIRED')
    } catch (error) {
      if (variant === undefined) this.#counts.fill('failed')
      else this.#counts.confirm('failed')
      if (variant === undefined || !mayBeStale() || (isCatalogError(error) && error.status < 500)) throw error
      return this.#stored(visit, variant, 'STALE')
    } finally {
      this.#readCount--
    }
  }

  /** The stored answer, where the origin says that it is still right. */
  async #confirmed(
    visit: Visit,
    { variant, source }: { readonly variant: Variant; readonly source: string | undefined },
    answer: OriginAnswer,
    times: Times,
    mayPut: () => boolean,
  ): Promise<CacheLookup | undefined> {
    const { request, policy } = visit
    const isSame =
      answer.record === undefined ? answer.status === 304 : answer.record.identity === variant.record?.identity
    if (!isSame) return undefined
    if (answer.record === undefined) await drained(answer.body)
    const record = answer.record && renewedRecord(answer.record)
    const isFresh = freshForMs(variant, times.requestedMs) > 0
    if (variant.record !== undefined && isFresh) {
      if (record !== undefined) variant.record.fences = record.fences
      if (source !== undefined && mayPut())
        this.memory.put(visit.id, withVariant(this.memory.peek(visit.id), variant), request.policy.quota)
      return this.#stored(visit, variant, 'HIT', undefined, source)
    }
    const lines = endToEnd(answer.headers)
    // Fences that had not settled are kept as they were, and the entry is confirmed again at its next use.
    const kept = record ?? variant.record
    const { variant: renewed, lifetime } = renewVariant(variant, lines, times, policy, kept)
    const head = { status: renewed.status, headers: joined(renewed.record === undefined ? renewed.lines : lines) }
    const entry = withVariant(this.memory.peek(visit.id), renewed, variant)
    if (mayPut() && isStorable(head, lifetime, authorizationOf(request)))
      this.memory.put(visit.id, entry, request.policy.quota)
    return this.#stored(visit, renewed, 'REVALIDATED', confirmedDetail, source)
  }

  async #receive(
    visit: Visit,
    answer: OriginAnswer,
    times: Times,
    variant: Variant | undefined,
    mayPut: () => boolean,
  ): Promise<Received> {
    const { request, policy, id } = visit
    const isRefused = visit.asked.names.has('no-store')
    const { received, stored, isShareable } = await receive(request, policy, answer, times, this.unfinished, isRefused)
    if (stored === undefined || !mayPut()) {
      // What was stored is not what the origin says now.
      if (variant !== undefined && answer.status < 500) {
        this.memory.delete(id)
        this.tiers.delete(id)
      }
      if (!isShareable && request.headers.range === undefined) this.collapsing.markUnshared(id)
      return { ...received, isStored: false }
    }
    this.collapsing.markShared(id)
    const entry: Entry = withVariant(this.memory.peek(id), stored, variant)
    this.tiers.putEntry(id, stored)
    return { ...received, kept: stored.record, isStored: this.memory.put(id, entry, request.policy.quota) }
  }

  #readLater(visit: Visit, variant: Variant): void {
    if (this.#readCount >= readsMax) return
    const request = { ...visit.request, method: 'GET', headers: withoutConditions(visit.request.headers) }
    this.#refresh(visit.id, async () => {
      const { result, body } = await this.#read({ ...visit, request }, variant)
      if (body !== undefined && !Buffer.isBuffer(body) && !('open' in body)) await drained(body)
      return result !== 'STALE'
    })
  }
}
