/**
 * Conditional requests. Reads are decided here, against the version that was found; writes only carry their conditions on
 * to the commit, where they are evaluated under its lock.
 * Source: AWS S3 API reference (GetObject, CopyObject, PutObject, DeleteObject); RFC 9110 section 13.2.2 for the order.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { type DeleteConditions, objectErrors, type WriteConditions } from 'svc/plugins/objects/api'
import { s3Errors } from './errors.ts'
import { unquoteEtag } from './formats.ts'

interface Validators {
  readonly etag: string
  readonly modifiedMs: number
}

/** `not-modified` stands for 304. Throws PreconditionFailed. */
export function checkReadConditions(headers: IncomingHttpHeaders, version: Validators): 'proceed' | 'not-modified' {
  const { etag, modifiedMs } = version
  const ifMatch = headers['if-match']
  if (ifMatch !== undefined) {
    if (!etagListed(ifMatch, etag)) throw failed('If-Match')
  } else if (isAfter(modifiedMs, headers['if-unmodified-since']) === true) throw failed('If-Unmodified-Since')
  const ifNoneMatch = headers['if-none-match']
  if (ifNoneMatch !== undefined) return etagListed(ifNoneMatch, etag) ? 'not-modified' : 'proceed'
  return isAfter(modifiedMs, headers['if-modified-since']) === false ? 'not-modified' : 'proceed'
}

/** The same for the source of a copy, where every condition that does not hold is a failure. */
export function checkCopyConditions(headers: IncomingHttpHeaders, version: Validators): void {
  const { etag, modifiedMs } = version
  const ifMatch = single(headers, 'x-amz-copy-source-if-match')
  const ifNoneMatch = single(headers, 'x-amz-copy-source-if-none-match')
  if (ifMatch !== undefined) {
    if (!etagListed(ifMatch, etag)) throw failed('x-amz-copy-source-If-Match')
  } else if (isAfter(modifiedMs, single(headers, 'x-amz-copy-source-if-unmodified-since')) === true) {
    throw failed('x-amz-copy-source-If-Unmodified-Since')
  }
  if (ifNoneMatch !== undefined) {
    if (etagListed(ifNoneMatch, etag)) throw failed('x-amz-copy-source-If-None-Match')
  } else if (isAfter(modifiedMs, single(headers, 'x-amz-copy-source-if-modified-since')) === false) {
    throw failed('x-amz-copy-source-If-Modified-Since')
  }
}

/** `If-Match` and `If-None-Match: *` of a write. What AWS does not implement is refused, not ignored. */
export function readWriteConditions(headers: IncomingHttpHeaders): WriteConditions | undefined {
  const ifMatch = headers['if-match']
  const ifNoneMatch = headers['if-none-match']
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined
  if (ifMatch !== undefined && ifNoneMatch !== undefined) {
    throw s3Errors.NotImplemented('If-Match and If-None-Match cannot be combined in a write.', {
      extra: { Header: 'If-Match, If-None-Match' },
    })
  }
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() !== '*') {
      throw s3Errors.NotImplemented('A write takes If-None-Match only with the value *.', {
        extra: { Header: 'If-None-Match' },
      })
    }
    return { ifNoneMatch: '*' }
  }
  return { ifMatch: unquoteEtag(ifMatch!) }
}

export function readDeleteConditions(headers: IncomingHttpHeaders): DeleteConditions | undefined {
  const ifMatch = headers['if-match']
  const size = single(headers, 'x-amz-if-match-size')
  const modified = single(headers, 'x-amz-if-match-last-modified-time')
  if (ifMatch === undefined && size === undefined && modified === undefined) return undefined
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw invalid('x-amz-if-match-size', size)
  const modifiedMs = modified === undefined ? undefined : Date.parse(modified)
  if (modifiedMs !== undefined && Number.isNaN(modifiedMs))
    throw invalid('x-amz-if-match-last-modified-time', modified!)
  return {
    ifMatch: ifMatch === undefined ? undefined : unquoteEtag(ifMatch),
    ifMatchSize: size === undefined ? undefined : Number(size),
    ifMatchModifiedMs: modifiedMs,
  }
}

function etagListed(list: string, etag: string): boolean {
  if (list.trim() === '*') return true
  return list.split(',').some(item => unquoteEtag(item) === etag)
}

/** Whether a time lies after a header's date, in whole seconds; undefined when there is no date (or none that is one). */
function isAfter(timeMs: number, header: string | undefined): boolean | undefined {
  if (header === undefined) return undefined
  const dateMs = Date.parse(header)
  if (Number.isNaN(dateMs)) return undefined
  return Math.floor(timeMs / 1000) > Math.floor(dateMs / 1000)
}

function single(headers: IncomingHttpHeaders, name: string): string | undefined {
  return headers[name] as string | undefined
}

function failed(condition: string) {
  return objectErrors.PreconditionFailed(undefined, { extra: { Condition: condition } })
}

function invalid(name: string, value: string) {
  return objectErrors.InvalidArgument(`The value of ${name} is not valid.`, {
    extra: { ArgumentName: name, ArgumentValue: value },
  })
}
