/**
 * What a browser asks before it sends a request of a page of another origin: it comes without credentials, for a bucket or for a key,
 * and is answered alike. Source: AWS S3 API reference, OPTIONS object.
 */
import { defineS3Operation, type Level, type S3Request, type S3Result } from 'svc/plugins/s3/api'
import type { Cors } from '../cors.ts'
import { corsErrors } from '../errors.ts'
import { namesOf, vary } from '../matching.ts'

const definePreflight = (name: string, level: 'bucket' | 'object', summary: string) =>
  defineS3Operation({
    name,
    summary,
    match: { method: 'OPTIONS', level },
    action: undefined,
    body: { kind: 'none' },
    reply: { kind: 'empty', status: 200 },
    errors: ['AccessForbidden', 'BadRequest'],
    uses: ['corsMatcher'],
    handle: (request, { corsMatcher }) => answerPreflight(request, level, corsMatcher),
  })

export const preflights = [
  definePreflight('OptionsBucket', 'bucket', 'Says whether a page of another origin may send a request to a bucket.'),
  definePreflight('OptionsObject', 'object', 'Says whether a page of another origin may send a request for an object.'),
]

async function answerPreflight({ bucket, headers }: S3Request, level: Level, cors: Cors): Promise<S3Result> {
  const { origin } = headers
  const method = headers['access-control-request-method']
  if (origin === undefined || origin === '') throw corsErrors.BadRequest()
  if (method === undefined || method === '') {
    throw corsErrors.BadRequest(`Invalid Access-Control-Request-Method: ${method ?? 'null'}`)
  }
  const refused = { extra: { Method: method, ResourceType: level.toUpperCase() } }
  const ready = await cors.ready(bucket)
  if (ready === undefined) {
    throw corsErrors.AccessForbidden('CORSResponse: CORS is not enabled for this bucket.', refused)
  }
  const allowed = ready.forPreflight(origin, method, namesOf(headers['access-control-request-headers']))
  if (allowed === undefined) throw corsErrors.AccessForbidden(undefined, refused)
  return { headers: recordOf([...allowed, ...vary]) }
}

function recordOf(pairs: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {}
  for (let i = 0; i < pairs.length; i += 2) record[pairs[i]!] = pairs[i + 1]!
  return record
}
