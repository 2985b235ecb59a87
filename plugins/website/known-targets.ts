/**
 * What URLs of a website mean, for those that were asked for lately: for as long as the website is as it is, nothing of it changes. What may
 * change, such as access and the object itself, is decided for each request.
 */
import type { CacheRequest, PlacedPolicy } from 'svc/plugins/cache/api'
import type { ReadyBehavior } from './behaviors.ts'
import type { SiteObject } from './resolution.ts'
import type { Target } from './target.ts'

export interface KnownTarget {
  readonly target: Target
  readonly behavior: ReadyBehavior
  /** The object that was read from the bucket last. */
  object: SiteObject | undefined
  /** The last request to the cache. */
  asked: AskedCache | undefined
}

/** How the cache is asked, for a host and by a policy. */
export interface AskedCache {
  readonly host: string
  readonly policy: PlacedPolicy
  readonly key: CacheRequest['key']
  readonly kept: { id?: string }
}

/** Maximum number of targets in this thread, for all websites. Each takes about 1 KiB. */
const knownMax = 4096
/** Longer ones would take more memory than they save time. */
const urlCharsMax = 512

let known = new WeakMap<object, Map<string, KnownTarget>>()
let count = 0

/** `site`: what is made anew when the website changes. `read` may throw. */
export function knownTarget(
  site: object,
  url: string,
  read: () => Pick<KnownTarget, 'target' | 'behavior'>,
): KnownTarget {
  return known.get(site)?.get(url) ?? remember(site, url, { ...read(), object: undefined, asked: undefined })
}

function remember(site: object, url: string, target: KnownTarget): KnownTarget {
  if (url.length > urlCharsMax) return target
  if (count >= knownMax) {
    known = new WeakMap()
    count = 0
  }
  let ofSite = known.get(site)
  if (ofSite === undefined) {
    ofSite = new Map()
    known.set(site, ofSite)
  }
  ofSite.set(url, target)
  count++
  return target
}
