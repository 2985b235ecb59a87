/** From an object to the answer: headers, conditions, the form of the body, its range. */
import { chain, type MaybePromise } from 'svc/kernel'
import { type OpenedObject, ReplacedObject } from 'svc/plugins/cache/api'
import type { Visit } from 'svc/plugins/distributions/api'
import type { ObjectData } from 'svc/plugins/objects/api'
import { type Coding, codedEtag, startCompression } from 'svc/plugins/payload/api'
import { quoteEtag } from 'svc/plugins/s3/api'
import { send, sendReady } from './answer.ts'
import { codingFor, collect, isCodable } from './coding.ts'
import { checkConditions, chooseRange, notModifiedEtag, type Validators } from './conditions.ts'
import {
  type ObjectAnswer,
  objectHeaders,
  type ReadyHeaders,
  readyHeaders,
  type TaggedAnswer,
  varying,
} from './object-headers.ts'
import type { FormMaker } from './origin.ts'
import { WebRefusal } from './refusal.ts'
import type { AnswerHeaders, HeaderChange } from './response-headers.ts'
import { corsOf, type SiteHeaders } from './site-headers.ts'

/** Whether the answer has no body, whatever its length. */
export const isBodiless = ({ exchange, rehearsal }: Visit): boolean =>
  exchange.request.method === 'HEAD' || rehearsal !== undefined

const untagged: readonly HeaderChange[] = []

export function createObjectAnswers(site: SiteHeaders, showsVersions: boolean) {
  return function answerObject(answer: ObjectAnswer): MaybePromise<void> {
    // What nobody else may have is in no cache in front.
    const tagged = answer.isPrivate ? untagged : site.tagged(answer.object.tags)
    return chain(tagged, changes => answerTagged({ ...answer, tagged: changes }))
  }

  /** Ready headers for the most frequent answer, the whole object as it is stored. Undefined for other answers. */
  function readyFor(answer: TaggedAnswer): ReadyHeaders | undefined {
    const { visit, behavior, object } = answer
    if (!wantsWhole(visit) || behavior.cors !== undefined || showsVersions) return undefined
    if (object.system.websiteRedirectLocation !== undefined) return undefined
    const ready = readyHeaders(answer, site)
    const asked = visit.exchange.request.headers
    return ready && codingFor(asked, ready.varies, object.sizeBytes) === undefined ? ready : undefined
  }

  function sendWhole(answer: TaggedAnswer, { block, varies }: ReadyHeaders): MaybePromise<void> {
    const { visit, found, object } = answer
    const { sizeBytes } = object
    return chain(found.bytes.open(0, sizeBytes), opened => {
      if (opened?.data.kind === 'whole' && opened.isCached) {
        visit.cacheSource = opened.source
        return sendReady(visit, block, cacheLines(visit), opened.data.bytes)
      }
      const headers = objectHeaders(answer, site, showsVersions)
      const data = noteOpened(visit, headers, opened)
      return send(visit, { status: 200, headers, more: varies ? varying : [], data, sizeBytes })
    })
  }

  function answerTagged(answer: TaggedAnswer): MaybePromise<void> {
    const { visit, behavior, object } = answer
    visit.key = object.key
    if (object.isSealed) throw new WebRefusal(403, 'customer_key')
    const ready = readyFor(answer)
    if (ready !== undefined) return sendWhole(answer, ready)
    const headers = objectHeaders(answer, site, showsVersions)
    const more = [...corsOf(visit, behavior)]
    const { websiteRedirectLocation: elsewhere } = object.system
    if (elsewhere !== undefined) return redirect(visit, elsewhere, headers, more)
    const { headers: asked } = visit.exchange.request
    const etag = quoteEtag(object.etag)
    const { sizeBytes } = object
    const varies = isCodable(headers)
    const coding = codingFor(asked, varies, sizeBytes)
    const validators: Validators = { etag, modifiedMs: object.modifiedMs, varies }
    if (varies) more.push(...varying)
    const condition = checkConditions(asked, validators)
    if (condition === 412) throw new WebRefusal(412)
    if (condition === 304) {
      headers.apply([['Content-Type', '']])
      headers.set('ETag', notModifiedEtag(asked, validators, coding === undefined ? etag : codedEtag(etag, coding)))
      return send(visit, { status: 304, headers, more, data: undefined, sizeBytes: 0 })
    }
    if (coding === undefined) return sendStored(answer, validators, headers, more)
    return chain(sendCompressed(answer, coding, headers, more), isSent =>
      isSent ? undefined : sendStored(answer, validators, headers, more),
    )
  }
}

/** Whether the answer is the whole, as it is stored, whatever the object is like. */
function wantsWhole({ exchange: { request }, rehearsal }: Visit): boolean {
  const { headers } = request
  return (
    request.method === 'GET' &&
    rehearsal === undefined &&
    headers.range === undefined &&
    headers['if-none-match'] === undefined &&
    headers['if-modified-since'] === undefined &&
    headers['if-match'] === undefined &&
    headers['if-unmodified-since'] === undefined
  )
}

/** The whole, or the range that is asked for. */
function sendStored(
  { visit, object: { sizeBytes }, found }: ObjectAnswer,
  validators: Validators,
  headers: AnswerHeaders,
  more: readonly string[],
): MaybePromise<void> {
  const range = chooseRange(visit.exchange.request.headers, validators, sizeBytes)
  if (range === 'unsatisfiable') throw new WebRefusal(416, undefined, [['Content-Range', `bytes */${sizeBytes}`]])
  if (range !== undefined) {
    headers.set('Content-Range', `bytes ${range.start}-${range.start + range.length - 1}/${sizeBytes}`)
  }
  const length = range?.length ?? sizeBytes
  const data = isBodiless(visit)
    ? undefined
    : chain(found.bytes.open(range?.start ?? 0, length), opened => noteOpened(visit, headers, opened))
  const status = range === undefined ? 200 : 206
  return chain(data, opened => send(visit, { status, headers, more, data: opened, sizeBytes: length }))
}

/** Bytes that the cache has only in part make the answer a `MISS`. */
function noteOpened(visit: Visit, headers: AnswerHeaders, opened: OpenedObject | undefined): ObjectData {
  if (opened === undefined) throw new ReplacedObject()
  visit.cacheSource = opened.source
  if (!opened.isCached && visit.cache !== 'BYPASS' && visit.cache !== '') {
    if (visit.cache === 'HIT') headers.set('Cache-Status', 'svc; fwd=miss')
    if (visit.cache === 'HIT') visit.cache = 'MISS'
    headers.set('X-Cache', visit.cache)
  }
  return opened.data
}

function cacheLines({ cache, cacheHeaders }: Visit): string[] {
  const lines = cache === '' ? [] : ['X-Cache', cache]
  for (const [name, value] of cacheHeaders) lines.push(name, value)
  return lines
}

function redirect(
  visit: Visit,
  elsewhere: string,
  headers: AnswerHeaders,
  more: readonly string[],
): MaybePromise<void> {
  for (const name of ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Type', 'Content-Encoding'])
    headers.apply([[name, '']])
  headers.set('Location', locationOf(elsewhere))
  return send(visit, { status: 301, headers, more, data: undefined, sizeBytes: 0 })
}

/** False where the stored form has to be sent: it is no larger, or too many others are being compressed. */
function sendCompressed(
  { visit, object, found }: ObjectAnswer,
  coding: Coding,
  headers: AnswerHeaders,
  more: readonly string[],
): MaybePromise<boolean> {
  const { sizeBytes } = object
  const isHead = isBodiless(visit)
  const form = isHead ? undefined : found.bytes.form(coding, read => compressed(coding, sizeBytes, read))
  return chain(form, bytes => {
    if (!isHead && bytes === undefined) return false
    headers.set('Content-Encoding', coding)
    headers.set('ETag', codedEtag(quoteEtag(object.etag), coding))
    headers.apply([['Accept-Ranges', '']])
    const data = bytes && ({ kind: 'whole', bytes } as const)
    return chain(send(visit, { status: 200, headers, more, data, sizeBytes: bytes?.length }), () => true)
  })
}

async function compressed(coding: Coding, sizeBytes: number, read: Parameters<FormMaker>[0]) {
  const job = startCompression(coding)
  if (job === undefined) return null
  try {
    const coded = await job.run(await collect(await read()))
    return coded.length < sizeBytes ? coded : undefined
  } finally {
    job.cancel()
  }
}

/** A path, or http(s)://; a path of several slashes would be another host. */
function locationOf(location: string): string {
  const safe = location.startsWith('/') ? location.replace(/^[/\\]+/, '/') : location
  return safe.replaceAll(
    /[^\x21-\x7e]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
