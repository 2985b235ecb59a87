/** Conditions and ranges of reads. Source: RFC 9110 sections 13.2.2 and 14. */
import type { IncomingHttpHeaders } from 'node:http'
import { isCatalogError } from 'svc/kernel'
import { plainEtags } from 'svc/plugins/payload/api'
import { type ByteRange, httpDate, readRange } from 'svc/plugins/s3/api'

export interface Validators {
  /** The strong ETag, with quotes. */
  readonly etag: string
  readonly modifiedMs: number
  /** Its form depends on what the client takes: a date then names no form, and bytes of two forms do not go together. */
  readonly varies: boolean
}

export function checkConditions(headers: IncomingHttpHeaders, { etag, modifiedMs }: Validators): 200 | 304 | 412 {
  // About all forms of the object, compressed ones among them.
  const ifMatch = headers['if-match'] && plainEtags(headers['if-match'])
  const ifNoneMatch = headers['if-none-match'] && plainEtags(headers['if-none-match'])
  if (ifMatch !== undefined) {
    if (!lists(ifMatch, etag, false)) return 412
  } else if (isAfter(modifiedMs, headers['if-unmodified-since']) === true) return 412
  if (ifNoneMatch !== undefined) return lists(ifNoneMatch, etag, true) ? 304 : 200
  return isAfter(modifiedMs, headers['if-modified-since']) === false ? 304 : 200
}

/**
 * The validator that a 304 names: of the forms of the object the one that the client has, so that its cache knows what it may keep; and
 * `current`, that of a 200, where the client names none.
 */
export function notModifiedEtag(headers: IncomingHttpHeaders, { etag }: Validators, current: string): string {
  const named = (headers['if-none-match'] ?? '').split(',').map(item => item.trim().replace(/^W\//, ''))
  return named.find(tag => plainEtags(tag) === etag) ?? current
}

/** The range to answer with; undefined is the whole, `unsatisfiable` 416. */
export function chooseRange(
  headers: IncomingHttpHeaders,
  { etag, modifiedMs, varies }: Validators,
  sizeBytes: number,
): ByteRange | 'unsatisfiable' | undefined {
  const { range } = headers
  if (range === undefined) return undefined
  const ifRange = headers['if-range'] as string | undefined
  const isSame = ifRange === undefined || ifRange === etag || (!varies && ifRange === httpDate(modifiedMs))
  if (!isSame) return undefined
  try {
    return readRange(range, sizeBytes)
  } catch (error) {
    if (isCatalogError(error) && error.code === 'InvalidRange') return 'unsatisfiable'
    throw error
  }
}

function lists(header: string, etag: string, isWeak: boolean): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some(item => {
    const tag = item.trim()
    return tag === etag || (isWeak && tag.startsWith('W/') && tag.slice(2) === etag)
  })
}

/** In whole seconds; undefined without a date. */
function isAfter(timeMs: number, header: string | undefined): boolean | undefined {
  if (header === undefined) return undefined
  const dateMs = Date.parse(header)
  return Number.isNaN(dateMs) ? undefined : Math.floor(timeMs / 1000) > Math.floor(dateMs / 1000)
}
