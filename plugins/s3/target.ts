/**
 * Parses the request target into bucket, key and parameters. The raw target is kept as well, because signatures cover it. Nothing is
 * normalized: `..`, `//`, trailing slashes and NUL are parts of the key.
 */
import { invalidBucketName, objectErrors, requireKeyLength } from 'svc/plugins/objects/api'
import type { Level } from './api.ts'
import { s3Errors } from './errors.ts'

/** Maximum number of query parameters in a request. */
const parametersMax = 256

export interface Target {
  readonly level: Level
  readonly bucket: string
  /** The bucket in the host name; empty if the path has the bucket. */
  readonly hostBucket: string
  readonly key: string
  readonly query: ReadonlyMap<string, string>
  /** Path and query as received, percent-encoded; without scheme and host if the client sent them. */
  readonly rawPath: string
  readonly rawQuery: string
}

export interface TargetOptions {
  /** Lower-case domains whose sub-domains are buckets, the most specific first. */
  readonly domains: readonly string[]
  readonly normalizeKey: (key: string) => string
}

export const noParameters: ReadonlyMap<string, string> = new Map()
/**
 * Throws InvalidURI, InvalidBucketName and KeyTooLongError. `host` is lower case, with or without a port. `ownBucket`: the host is this
 * bucket, whatever its name says.
 */
export function parseTarget(raw: string, host: string, options: TargetOptions, ownBucket?: string): Target {
  const target = raw.charCodeAt(0) === 0x2f ? raw : originForm(raw)
  const mark = target.indexOf('?')
  const rawPath = mark === -1 ? target : target.slice(0, mark)
  const rawQuery = mark === -1 ? '' : target.slice(mark + 1)
  const query = rawQuery === '' ? noParameters : parseQuery(rawQuery)

  const hostBucket = ownBucket ?? (options.domains.length === 0 ? '' : bucketOfHost(host, options.domains))
  let bucket = hostBucket
  let key: string
  if (bucket !== '') {
    key = decode(rawPath.slice(1))
  } else {
    // Some clients request the list of buckets with a double slash.
    if (rawPath === '/' || rawPath === '//') {
      return { level: 'service', bucket, hostBucket, key: '', query, rawPath, rawQuery }
    }
    const slash = rawPath.indexOf('/', 1)
    bucket = decode(slash === -1 ? rawPath.slice(1) : rawPath.slice(1, slash))
    key = slash === -1 ? '' : decode(rawPath.slice(slash + 1))
  }
  requireBucketName(bucket)
  if (key === '') return { level: 'bucket', bucket, hostBucket, key, query, rawPath, rawQuery }
  key = options.normalizeKey(key)
  requireKeyLength(key)
  return { level: 'object', bucket, hostBucket, key, query, rawPath, rawQuery }
}

/** The path of an absolute-form target (RFC 9112 section 3.2.2). S3 has no use for `*` and the authority form. */
function originForm(raw: string): string {
  const scheme = raw.indexOf('://')
  if (scheme === -1) throw s3Errors.InvalidURI()
  const path = raw.slice(scheme + 3).search(/[/?]/)
  if (path === -1) return '/'
  const rest = raw.slice(scheme + 3 + path)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function bucketOfHost(host: string, domains: readonly string[]): string {
  const colon = host.lastIndexOf(':')
  const name = colon === -1 || host.endsWith(']') ? host : host.slice(0, colon)
  for (const domain of domains) {
    if (name.length > domain.length + 1 && name.endsWith(domain) && name[name.length - domain.length - 1] === '.') {
      return name.slice(0, name.length - domain.length - 1)
    }
  }
  return ''
}

/** If a name occurs twice, the first one counts. `+` is a space, as in forms. */
function parseQuery(raw: string): ReadonlyMap<string, string> {
  const query = new Map<string, string>()
  let count = 0
  for (let start = 0; start <= raw.length; ) {
    let end = raw.indexOf('&', start)
    if (end === -1) end = raw.length
    if (end > start) {
      // Equal names are counted, too: a signature covers all of them.
      if (++count > parametersMax) throw objectErrors.InvalidRequest('The request has too many query parameters.')
      const equals = raw.indexOf('=', start)
      const cut = equals === -1 || equals > end ? end : equals
      const name = decodeParameter(raw.slice(start, cut))
      if (!query.has(name)) query.set(name, cut === end ? '' : decodeParameter(raw.slice(cut + 1, end)))
    }
    start = end + 1
  }
  return query
}

function decodeParameter(text: string): string {
  return decode(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

const mayNeedDecoding = /[%\u0080-\uffff]/

/** Strict percent-decoding: invalid escapes and bytes that are not UTF-8 are InvalidURI. */
export function decode(text: string): string {
  if (!mayNeedDecoding.test(text)) return text
  try {
    return decodeURIComponent(text.replace(/[\u0080-\u00ff]/g, byteEscape))
  } catch (cause) {
    throw s3Errors.InvalidURI('The URI is not percent-encoded UTF-8.', { cause })
  }
}

/** A raw byte above 7f is represented by the character with that number. */
function byteEscape(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`
}

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

/** Refuses invalid bucket names, so that no lookup is made with one. CreateBucket has further rules. */
export function requireBucketName(name: string): void {
  if (!bucketName.test(name)) throw invalidBucketName(name)
}
