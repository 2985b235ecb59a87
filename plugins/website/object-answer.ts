/** From an object to the answer: headers, conditions, the form of the body, its range. */
import type { Visit } from 'svc/plugins/distributions/api'
import type { ObjectData } from 'svc/plugins/objects/api'
import { type Coding, codedEtag, startCompression } from 'svc/plugins/payload/api'
import { httpDate, quoteEtag } from 'svc/plugins/s3/api'
import { send } from './answer.ts'
import type { ReadyBehavior } from './behaviors.ts'
import { ReplacedObject } from './cached-site.ts'
import { chooseForm, collect } from './coding.ts'
import { checkConditions, chooseRange, notModifiedEtag, type Validators } from './conditions.ts'
import { contentTypeOf } from './content-types.ts'
import type { Found } from './origin.ts'
import { WebRefusal } from './refusal.ts'
import type { SiteObject } from './resolution.ts'
import { AnswerHeaders, keepFromSharedCaches } from './response-headers.ts'
import { corsOf, type SiteHeaders } from './site-headers.ts'

export interface ObjectAnswer {
  readonly visit: Visit
  readonly behavior: ReadyBehavior
  readonly object: SiteObject
  readonly found: Found
  /** The request names this version. */
  readonly isPinned: boolean
  /** `Cache-Control` for clients, of the policy. */
  readonly browserCacheControl: string
}

/** Whether the answer has no body, whatever its length. */
export const isBodiless = ({ exchange, rehearsal }: Visit): boolean =>
  exchange.request.method === 'HEAD' || rehearsal !== undefined

export function createObjectAnswers(site: SiteHeaders, showsVersions: boolean) {
  return async function answerObject(answer: ObjectAnswer): Promise<void> {
    const { visit, behavior, object, found } = answer
    visit.key = object.key
    if (object.isSealed) throw new WebRefusal(403, 'customer_key')
    const headers = headersOf(answer, site, showsVersions)
    const more = [...corsOf(visit, behavior)]
    const { websiteRedirectLocation: elsewhere } = object.system
    if (elsewhere !== undefined) return redirect(visit, elsewhere, headers, more)
    const { headers: asked } = visit.exchange.request
    const etag = quoteEtag(object.etag)
    const { sizeBytes } = object
    const { varies, coding } = chooseForm(asked, headers, sizeBytes)
    const validators: Validators = { etag, modifiedMs: object.modifiedMs, varies }
    if (varies) more.push('Vary', 'Accept-Encoding')
    const condition = checkConditions(asked, validators)
    if (condition === 412) throw new WebRefusal(412)
    if (condition === 304) {
      headers.apply([['Content-Type', '']])
      headers.set('ETag', notModifiedEtag(asked, validators, coding === undefined ? etag : codedEtag(etag, coding)))
      return send(visit, { status: 304, headers, more, data: undefined, sizeBytes: 0 })
    }
    if (coding !== undefined && (await sendCompressed(answer, coding, headers, more))) return
    const range = chooseRange(asked, validators, sizeBytes)
    if (range === 'unsatisfiable') throw new WebRefusal(416, undefined, [['Content-Range', `bytes */${sizeBytes}`]])
    if (range !== undefined) {
      headers.set('Content-Range', `bytes ${range.start}-${range.start + range.length - 1}/${sizeBytes}`)
    }
    const start = range?.start ?? 0
    const length = range?.length ?? sizeBytes
    const data = isBodiless(visit) ? undefined : await openedOf(visit, headers, found, start, length)
    return send(visit, { status: range === undefined ? 200 : 206, headers, more, data, sizeBytes: length })
  }
}

/** Bytes that the cache has only in part make the answer a `MISS`. */
async function openedOf(
  visit: Visit,
  headers: AnswerHeaders,
  { bytes }: Found,
  start: number,
  length: number,
): Promise<ObjectData> {
  const opened = await bytes.open(start, length)
  if (opened === undefined) throw new ReplacedObject()
  if (!opened.isCached && visit.cache !== 'BYPASS') {
    if (visit.cache === 'HIT') headers.set('Cache-Status', 'svc; fwd=miss')
    if (visit.cache === 'HIT') visit.cache = 'MISS'
    headers.set('X-Cache', visit.cache)
  }
  return opened.data
}

function redirect(visit: Visit, elsewhere: string, headers: AnswerHeaders, more: readonly string[]): Promise<void> {
  for (const name of ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Type', 'Content-Encoding'])
    headers.apply([[name, '']])
  headers.set('Location', locationOf(elsewhere))
  return send(visit, { status: 301, headers, more, data: undefined, sizeBytes: 0 })
}

/** False where the stored form has to be sent: it is no larger, or too many others are being compressed. */
async function sendCompressed(
  { visit, object, found }: ObjectAnswer,
  coding: Coding,
  headers: AnswerHeaders,
  more: readonly string[],
): Promise<boolean> {
  const { sizeBytes } = object
  const isHead = isBodiless(visit)
  const bytes = isHead
    ? undefined
    : await found.bytes.form(coding, async read => {
        const job = startCompression(coding)
        if (job === undefined) return null
        try {
          const coded = await job.run(await collect(await read()))
          return coded.length < sizeBytes ? coded : undefined
        } finally {
          job.cancel()
        }
      })
  if (!isHead && bytes === undefined) return false
  headers.set('Content-Encoding', coding)
  headers.set('ETag', codedEtag(quoteEtag(object.etag), coding))
  headers.apply([['Accept-Ranges', '']])
  const data = bytes && ({ kind: 'whole', bytes } as const)
  await send(visit, { status: 200, headers, more, data, sizeBytes: bytes?.length })
  return true
}

function headersOf(
  { visit, behavior, object, isPinned, browserCacheControl }: ObjectAnswer,
  site: SiteHeaders,
  showsVersions: boolean,
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
  site.add(headers, visit, behavior)
  headers.set('Cache-Control', behavior.cacheControl)
  keepFromSharedCaches(headers, behavior.access)
  headers.set('Accept-Ranges', 'bytes')
  headers.set('ETag', quoteEtag(object.etag))
  headers.set('Last-Modified', httpDate(object.modifiedMs))
  headers.set('X-Cache', visit.cache)
  for (const [name, value] of visit.cacheHeaders) headers.set(name, value)
  if (showsVersions) headers.set('x-amz-version-id', object.versionId)
  return headers
}

/** A path, or http(s)://; a path of several slashes would be another host. */
function locationOf(location: string): string {
  const safe = location.startsWith('/') ? location.replace(/^[/\\]+/, '/') : location
  return safe.replaceAll(
    /[^\x21-\x7e]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
