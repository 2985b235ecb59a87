/** Modes of distributions that answer through the cache: how they would ask it, and how they fill it. */
import type { Distribution } from 'svc/plugins/distributions/api'
import type { PlacedPolicy } from '../settings/configuration.ts'
import type { CacheRequest, RequestHeaders } from './answers.ts'

/** A URL as a visitor would send it. */
export interface InspectedRequest {
  readonly distribution: Distribution
  readonly alias: string
  /** Host without port. */
  readonly host: string
  /** Path and query, as they stand in a URL. */
  readonly target: string
  readonly headers: RequestHeaders
}

export interface InspectedSite {
  /** Decoded. */
  readonly path: string
  readonly behavior: number
  readonly bucket: string
  /** The key that the path names; the answer may be an index document or a fallback instead. */
  readonly key: string
  readonly policy: PlacedPolicy
  readonly cacheControl: string
  readonly request: CacheRequest
}

export interface WarmPlace {
  readonly distribution: Distribution
  readonly alias: string
  readonly host: string
  readonly headers: RequestHeaders
}

/**
 * The outcome for one target: it is in the cache now (`fetched`), was there before (`hit`), is not for the cache (`skipped`), or cannot be read
 * (`failed`).
 */
export interface WarmOutcome {
  readonly result: 'fetched' | 'hit' | 'skipped' | 'failed'
  /** Status of HTTP; 0 if there is none. */
  readonly status: number
  readonly bytes: number
  /** A message without subject; empty if the page is in the cache. */
  readonly message: string
}

/** A contribution to `cache.site`: a mode of distributions that answers through the cache. Its id is the mode. */
export interface CacheSite {
  /** The request that the site would send to the cache. Undefined: it would refuse the path. */
  inspect(asked: InspectedRequest): Promise<InspectedSite | undefined>
  /** Fetches all of these paths and queries at once into the cache of this thread. They are written as in URLs. */
  warm(place: WarmPlace, targets: readonly string[]): Promise<readonly WarmOutcome[]>
}
