/** The headers of an answer with an object. Those that only the object and the settings decide are made once, as long as the cache has it. */
import type { Visit } from 'svc/plugins/distributions/api'
import { type HeaderBlock, headerBlock } from 'svc/plugins/http/api'
import { httpDate, quoteEtag } from 'svc/plugins/s3/api'
import type { ReadyBehavior } from './behaviors.ts'
import { isCodable } from './coding.ts'
import { contentTypeOf } from './content-types.ts'
import type { Found } from './origin.ts'
import type { SiteObject } from './resolution.ts'
import { AnswerHeaders, type HeaderChange, keepFromSharedCaches } from './response-headers.ts'
import type { SiteHeaders } from './site-headers.ts'

export interface ObjectAnswer {
  readonly visit: Visit
  readonly behavior: ReadyBehavior
  readonly object: SiteObject
  readonly found: Found
  /** Nobody else may have it. */
  readonly isPrivate: boolean
  /** The request names this version. */
  readonly isPinned: boolean
  /** `Cache-Control` for clients, of the policy. */
  readonly browserCacheControl: string
}

/** An answer with the headers that carry its tags to caches in front. */
export type TaggedAnswer = ObjectAnswer & { readonly tagged: readonly HeaderChange[] }

/** The behavior and the other inputs of the headers, beside the object. */
interface Prepared {
  readonly behavior: ReadyBehavior
  readonly secure: boolean
  readonly isPinned: boolean
  readonly browserCacheControl: string
  /** Changes with the webhooks. */
  readonly tags: string
  readonly headers: AnswerHeaders
  /** They depend on `Accept-Encoding`. */
  readonly varies: boolean
  /** The headers of answers with the whole object as it is stored; undefined if they cannot be reused. */
  readonly block: HeaderBlock | undefined
}

/** About 2 KiB each. */
const preparedMax = 2048
/** Prepared headers of this thread, for all websites. The cache returns the same object as long as it keeps it; each change makes new behaviors. */
const prepared = new Map<SiteObject, Prepared>()

export function objectHeaders(answer: TaggedAnswer, site: SiteHeaders, showsVersions: boolean): AnswerHeaders {
  const { visit, object } = answer
  const headers = answer.found.isKept ? new AnswerHeaders(preparedOf(answer, site).headers) : headersOf(answer, site)
  if (visit.cache !== '') headers.set('X-Cache', visit.cache)
  for (const [name, value] of visit.cacheHeaders) headers.set(name, value)
  if (showsVersions) headers.set('x-amz-version-id', object.versionId)
  return headers
}

export interface ReadyHeaders {
  /** The answer depends on `Accept-Encoding`. */
  readonly varies: boolean
  readonly block: HeaderBlock
}

/** The headers of the whole object as it is stored, without `X-Cache` and its companions. Undefined if they are not kept. */
export function readyHeaders(answer: TaggedAnswer, site: SiteHeaders): ReadyHeaders | undefined {
  if (!answer.found.isKept) return undefined
  const found = preparedOf(answer, site)
  return found.block === undefined ? undefined : (found as ReadyHeaders)
}

/** A header that each answer sets anew, and operators may set, too. */
const blockOf = (headers: AnswerHeaders, varies: boolean): HeaderBlock | undefined =>
  headers.get('Cache-Status') === undefined ? headerBlock([...headers.list(), ...(varies ? varying : [])]) : undefined

export const varying: readonly string[] = ['Vary', 'Accept-Encoding']

function preparedOf(answer: TaggedAnswer, site: SiteHeaders): Prepared {
  const { visit, behavior, object, isPinned, browserCacheControl, tagged } = answer
  const { secure } = visit.exchange
  const tags = tagged.length === 0 ? '' : JSON.stringify(tagged)
  const found = prepared.get(object)
  if (
    found !== undefined &&
    found.behavior === behavior &&
    found.secure === secure &&
    found.isPinned === isPinned &&
    found.browserCacheControl === browserCacheControl &&
    found.tags === tags
  )
    return found
  const headers = headersOf(answer, site)
  const varies = isCodable(headers)
  const block = blockOf(headers, varies)
  const made = { behavior, secure, isPinned, browserCacheControl, tags, headers, varies, block }
  if (prepared.size >= preparedMax) prepared.clear()
  prepared.set(object, made)
  return made
}

function headersOf(
  { visit, behavior, object, isPinned, browserCacheControl, tagged }: TaggedAnswer,
  site: SiteHeaders,
): AnswerHeaders {
  const headers = new AnswerHeaders()
  const { system, key } = object
  headers.set('Content-Type', contentTypeOf(key, system.contentType))
  headers.set('Content-Encoding', system.contentEncoding)
  headers.set('Content-Language', system.contentLanguage)
  headers.set('Content-Disposition', system.contentDisposition)
  headers.set('Expires', system.expires)
  headers.set('Cache-Control', isPinned ? 'public, max-age=31536000, immutable' : system.cacheControl)
  if (browserCacheControl !== '') headers.set('Cache-Control', browserCacheControl)
  headers.apply(tagged)
  site.add(headers, visit, behavior)
  headers.set('Cache-Control', behavior.cacheControl)
  keepFromSharedCaches(headers, behavior.access)
  headers.set('Accept-Ranges', 'bytes')
  headers.set('ETag', quoteEtag(object.etag))
  headers.set('Last-Modified', httpDate(object.modifiedMs))
  return headers
}
