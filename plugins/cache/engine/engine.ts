/**
 * Serves requests from stored answers, or from their origin. It knows HTTP, and neither websites nor buckets.
 *
 * - A small answer is stored whole, in the entry of its key, one variant for each combination of the fields that `Vary` names. Larger objects are
 *   kept in blocks beside their entry; a larger answer that can only be read as a stream passes through.
 * - One read of a key at a time: requests that come meanwhile wait for it at most 5 s. They do not wait if answers of the key cannot be shared.
 * - An answer with fences (`fence/fences.ts`) is used only while they hold (unless `autoInvalidate` is off). If they do not hold, the origin is
 *   asked for its present answer: if the identity is the same, the stored answer gets new fences; if not, it is replaced.
 * - An unsafe request that succeeds drops the entry of its address, and of those in `Location` and `Content-Location` of the same host. Reads that
 *   began before it store nothing.
 *
 * Source: RFC 9111, RFC 5861, RFC 9211.
 */
import { type Clock, chain, type Logger, type MaybePromise } from 'svc/kernel'
import type { CacheAnswer, CacheLookup, CacheOrigin, CacheRequest } from '../api.ts'
import { noDirectives, parseCacheControl } from '../policy/directives.ts'
import { noTiers, type Tiers } from '../tiers/tiers.ts'
import { answerOf } from './answer.ts'
import { drained } from './body.ts'
import { type Collapsing, createCollapsing } from './collapsing.ts'
import { Generations } from './generations.ts'
import { endToEnd, joined, originHeaders } from './headers.ts'
import { notCached, originLookup, storedLookup, type Visit } from './lookups.ts'
import { createMemory, type Memory } from './memory.ts'
import { confirmedDetail, type OriginCounts, Reads } from './reads.ts'
import { askedOf, idOf, isBypassed, isFreshFor, isSafe, keyOf } from './requests.ts'
import type { Holds } from './storing.ts'
import { type Purges, Validity } from './validity.ts'
import { confirm, findVariant, freshForMs, isNeverFresh, renewVariant, type Variant, withVariant } from './variant.ts'

export interface EngineOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Budget of this thread. */
  readonly budgetBytes: number
  /** This thread's share of quotas, which are for all threads. */
  readonly quotaShare?: number
  /** Whether fences still hold. */
  readonly holds?: Holds
  /** The purges that stored answers are compared with. */
  readonly purges?: Purges
  /** Tiers behind the memory. */
  readonly tiers?: Tiers
  readonly counts?: OriginCounts
}

/** Limit of the bytes of unfinished answers and blocks; beyond it answers pass through and are not stored. */
const unfinishedBytesMax = 64 * 1024 * 1024

export class CacheEngine {
  readonly #clock: Clock
  readonly #validity: Validity
  readonly #generations = new Generations()
  readonly #reads: Reads
  readonly memory: Memory
  readonly tiers: Tiers
  readonly collapsing: Collapsing
  readonly unfinished = { bytes: 0, bytesMax: unfinishedBytesMax }

  constructor({ clock, log, budgetBytes, quotaShare, holds, purges, tiers = noTiers, counts }: EngineOptions) {
    this.#clock = clock
    this.#validity = new Validity(holds, purges)
    this.memory = createMemory(budgetBytes, quotaShare)
    this.tiers = tiers
    this.collapsing = createCollapsing(clock)
    const shared = { context: this, validity: this.#validity, generations: this.#generations }
    this.#reads = new Reads({ ...shared, clock, log, counts })
  }

  /** Like `lookup`, but also applies conditions and ranges: for origins whose answers are lines and bytes. */
  serve(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheAnswer> {
    return chain(this.lookup(request, origin), found => answerOf(request, found, this.#clock.now()))
  }

  /** Returns a hit without a promise, unless new purges have to be read first. */
  lookup(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheLookup> {
    const { method } = request
    if (method !== 'GET' && method !== 'HEAD') return this.#pass(request, origin)
    if (isBypassed(request) || this.#reads.areTooMany) return this.#pass(request, origin)
    return chain(this.#validity.purges.current(), () => this.#lookup(request, origin))
  }

  #lookup(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheLookup> {
    const { method, headers, policy } = request
    const asked = request.honorsDirectives ? parseCacheControl(askedOf(headers)) : noDirectives
    const visit: Visit = { request, origin, policy: policy.policy, id: idOf(request), asked }
    const variant = this.#find(visit)
    const nowMs = this.#clock.now()
    const { names } = asked
    if (variant !== undefined && !names.has('no-cache') && this.#validity.isCurrent(visit, variant)) {
      if (isFreshFor(variant, asked, nowMs)) return storedLookup(this, visit, variant, 'HIT', nowMs)
      if (freshForMs(variant, nowMs) + variant.staleWhileRevalidateMs > 0 && asked.maxAge === undefined) {
        this.#reads.readLater(visit, variant)
        return storedLookup(this, visit, variant, 'STALE', nowMs)
      }
      if (isNeverFresh(variant) && names.size === 0 && this.#validity.isUntouched(visit, variant)) {
        confirm(variant, nowMs)
        return storedLookup(this, visit, variant, 'REVALIDATED', nowMs, confirmedDetail)
      }
    }
    if (names.has('only-if-cached')) return notCached
    const isUnknown = variant === undefined || variant.record === undefined
    return method === 'HEAD' && isUnknown ? this.#head(visit, variant) : this.#get(visit, variant)
  }

  /** The variant that is stored for the request, unless it was purged. */
  #find({ id, request }: Visit): Variant | undefined {
    const variant = findVariant(this.memory.entry(id), request.headers)
    return variant === undefined || this.#validity.isPurged(request, variant) ? undefined : variant
  }

  /** Passes the request to the origin, and neither reads nor stores an answer. An unsafe request that succeeds drops entries. */
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
      this.#drop(keyOf({ ...request, key }).id)
    }
  }

  #drop(id: string): void {
    this.#generations.raise(id)
    this.memory.delete(id)
    this.tiers.delete(id)
  }

  /** Sends a HEAD to the origin. If its validators and length are those of the stored answer, they renew it; otherwise the entry is dropped. */
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
      const times = { requestedMs, receivedMs: this.#clock.now(), purgeSequence: this.#validity.purges.sequence }
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
      // Fences that hold now held when that read began: its answer has every change that was acknowledged before this request.
      if (found !== undefined && freshForMs(found, this.#clock.now()) > 0 && this.#validity.isCurrent(visit, found)) {
        if (found !== variant)
          return storedLookup(this, visit, found, 'MISS', this.#clock.now(), 'svc; fwd=miss; collapsed')
        if (found.record !== undefined) return storedLookup(this, visit, found, 'HIT', this.#clock.now())
      }
    }
    const read = this.#reads.read(visit, variant)
    if (!isAlone) this.collapsing.run(id, read)
    return read
  }

  /** Whether a range is requested from an origin without objects: without an entry, such an origin is asked for the range alone. */
  #isRangeOfLines({ request, origin }: Visit): boolean {
    return request.headers.range !== undefined && origin.hasObjects !== true
  }
}
