/**
 * Conditional requests. Conditions of reads are evaluated here, against the version that was found; conditions of writes are only passed on
 * to the commit, which evaluates them under its lock. Source: AWS S3 API reference (GetObject, CopyObject, PutObject, DeleteObject); RFC
 * 9110 section 13.2.2 for the order.
 */
import type { IncomingHttpHeaders } from 'node:http'
import {
  type DeleteConditions,
  objectErrors,
  type RenameConditions,
  type WriteConditions,
} from 'svc/plugins/objects/api'
import type { S3Request } from './api.ts'
import { s3Errors } from './errors.ts'
import { unquoteEtag } from './formats.ts'

interface Validators {
  readonly etag: string
  readonly modifiedMs: number
}

/** `not-modified` means 304. Throws PreconditionFailed. */
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

/** The same for the source of a copy, where each condition that does not hold is an error. */
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

const telling = [
  'if-match',
  'if-modified-since',
  'if-unmodified-since',
  'x-amz-if-match-last-modified-time',
  'x-amz-if-match-size',
]

/** Whether the conditions of a write may need `readAction`: checked before they are read. */
export function mayTell({ method, headers }: Pick<S3Request, 'method' | 'headers'>): boolean {
  return method !== 'GET' && method !== 'HEAD' && telling.some(name => headers[name] !== undefined)
}

export function readAction(versionId: string | undefined): string {
  return versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'
}

/**
 * The additional action for conditions of a delete whose outcome reveals the ETag, the size or the time of the object. Undefined: none,
 * because the existence of an object may be revealed to callers who may delete it (`*`) or write it (`If-None-Match: *`). Source: AWS S3
 * User Guide, "Enforce conditional deletes" and "Enforce conditional writes".
 */
export function conditionAction(conditions: DeleteConditions, versionId: string | undefined): string | undefined {
  const { ifMatch = '*', ifMatchSize, ifMatchModifiedMs } = conditions
  const isTelling = ifMatch !== '*' || ifMatchSize !== undefined || ifMatchModifiedMs !== undefined
  return isTelling ? readAction(versionId) : undefined
}

/** Throws AccessDenied if the caller must not learn the outcome of conditions. */
function requireReadable({ isAllowed, bucket, key }: S3Request, versionId?: string): void {
  if (!isAllowed(readAction(versionId), bucket, key, versionId)) throw s3Errors.AccessDenied()
}

/**
 * The conditions of an S3 write, after a check that the caller may learn their outcome: like `readWriteConditions`, with authorization.
 * Throws AccessDenied for conditions on an object that the caller may not read.
 */
export function allowedWriteConditions(request: S3Request): WriteConditions | undefined {
  const conditions = readWriteConditions(request.headers)
  if (conditions?.ifMatch !== undefined) requireReadable(request)
  return conditions
}

/** `If-Match` and `If-None-Match: *` of a write. Conditions that AWS does not implement are refused, not ignored. */
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
    if (ifNoneMatch.trim() !== '*') throw onlyAny()
    return { ifNoneMatch: '*' }
  }
  return { ifMatch: unquoteEtag(ifMatch!) }
}

/** Throws AccessDenied for conditions on an object or version that the caller may not read. */
export function allowedDeleteConditions(request: S3Request): DeleteConditions | undefined {
  const { headers, query } = request
  const ifMatch = headers['if-match']
  const size = single(headers, 'x-amz-if-match-size')
  const modified = single(headers, 'x-amz-if-match-last-modified-time')
  if (ifMatch === undefined && size === undefined && modified === undefined) return undefined
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw invalid('x-amz-if-match-size', size)
  const conditions = {
    ifMatch: ifMatch === undefined ? undefined : unquoteEtag(ifMatch),
    ifMatchSize: size === undefined ? undefined : Number(size),
    ifMatchModifiedMs: readTime(headers, 'x-amz-if-match-last-modified-time'),
  }
  const versionId = query.get('versionId')
  if (conditionAction(conditions, versionId) !== undefined) requireReadable(request, versionId)
  return conditions
}

/**
 * Conditions of a rename on the object at its destination, or, with the prefix `x-amz-rename-source-`, on its source. Throws AccessDenied
 * for conditions that reveal a destination that the caller may not read.
 */
export function allowedRenameConditions(
  request: S3Request,
  prefix: '' | 'x-amz-rename-source-',
): RenameConditions | undefined {
  const { headers } = request
  const ifMatch = single(headers, `${prefix}if-match`)
  const ifNoneMatch = single(headers, `${prefix}if-none-match`)
  const ifModifiedSinceMs = readTime(headers, `${prefix}if-modified-since`)
  const ifUnmodifiedSinceMs = readTime(headers, `${prefix}if-unmodified-since`)
  if ([ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs].every(one => one === undefined)) return undefined
  if (prefix === '') {
    if ([ifMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs].some(one => one !== undefined)) requireReadable(request)
    if (ifNoneMatch !== undefined && ifNoneMatch.trim() !== '*') throw onlyAny()
  }
  return {
    ifMatch: ifMatch === undefined ? undefined : unquoteEtag(ifMatch),
    ifNoneMatch: ifNoneMatch === undefined ? undefined : unquoteEtag(ifNoneMatch),
    ifModifiedSinceMs,
    ifUnmodifiedSinceMs,
  }
}

/** An invalid condition is refused: if it were ignored, the request would change an object that it was to protect. */
function readTime(headers: IncomingHttpHeaders, name: string): number | undefined {
  const text = single(headers, name)
  if (text === undefined) return undefined
  const timeMs = Date.parse(text)
  if (Number.isNaN(timeMs)) throw invalid(name, text)
  return timeMs
}

function onlyAny() {
  return s3Errors.NotImplemented('A write takes If-None-Match only with the value *.', {
    extra: { Header: 'If-None-Match' },
  })
}

function etagListed(list: string, etag: string): boolean {
  if (list.trim() === '*') return true
  return list.split(',').some(item => unquoteEtag(item) === etag)
}

/** Whether a time is after a header's date, in whole seconds; undefined without a valid date. */
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
