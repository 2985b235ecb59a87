/** Answers from stored bytes: conditions and ranges. Source: RFC 9110 sections 13 and 14, RFC 9111 section 4.3.2. */
import type { CacheAnswer, CacheLookup, CacheRequest, HeaderLine, RequestHeaders } from '../api.ts'
import { parseHttpDate } from '../policy/http-date.ts'
import { fieldOf, joined } from './headers.ts'

export interface StoredAnswer {
  readonly status: number
  readonly lines: readonly HeaderLine[]
  readonly body: Buffer
}

/** Makes the answer to a request from a lookup. Applies conditions and ranges, if the body is in a buffer and the cache was not bypassed. */
export function answerOf({ method, headers }: CacheRequest, lookup: CacheLookup, nowMs: number): CacheAnswer {
  const { result, detail, ageSeconds, lines: told } = lookup
  const more: HeaderLine[] = [
    ['X-Cache', result],
    ['Cache-Status', detail],
  ]
  if (ageSeconds !== undefined) more.unshift(['Age', String(ageSeconds)])
  if (!Buffer.isBuffer(lookup.body)) {
    if (lookup.body !== undefined && 'open' in lookup.body) throw new TypeError('objects are answered by their origin')
    return { status: lookup.status, headers: [...told, ...more], body: lookup.body, result }
  }
  const isSelected = ageSeconds !== undefined || result !== 'BYPASS'
  const stored = { status: lookup.status, lines: told, body: lookup.body }
  const { status, lines, body } = isSelected ? selectAnswer(stored, headers, nowMs) : stored
  return { status, headers: [...lines, ...more], body: method === 'HEAD' ? undefined : body, result }
}

const bodyFields: ReadonlySet<string> = new Set(['content-length', 'content-type', 'content-encoding', 'content-range'])

const without = (lines: readonly HeaderLine[], names: ReadonlySet<string>) =>
  lines.filter(([name]) => !names.has(name.toLowerCase()))

/** The answer that a request gets from a stored one: 200, 206, 304, 412 or 416 if the stored status is 200; otherwise the stored answer. */
export function selectAnswer(stored: StoredAnswer, request: RequestHeaders, nowMs: number): StoredAnswer {
  const { status, lines, body } = stored
  if (status !== 200) return stored
  const headers = joined(lines)
  const validators = {
    etag: headers.get('etag'),
    lastModified: headers.get('last-modified'),
    date: headers.get('date'),
  }
  const condition = checkConditions(request, validators, nowMs)
  if (condition === 304) return { status: 304, lines: without(lines, bodyFields), body: Buffer.alloc(0) }
  if (condition === 412) return { status: 412, lines: [['Content-Length', '0']], body: Buffer.alloc(0) }
  const range = readRange(request, validators, body.length)
  if (range === undefined) return stored
  const unranged = without(lines, new Set(['content-length', 'content-range']))
  if (range === 'unsatisfiable') {
    const told: readonly HeaderLine[] = [
      ['Content-Range', `bytes */${body.length}`],
      ['Content-Length', '0'],
    ]
    return { status: 416, lines: told, body: Buffer.alloc(0) }
  }
  const part = body.subarray(range.start, range.end + 1)
  const contentRange: HeaderLine = ['Content-Range', `bytes ${range.start}-${range.end}/${body.length}`]
  return { status: 206, lines: [...unranged, contentRange, ['Content-Length', String(part.length)]], body: part }
}

interface Validators {
  readonly etag: string | undefined
  readonly lastModified: string | undefined
  readonly date: string | undefined
}

function checkConditions(
  request: RequestHeaders,
  { etag, lastModified, date }: Validators,
  nowMs: number,
): 200 | 304 | 412 {
  const time = (field: string | undefined) => (field === undefined ? undefined : parseHttpDate(field, nowMs))
  const modifiedMs = time(lastModified)
  const ifMatch = fieldOf(request, 'if-match')
  const unmodifiedMs = time(fieldOf(request, 'if-unmodified-since'))
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, etag, false)) return 412
  } else if (unmodifiedMs !== undefined && modifiedMs !== undefined && modifiedMs > unmodifiedMs) return 412
  const ifNoneMatch = fieldOf(request, 'if-none-match')
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, etag, true) ? 304 : 200
  const sinceMs = time(fieldOf(request, 'if-modified-since'))
  // Without `Last-Modified` its `Date` counts: the answer was made no later than it was sent.
  const changedMs = modifiedMs ?? time(date)
  return sinceMs !== undefined && changedMs !== undefined && changedMs <= sinceMs ? 304 : 200
}

/** In a weak comparison `W/"a"` and `"a"` are the same. In a strong one a weak tag never matches. */
function matches(field: string, etag: string | undefined, isWeak: boolean): boolean {
  if (field.trim() === '*') return true
  if (etag === undefined) return false
  const opaque = (tag: string) => (tag.startsWith('W/') ? tag.slice(2) : tag)
  const tags = field.match(/(?:W\/)?"[^"]*"/g) ?? [field.trim()]
  return tags.some(tag => (isWeak ? opaque(tag) === opaque(etag) : tag === etag && !tag.startsWith('W/')))
}

/** Undefined: the whole body, also if several ranges are requested or the range is malformed. Positions are inclusive. */
function readRange(
  request: RequestHeaders,
  { etag, lastModified }: Validators,
  sizeBytes: number,
): { readonly start: number; readonly end: number } | 'unsatisfiable' | undefined {
  const field = fieldOf(request, 'range')
  const ifRange = fieldOf(request, 'if-range')
  const isSame = ifRange === undefined || (ifRange === etag && !ifRange.startsWith('W/')) || ifRange === lastModified
  const parts = /^bytes=(\d*)-(\d*)$/.exec(field?.trim() ?? '')
  if (parts === null || !isSame) return undefined
  const [first, last] = [parts[1] as string, parts[2] as string]
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes)
    return length === 0 ? 'unsatisfiable' : { start: sizeBytes - length, end: sizeBytes - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= sizeBytes) return 'unsatisfiable'
  return { start, end: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) }
}
