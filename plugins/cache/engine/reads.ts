/** Reads answers that memory lacks or has to confirm: from the tiers behind it, and from origins. Stores those that may be stored. */
import { type Clock, isCatalogError, type Logger } from 'svc/kernel'
import type { CacheLookup, CacheResult, OriginAnswer } from '../api.ts'
import { isStorable } from '../policy/freshness.ts'
import type { FoundIn } from '../tiers/tiers.ts'
import { drained } from './body.ts'
import type { Generations } from './generations.ts'
import { conditions, endToEnd, joined, originHeaders } from './headers.ts'
import { originLookup, storedLookup, type Visit } from './lookups.ts'
import type { BlockContext } from './object-body.ts'
import { createRefresh, type Refresh } from './refreshing.ts'
import { authorizationOf, isFreshFor, validatorsOf, withoutConditions } from './requests.ts'
import { type Received, receive, renewedRecord, type Times } from './storing.ts'
import type { Validity } from './validity.ts'
import { type Entry, freshForMs, renewVariant, type Variant, withVariant } from './variant.ts'

/**
 * Counts requests to origins. `fill`: the answer was `stored`, or `passed` (not kept), or the request `failed`. `confirm`: the origin has the `same`
 * answer, or an `other` one, or the request `failed`.
 */
export interface OriginCounts {
  fill(result: 'stored' | 'passed' | 'failed'): void
  confirm(result: 'same' | 'other' | 'failed'): void
}

/** Most reads that are under way at once. */
const readsMax = 4096
const failures: ReadonlySet<number> = new Set([500, 502, 503, 504])
export const confirmedDetail = 'svc; fwd=stale; fwd-status=304'
const noCounts: OriginCounts = { fill() {}, confirm() {} }

export interface ReadsOptions {
  readonly context: BlockContext
  readonly validity: Validity
  readonly generations: Generations
  readonly clock: Clock
  readonly log: Logger
  readonly counts?: OriginCounts | undefined
}

export class Reads {
  readonly #context: BlockContext
  readonly #validity: Validity
  readonly #generations: Generations
  readonly #clock: Clock
  readonly #counts: OriginCounts
  readonly #refresh: Refresh
  #readCount = 0

  constructor({ context, validity, generations, clock, log, counts = noCounts }: ReadsOptions) {
    this.#context = context
    this.#validity = validity
    this.#generations = generations
    this.#clock = clock
    this.#counts = counts
    this.#refresh = createRefresh(clock, log)
  }

  /** True: `readsMax` reads are under way, so requests bypass the cache. */
  get areTooMany(): boolean {
    return this.#readCount >= readsMax
  }

  /** Takes the answer of a tier, if it needs no confirmation or the origin confirms it; otherwise that of the origin. */
  async read(visit: Visit, variant: Variant | undefined): Promise<CacheLookup> {
    const { id, origin, asked } = visit
    if (variant !== undefined || this.#context.tiers.isEmpty || origin.hasObjects !== true)
      return this.#readOrigin(visit, variant)
    const generation = this.#generations.of(id)
    const found = await this.#behind(visit)
    if (found === undefined) return this.#readOrigin(visit, undefined)
    const { value, source } = found
    // True only if `autoInvalidate` is off: fences of answers from tiers never hold.
    const isUsable = this.#validity.isCurrent(visit, value) && isFreshFor(value, asked, this.#clock.now())
    if (!isUsable || asked.names.has('no-cache') || generation !== this.#generations.of(id))
      return this.#readOrigin(visit, value, source)
    this.#context.memory.put(id, value, visit.request.policy.quota)
    return this.#stored(visit, value, 'HIT', undefined, source)
  }

  /** The variant that a tier has for the request, unless it was purged. */
  async #behind({ id, request }: Visit): Promise<FoundIn<Variant> | undefined> {
    const found = await this.#context.tiers.entry(id)
    if (found === undefined) return undefined
    const { value } = found
    // It was received in the future: the clock was set back, so its age is unknown.
    if (value.receivedMs <= this.#clock.now() && !this.#validity.isPurged(request, value)) return found
    this.#context.tiers.delete(id)
    return undefined
  }

  /**
   * Reads from the origin, with the validators of the stored answer, and stores the answer if it may be stored. `source`: the tier that `variant` is
   * from, if memory lacks it.
   */
  async #readOrigin(visit: Visit, variant: Variant | undefined, source?: string): Promise<CacheLookup> {
    const { request, origin } = visit
    const requestedMs = this.#clock.now()
    const generation = this.#generations.of(visit.id)
    const purgeSequence = this.#validity.purges.sequence
    const mayBeStale = () =>
      variant !== undefined &&
      freshForMs(variant, this.#clock.now()) + variant.staleIfErrorMs > 0 &&
      this.#validity.isCurrent(visit, variant)
    // Without an entry a range is passed on to the origin; conditions are not, they are answered from the whole answer.
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
      const mayPut = () => generation === this.#generations.of(visit.id)
      if (variant !== undefined) {
        const confirmed = await this.#confirmed(visit, { variant, source }, answer, times, mayPut)
        this.#counts.confirm(confirmed === undefined ? 'other' : 'same')
        if (confirmed !== undefined) return confirmed
      }
      // A fresh object that was replaced is a miss, not an expired answer.
      const isMiss = variant === undefined || (variant.record !== undefined && freshForMs(variant, requestedMs) > 0)
      const received = await this.#receive(visit, answer, times, variant, mayPut)
      this.#counts.fill(received.isStored ? 'stored' : 'passed')
      return originLookup(this.#context, visit, received, isMiss ? 'MISS' : 'EXPIRED')
    } catch (error) {
      if (variant === undefined) this.#counts.fill('failed')
      else this.#counts.confirm('failed')
      if (variant === undefined || !mayBeStale() || (isCatalogError(error) && error.status < 500)) throw error
      return this.#stored(visit, variant, 'STALE')
    } finally {
      this.#readCount--
    }
  }

  /** The stored answer, if the origin confirms it; otherwise undefined. */
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
        this.#context.memory.put(
          visit.id,
          withVariant(this.#context.memory.peek(visit.id), variant),
          request.policy.quota,
        )
      return this.#stored(visit, variant, 'HIT', undefined, source)
    }
    const lines = endToEnd(answer.headers)
    // If the new fences have not settled, the old ones are kept, and the entry is confirmed again at its next use.
    const kept = record ?? variant.record
    const { variant: renewed, lifetime } = renewVariant(variant, lines, times, policy, kept)
    const head = { status: renewed.status, headers: joined(renewed.record === undefined ? renewed.lines : lines) }
    const entry = withVariant(this.#context.memory.peek(visit.id), renewed, variant)
    if (mayPut() && isStorable(head, lifetime, authorizationOf(request)))
      this.#context.memory.put(visit.id, entry, request.policy.quota)
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
    const { received, stored, isShareable } = await receive(
      request,
      policy,
      answer,
      times,
      this.#context.unfinished,
      isRefused,
    )
    if (stored === undefined || !mayPut()) {
      // The stored answer is outdated, and the new one is not stored.
      if (variant !== undefined && answer.status < 500) {
        this.#context.memory.delete(id)
        this.#context.tiers.delete(id)
      }
      if (!isShareable && request.headers.range === undefined) this.#context.collapsing.markUnshared(id)
      return { ...received, isStored: false }
    }
    this.#context.collapsing.markShared(id)
    const entry: Entry = withVariant(this.#context.memory.peek(id), stored, variant)
    this.#context.tiers.putEntry(id, stored)
    return { ...received, kept: stored.record, isStored: this.#context.memory.put(id, entry, request.policy.quota) }
  }

  readLater(visit: Visit, variant: Variant): void {
    if (this.#readCount >= readsMax) return
    const request = { ...visit.request, method: 'GET', headers: withoutConditions(visit.request.headers) }
    this.#refresh(visit.id, async () => {
      const { result, body } = await this.read({ ...visit, request }, variant)
      if (body !== undefined && !Buffer.isBuffer(body) && !('open' in body)) await drained(body)
      return result !== 'STALE'
    })
  }

  #stored(visit: Visit, variant: Variant, result: CacheResult, detail?: string, source?: string): CacheLookup {
    return storedLookup(this.#context, visit, variant, result, this.#clock.now(), detail, source)
  }
}
