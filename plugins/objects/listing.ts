/**
 * Listings: one range scan over the index, with a seek past each common prefix. Guarantee: the result is complete or an error; a
 * page never ends early without a marker to continue. Each slice reads a snapshot; between the slices of a long walk (many
 * records that are not shown) the event loop gets its turn.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Cursor, StorageService } from 'svc/plugins/storage/api'
import { recordTable as table } from 'svc/plugins/storage/api'
import type {
  Listing,
  ListRequest,
  ListUploadsRequest,
  ListVersionsRequest,
  ObjectSummary,
  VersionListing,
  VersionSummary,
} from './api.ts'
import { objectErrors } from './errors.ts'
import {
  afterObject,
  bucketRange,
  escapeKey,
  isUploadId,
  objectKey,
  objectKeyOffset,
  olderVersionKey,
  successor,
  unescapeKey,
} from './keys.ts'
import {
  decodeSummary,
  decodeVersionSummary,
  isDeleteMarker,
  isNullVersion,
  olderNullOf,
  sequenceOf,
  withDetails,
} from './record.ts'
import { sequenceOfVersionId, versionIdOf } from './version-id.ts'

/** Records that one slice may visit. */
const visitsPerSlice = 20_000
/** Older versions skipped one by one before seeking past them. */
const stepsBeforeSeek = 4

/** The longest key. A longer marker would not fit into a record key. */
const keyBytesMax = 1024

function isTooLong(text: string): boolean {
  return Buffer.byteLength(text) > keyBytesMax
}

function requireMarkerLength(marker: string): void {
  if (isTooLong(marker)) throw objectErrors.InvalidArgument(`A marker has at most ${keyBytesMax} bytes in UTF-8.`)
}

interface Page {
  readonly objects: ObjectSummary[]
  readonly prefixes: string[]
  next: string | undefined
  /** Position to continue at when the slice ended before the page was full. */
  resume: Buffer | undefined
}

export function listObjects(storage: StorageService, request: ListRequest): MaybePromise<Listing> {
  const { bucket, prefix, delimiter, startAfter, maxKeys, withDetails = false } = request
  if (maxKeys === 0 || isTooLong(prefix)) return { objects: [], prefixes: [], next: undefined }
  const prefixBytes = escapeKey(prefix)
  const [start, end] = bucketRange(table.object, bucket, prefixBytes)
  const page: Page = { objects: [], prefixes: [], next: undefined, resume: undefined }
  const from = startPosition(table.object, bucket, prefix, delimiter, startAfter)
  const position = from !== undefined && from.compare(start) > 0 ? from : start
  if (position.compare(end) >= 0) return page
  const walk: Walk = {
    bucket,
    prefixEnd: start.length,
    delimiter: escapeKey(delimiter),
    maxKeys,
    isDetailed: withDetails,
    page,
  }
  return runSlices(storage, position, end, cursor => collectObjects(cursor, walk), page)
}

interface Walk {
  readonly bucket: string
  /** Offset of the end of the prefix in a record key. */
  readonly prefixEnd: number
  readonly delimiter: Buffer
  readonly maxKeys: number
  readonly isDetailed: boolean
  readonly page: Page
}

/** A common prefix that ended the previous page is skipped as a whole; a key is skipped with its older versions. */
function startPosition(
  tableByte: number,
  bucket: string,
  prefix: string,
  delimiter: string,
  startAfter: string,
): Buffer | undefined {
  if (startAfter === '') return undefined
  requireMarkerLength(startAfter)
  if (delimiter !== '' && startAfter.startsWith(prefix)) {
    const cut = startAfter.indexOf(delimiter, prefix.length)
    if (cut !== -1 && cut + delimiter.length === startAfter.length) {
      return successor(bucketRange(tableByte, bucket, escapeKey(startAfter))[0])
    }
  }
  return afterObject(tableByte, bucket, startAfter)
}

function runSlices<T extends { resume: Buffer | undefined }>(
  storage: StorageService,
  position: Buffer,
  end: Buffer,
  collect: (cursor: Cursor) => void,
  page: T,
): MaybePromise<T> {
  const scanned = storage.scan(position, end, collect)
  if (scanned === undefined && page.resume === undefined) return page
  return continueSlices(storage, end, collect, page, scanned)
}

async function continueSlices<T extends { resume: Buffer | undefined }>(
  storage: StorageService,
  end: Buffer,
  collect: (cursor: Cursor) => void,
  page: T,
  first: MaybePromise<void>,
): Promise<T> {
  await first
  while (page.resume !== undefined) {
    await new Promise<void>(resolve => {
      setImmediate(resolve)
    })
    const position = page.resume
    page.resume = undefined
    await storage.scan(position, end, collect)
  }
  return page
}

function collectObjects(cursor: Cursor, walk: Walk): void {
  const { bucket, prefixEnd, delimiter, maxKeys, page } = walk
  const keyStart = objectKeyOffset(bucket)
  let visits = 0
  let steps = 0
  let last: string | undefined
  let more = cursor.next()
  while (more) {
    const { key } = cursor
    if (++visits > visitsPerSlice) {
      page.resume = Buffer.from(key)
      return
    }
    const keyEnd = key.indexOf(0, keyStart)
    if (keyEnd !== key.length - 1) {
      // An older version, whose current version was the previous record.
      more = ++steps < stepsBeforeSeek ? cursor.next() : cursor.seek(withByte(key.subarray(0, keyEnd), 1))
      continue
    }
    steps = 0
    // Read once, because each access creates a view of the record.
    const { value } = cursor
    if (isDeleteMarker(value)) {
      more = cursor.next()
      continue
    }
    if (page.objects.length + page.prefixes.length === maxKeys) {
      page.next = last ?? lastOf(page)
      return
    }
    const cut = delimiter.length === 0 ? -1 : key.indexOf(delimiter, prefixEnd)
    if (cut !== -1 && cut < keyEnd) {
      last = unescapeKey(key, keyStart, cut + delimiter.length)
      page.prefixes.push(last)
      more = cursor.seek(successor(key.subarray(0, cut + delimiter.length)))
    } else {
      last = unescapeKey(key, keyStart, keyEnd)
      const summary = decodeSummary(last, value)
      page.objects.push(walk.isDetailed ? withDetails(summary, value) : summary)
      more = cursor.next()
    }
  }
}

/** The greatest entry of a page that a previous slice has filled. */
function lastOf(page: Page): string {
  const key = page.objects.at(-1)?.key
  const prefix = page.prefixes.at(-1)
  if (key === undefined) return prefix!
  if (prefix === undefined) return key
  return Buffer.compare(Buffer.from(key), Buffer.from(prefix)) > 0 ? key : prefix
}

function withByte(bytes: Buffer, byte: number): Buffer {
  return Buffer.concat([bytes, Buffer.from([byte])])
}

interface VersionPage extends VersionListing {
  readonly versions: VersionSummary[]
  readonly prefixes: string[]
  isTruncated: boolean
  nextKeyMarker: string
  nextVersionIdMarker: string
  resume: Buffer | undefined
}

/** Shows every version, delete markers included, and a common prefix even if it contains delete markers only. */
export function listVersions(storage: StorageService, request: ListVersionsRequest): MaybePromise<VersionListing> {
  const { bucket, prefix, delimiter, keyMarker, maxKeys } = request
  const page: VersionPage = {
    versions: [],
    prefixes: [],
    isTruncated: false,
    nextKeyMarker: '',
    nextVersionIdMarker: '',
    resume: undefined,
  }
  const marker = versionMarker(request)
  if (maxKeys === 0 || isTooLong(prefix)) return page
  const [start, end] = bucketRange(table.object, bucket, escapeKey(prefix))
  const position =
    marker === undefined ? startPosition(table.object, bucket, prefix, delimiter, keyMarker) : marker.newest
  const from = position !== undefined && position.compare(start) > 0 ? position : start
  if (from.compare(end) >= 0) return page
  const delimiterBytes = escapeKey(delimiter)
  const keyStart = objectKeyOffset(bucket)
  // Sequence of the previous entry; formatted only if the page ends there.
  let lastSequence: number | undefined
  const collect = (cursor: Cursor) => {
    let more = cursor.next()
    if (more && marker !== undefined && cursor.key.equals(marker.newest)) {
      more = seekBehind(cursor, marker.newest, marker.sequence)
    }
    // Every visited record is an entry, and a page has at most 1,000, so no slice is long.
    while (more) {
      const { key } = cursor
      if (page.versions.length + page.prefixes.length === maxKeys) {
        page.isTruncated = true
        page.nextVersionIdMarker = lastSequence === undefined ? '' : versionIdOf(lastSequence)
        return
      }
      const keyEnd = key.indexOf(0, keyStart)
      const cut = delimiterBytes.length === 0 ? -1 : key.indexOf(delimiterBytes, start.length)
      if (cut !== -1 && cut < keyEnd) {
        page.nextKeyMarker = unescapeKey(key, keyStart, cut + delimiterBytes.length)
        lastSequence = undefined
        page.prefixes.push(page.nextKeyMarker)
        more = cursor.seek(successor(key.subarray(0, cut + delimiterBytes.length)))
      } else {
        page.nextKeyMarker = unescapeKey(key, keyStart, keyEnd)
        const { value } = cursor
        lastSequence = sequenceOf(value)
        const summary = decodeVersionSummary(page.nextKeyMarker, value, keyEnd === key.length - 1)
        page.versions.push(request.withDetails === true ? withDetails(summary, value) : summary)
        more = cursor.next()
      }
    }
  }
  return runSlices(storage, from, end, collect, page)
}

/** The version to continue after: older versions of that key follow. `null` is resolved during the walk. */
function versionMarker({ bucket, keyMarker, versionIdMarker }: ListVersionsRequest) {
  if (keyMarker === '' || versionIdMarker === '') return undefined
  requireMarkerLength(keyMarker)
  const sequence = sequenceOfVersionId(versionIdMarker, 'version-id-marker')
  return { newest: objectKey(bucket, keyMarker), sequence }
}

/**
 * Moves from the newest version of the marker's key to the first one older than the marker. Markers of this server contain a
 * sequence, for the null version too: it may have been removed since, and no version may be skipped. If a client sends `null` and
 * there is no null version any more, the key is listed from its beginning.
 */
function seekBehind(cursor: Cursor, newest: Buffer, marker: number | undefined): boolean {
  const first = sequenceOf(cursor.value)
  const sequence = marker ?? (isNullVersion(cursor.value) ? first : olderNullOf(cursor.value))
  if (sequence === undefined || first < sequence) return true
  return cursor.seek(withByte(olderVersionKey(newest, sequence), 0))
}

/** An upload from its record key, with the value to decode. */
export interface FoundUpload {
  readonly key: string
  readonly uploadId: string
  readonly value: Buffer
}

export interface UploadPage {
  readonly uploads: FoundUpload[]
  readonly prefixes: string[]
  isTruncated: boolean
  nextKeyMarker: string
  nextUploadIdMarker: string
  resume: Buffer | undefined
}

export function listUploads(storage: StorageService, request: ListUploadsRequest): MaybePromise<UploadPage> {
  const { bucket, prefix, delimiter, keyMarker, uploadIdMarker, maxUploads } = request
  const page: UploadPage = {
    uploads: [],
    prefixes: [],
    isTruncated: false,
    nextKeyMarker: '',
    nextUploadIdMarker: '',
    resume: undefined,
  }
  if (maxUploads === 0 || isTooLong(prefix)) return page
  const [start, end] = bucketRange(table.upload, bucket, escapeKey(prefix))
  const position = uploadPosition(bucket, prefix, delimiter, keyMarker, uploadIdMarker)
  const from = position !== undefined && position.compare(start) > 0 ? position : start
  if (from.compare(end) >= 0) return page
  const delimiterBytes = escapeKey(delimiter)
  const keyStart = objectKeyOffset(bucket)
  return runSlices(
    storage,
    from,
    end,
    cursor => {
      let more = cursor.next()
      while (more) {
        const { key } = cursor
        const keyEnd = key.indexOf(0, keyStart)
        if (page.uploads.length + page.prefixes.length === maxUploads) {
          page.isTruncated = true
          return
        }
        const cut = delimiterBytes.length === 0 ? -1 : key.indexOf(delimiterBytes, start.length)
        if (cut !== -1 && cut < keyEnd) {
          page.nextKeyMarker = unescapeKey(key, keyStart, cut + delimiterBytes.length)
          page.nextUploadIdMarker = ''
          page.prefixes.push(page.nextKeyMarker)
          more = cursor.seek(successor(key.subarray(0, cut + delimiterBytes.length)))
        } else {
          page.nextKeyMarker = unescapeKey(key, keyStart, keyEnd)
          page.nextUploadIdMarker = key.toString('latin1', keyEnd + 1)
          page.uploads.push({
            key: page.nextKeyMarker,
            uploadId: page.nextUploadIdMarker,
            value: Buffer.from(cursor.value),
          })
          more = cursor.next()
        }
      }
    },
    page,
  )
}

/** `upload-id-marker` counts only together with `key-marker`: then the later uploads of that key follow. */
function uploadPosition(
  bucket: string,
  prefix: string,
  delimiter: string,
  keyMarker: string,
  uploadIdMarker: string,
): Buffer | undefined {
  if (keyMarker === '' || uploadIdMarker === '') {
    return startPosition(table.upload, bucket, prefix, delimiter, keyMarker)
  }
  requireMarkerLength(keyMarker)
  // The upload itself may be gone: it may have ended between two pages.
  if (!isUploadId(uploadIdMarker)) {
    throw objectErrors.InvalidArgument('Invalid uploadId marker', {
      extra: { ArgumentName: 'upload-id-marker', ArgumentValue: uploadIdMarker },
    })
  }
  const [key] = bucketRange(table.upload, bucket, escapeKey(keyMarker))
  return Buffer.concat([key, Buffer.from([0]), Buffer.from(uploadIdMarker, 'utf8'), Buffer.from([0])])
}
