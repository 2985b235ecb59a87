/**
 * Tells what the cache would do with a request, and what every thread has for it. Reads nothing from the origin, and does not count as a use of
 * memory.
 */
import type { MaybePromise, Point, Threads } from 'svc/kernel'
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import type { CacheRequest, CacheSite, InspectedSite, RequestHeaders } from '../api.ts'
import { blockId, type Memory } from '../engine/memory.ts'
import { idOf, isBypassed, keyOf } from '../engine/requests.ts'
import { ageMs, findVariant, freshForMs, type Variant } from '../engine/variant.ts'
import { cacheErrors, invalidRequest } from '../errors.ts'
import type { Tiers } from '../tiers/tiers.ts'

export interface InspectRequest {
  /** An absolute URL, or a path of `distribution`. */
  readonly url: string
  readonly distribution: string | undefined
  readonly headers: RequestHeaders
}

export interface EntryFacts {
  readonly present: boolean
  readonly tier: string
  readonly kind: string
  readonly ageSeconds: number
  readonly expiresInSeconds: number
  readonly stale: boolean
  readonly sizeBytes: number
  readonly etag: string
  readonly encodings: readonly string[]
  readonly blocks: number
}

interface Asked {
  readonly id: string
  readonly headers: RequestHeaders
  readonly blockSize: number
}

export interface InspectOptions {
  readonly threads: Threads
  readonly distributions: DistributionsService | undefined
  readonly sites: Point<CacheSite>
  readonly memory: Memory
  readonly tiers: Tiers
  readonly now: () => number
  readonly current: () => MaybePromise<void>
}

const message = 'cache.inspect'

/** Values of websites have the ETag of their object. */
function etagOf(value: unknown): string {
  return (value as { readonly object?: { readonly etag?: string } } | undefined)?.object?.etag ?? ''
}

export interface Inspected {
  readonly distribution: Distribution
  readonly host: string
  readonly alias: string
  readonly site: InspectedSite
  readonly key: string
  readonly bypass: boolean
  readonly reason: string
  readonly entry: EntryFacts | undefined
}

export function createInspect({ threads, distributions, sites, memory, tiers, now, current }: InspectOptions) {
  async function entryOf({ id, headers, blockSize }: Asked): Promise<EntryFacts | undefined> {
    await current()
    const variant = findVariant(memory.peek(id), headers)
    if (variant === undefined) return undefined
    return factsOf(variant, blockSize, 'memory', block => memory.hasBlock(block))
  }

  /** The entry in the tiers, which all threads share. Counts as a use there. */
  async function tierEntryOf({ id, blockSize }: Asked): Promise<EntryFacts | undefined> {
    const found = await tiers.entry(id)
    if (found === undefined) return undefined
    return factsOf(found.value, blockSize, found.source, async block => (await tiers.tierOfAll([block])) !== undefined)
  }

  async function factsOf(
    variant: Variant,
    blockSize: number,
    tier: string,
    hasBlock: (id: string) => MaybePromise<boolean>,
  ): Promise<EntryFacts> {
    const nowMs = now()
    const freshMs = freshForMs(variant, nowMs)
    const identity = variant.record?.identity ?? ''
    const count = variant.body === undefined ? Math.ceil(variant.sizeBytes / blockSize) : 0
    const blocks = Array.from({ length: count }, (_, block) => blockId('block', identity, blockSize, block))
    return {
      present: true,
      tier,
      kind: variant.status === 404 ? 'missing' : 'object',
      ageSeconds: Math.floor(ageMs(variant, nowMs) / 1000),
      expiresInSeconds: Math.floor(freshMs / 1000),
      stale: freshMs <= 0,
      sizeBytes: variant.sizeBytes,
      etag: variant.etag ?? etagOf(variant.record?.value),
      encodings: ['br', 'zstd', 'gzip'].filter(form => memory.hasBlock(blockId('form', identity, form))),
      blocks: (await Promise.all(blocks.map(hasBlock))).filter(Boolean).length,
    }
  }

  threads.handle(message, entryOf)

  async function placeOf({ url, distribution: id }: InspectRequest) {
    const isAbsolute = /^https?:\/\//i.test(url)
    const parsed = isAbsolute ? URL.parse(url) : undefined
    if (parsed === null) throw invalidRequest('query/url', 'is no URL')
    if (!isAbsolute && !url.startsWith('/')) throw invalidRequest('query/url', 'is no http(s) URL, and no path')
    if (parsed !== undefined) {
      const found = await distributions?.find(parsed.host)
      const isOther = id !== undefined && found?.distribution.id !== id
      if (found === undefined || isOther)
        throw cacheErrors.distribution_not_found(`No distribution has the host ${parsed.hostname}.`)
      return { ...found, host: parsed.hostname, target: parsed.pathname + parsed.search }
    }
    if (id === undefined)
      throw invalidRequest('query/distribution', 'is missing: a path has to be one of a distribution')
    const distribution = await distributions?.get(id)
    const alias = distribution?.aliases.find(name => !name.startsWith('*')) ?? distribution?.aliases[0]
    if (distribution === undefined || alias === undefined) throw cacheErrors.distribution_not_found()
    return { distribution, alias, host: alias, target: url }
  }

  return async function inspect(asked: InspectRequest): Promise<Inspected> {
    const place = await placeOf(asked)
    const { distribution, host, alias } = place
    const mode = sites.list().find(({ id }) => id === distribution.mode)?.value
    const site = await mode?.inspect({ ...place, headers: asked.headers })
    if (site === undefined) throw invalidRequest('query/url', 'is of a distribution or a path that is never cached')
    const { request } = site
    const id = idOf(request)
    const blockSize = request.policy.policy.rangeCaching.blockSize
    const question: Asked = { id, headers: asked.headers, blockSize }
    const inMemory = [await entryOf(question), ...(await threads.callOthers<EntryFacts | undefined>(message, question))]
    const isInMemory = inMemory.some(one => one !== undefined)
    const entries = isInMemory ? inMemory : [await tierEntryOf(question)]
    const bypass = isBypassed(request)
    return {
      distribution,
      host,
      alias,
      site,
      key: keyOf(request).text,
      bypass,
      reason: bypass ? reasonOf(request) : '',
      // Each thread has a memory of its own: the entry that is fresh longest is shown.
      entry: entries
        .filter(one => one !== undefined)
        .sort((a, b) => b.expiresInSeconds - a.expiresInSeconds)
        .at(0),
    }
  }
}

function reasonOf({ policy, headers }: CacheRequest): string {
  if (!policy.enabled) return 'disabled'
  if (policy.policy.bypass.always) return 'policy'
  return headers.authorization !== undefined ? 'authorization' : 'rule'
}
