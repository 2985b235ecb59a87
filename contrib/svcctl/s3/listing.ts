/** Listings, page by page: memory is bounded by a page, for any size of bucket. */
import { failure } from '../errors.ts'
import type { S3Client } from './client.ts'
import { childrenOf, readXml, textOf, type XmlNode } from './xml.ts'

export interface ListedObject {
  readonly key: string
  readonly sizeBytes: number
  /** The ETag without quotation marks. */
  readonly etag: string
  readonly modifiedMs: number
  readonly storageClass: string | undefined
}

export interface ListedVersion extends ListedObject {
  readonly versionId: string
  readonly isLatest: boolean
  readonly isDeleteMarker: boolean
}

export interface ListedUpload {
  readonly key: string
  readonly uploadId: string
  readonly startedMs: number
}

export interface ListedPart {
  readonly number: number
  readonly sizeBytes: number
  readonly etag: string
  /** Base64, where the upload has this checksum. */
  readonly crc32: string | undefined
}

export interface Page<T> {
  readonly items: readonly T[]
  /** The common prefixes. */
  readonly prefixes: readonly string[]
}

export interface ListingScope {
  readonly bucket: string
  readonly prefix?: string
  readonly delimiter?: string
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', '%20'))
  } catch (cause) {
    throw failure('bad_answer', 'The listing has a key that is not escaped as it should be.', cause)
  }
}

const scopeQuery = ({ prefix = '', delimiter = '' }: ListingScope) => ({
  'encoding-type': 'url',
  ...(prefix === '' ? undefined : { prefix }),
  ...(delimiter === '' ? undefined : { delimiter }),
})

const requireText = (node: XmlNode, name: string): string => {
  const text = textOf(node, name)
  if (text === undefined) throw failure('bad_answer', `The listing has an entry without ${name}.`)
  return text
}

const unquoted = (etag: string | undefined): string => (etag ?? '').replace(/^"|"$/g, '')

/**
 * Reads keys and prefixes of a page. A server that answers with names outside of the requested prefix must not lead the client out of
 * a folder, or into the same folder again and again.
 */
function nameReader(document: XmlNode, { prefix = '' }: ListingScope) {
  const isEscaped = textOf(document, 'EncodingType') === 'url'
  return (node: XmlNode, field: 'Key' | 'Prefix' | 'NextKeyMarker'): string => {
    const text = requireText(node, field)
    const name = isEscaped ? decode(text) : text
    const isInside = field === 'NextKeyMarker' || (name.startsWith(prefix) && (field === 'Key' || name !== prefix))
    if (!isInside) throw failure('bad_answer', 'The listing has keys that were not requested.')
    return name
  }
}

type NameReader = ReturnType<typeof nameReader>

function toObject(node: XmlNode, nameOf: NameReader): ListedObject {
  return {
    key: nameOf(node, 'Key'),
    sizeBytes: Number(textOf(node, 'Size') ?? 0),
    etag: unquoted(textOf(node, 'ETag')),
    modifiedMs: Date.parse(textOf(node, 'LastModified') ?? ''),
    storageClass: textOf(node, 'StorageClass'),
  }
}

const prefixesOf = (document: XmlNode, nameOf: NameReader): string[] =>
  childrenOf(document, 'CommonPrefixes').map(node => nameOf(node, 'Prefix'))

/** A server that sends no continuation token, or always the same, must not cause an endless loop. */
function requireProgress(next: string | undefined, previous: string | undefined): string {
  if (!next || next === previous)
    throw failure('bad_answer', 'The listing is truncated, but has no continuation token.')
  return next
}

/** Lists objects in the order of keys. */
export async function* listObjects(client: S3Client, scope: ListingScope): AsyncGenerator<Page<ListedObject>> {
  let token: string | undefined
  for (;;) {
    const query = { 'list-type': '2', ...scopeQuery(scope), ...(token && { 'continuation-token': token }) }
    const { body } = await client.send({ operation: 'ListObjectsV2', method: 'GET', bucket: scope.bucket, query })
    const document = readXml(body, 'ListBucketResult')
    const nameOf = nameReader(document, scope)
    yield {
      items: childrenOf(document, 'Contents').map(node => toObject(node, nameOf)),
      prefixes: prefixesOf(document, nameOf),
    }
    if (textOf(document, 'IsTruncated') !== 'true') return
    token = requireProgress(textOf(document, 'NextContinuationToken'), token)
  }
}

/** Lists versions in the order of keys, the newest version first. */
export async function* listVersions(client: S3Client, scope: ListingScope): AsyncGenerator<Page<ListedVersion>> {
  let marker: Record<string, string> = {}
  for (;;) {
    const query = { versions: '', ...scopeQuery(scope), ...marker }
    const { body } = await client.send({ operation: 'ListObjectVersions', method: 'GET', bucket: scope.bucket, query })
    const document = readXml(body, 'ListVersionsResult')
    const nameOf = nameReader(document, scope)
    const read = (name: string, isDeleteMarker: boolean) =>
      childrenOf(document, name).map(node => ({
        ...toObject(node, nameOf),
        versionId: requireText(node, 'VersionId'),
        isLatest: textOf(node, 'IsLatest') === 'true',
        isDeleteMarker,
      }))
    const markers = read('DeleteMarker', true)
    const items = [...read('Version', false), ...markers]
    // The parser groups elements by name; if there are both kinds, the order of the document is restored.
    if (markers.length > 0 && markers.length < items.length) items.sort(byKeyAndAge)
    yield { items, prefixes: prefixesOf(document, nameOf) }
    if (textOf(document, 'IsTruncated') !== 'true') return
    const keyMarker = nameOf(document, 'NextKeyMarker')
    const versionMarker = textOf(document, 'NextVersionIdMarker') ?? ''
    requireProgress(`${keyMarker}\n${versionMarker}`, `${marker['key-marker']}\n${marker['version-id-marker'] ?? ''}`)
    marker = { 'key-marker': keyMarker, ...(versionMarker && { 'version-id-marker': versionMarker }) }
  }
}

function byKeyAndAge(a: ListedVersion, b: ListedVersion): number {
  return compareKeys(a.key, b.key) || Number(b.isLatest) - Number(a.isLatest) || b.modifiedMs - a.modifiedMs
}

/** The order of S3: by UTF-8 bytes, which is the order of code points and not of UTF-16 units. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left === right) continue
    const isLeftSurrogate = (left & 0xf800) === 0xd800
    if (isLeftSurrogate !== ((right & 0xf800) === 0xd800)) return isLeftSurrogate ? 1 : -1
    return left - right
  }
  return a.length - b.length
}

export async function* listUploads(client: S3Client, scope: ListingScope): AsyncGenerator<Page<ListedUpload>> {
  let marker: Record<string, string> = {}
  for (;;) {
    const query = { uploads: '', ...scopeQuery(scope), ...marker }
    const { body } = await client.send({
      operation: 'ListMultipartUploads',
      method: 'GET',
      bucket: scope.bucket,
      query,
    })
    const document = readXml(body, 'ListMultipartUploadsResult')
    const nameOf = nameReader(document, scope)
    const items = childrenOf(document, 'Upload').map(node => ({
      key: nameOf(node, 'Key'),
      uploadId: requireText(node, 'UploadId'),
      startedMs: Date.parse(textOf(node, 'Initiated') ?? ''),
    }))
    yield { items, prefixes: prefixesOf(document, nameOf) }
    if (textOf(document, 'IsTruncated') !== 'true') return
    const keyMarker = nameOf(document, 'NextKeyMarker')
    const uploadMarker = textOf(document, 'NextUploadIdMarker') ?? ''
    requireProgress(`${keyMarker}\n${uploadMarker}`, `${marker['key-marker']}\n${marker['upload-id-marker'] ?? ''}`)
    marker = { 'key-marker': keyMarker, ...(uploadMarker && { 'upload-id-marker': uploadMarker }) }
  }
}

/** All parts of an upload, by number: 10 000 at most. */
export async function listParts(
  client: S3Client,
  bucket: string,
  key: string,
  uploadId: string,
): Promise<Map<number, ListedPart>> {
  const parts = new Map<number, ListedPart>()
  let marker: string | undefined
  for (;;) {
    const query = { uploadId, ...(marker && { 'part-number-marker': marker }) }
    const { body } = await client.send({ operation: 'ListParts', method: 'GET', bucket, key, query })
    const document = readXml(body, 'ListPartsResult')
    for (const node of childrenOf(document, 'Part')) {
      const number = Number(requireText(node, 'PartNumber'))
      parts.set(number, {
        number,
        sizeBytes: Number(requireText(node, 'Size')),
        etag: unquoted(textOf(node, 'ETag')),
        crc32: textOf(node, 'ChecksumCRC32'),
      })
    }
    if (textOf(document, 'IsTruncated') !== 'true') return parts
    marker = requireProgress(textOf(document, 'NextPartNumberMarker'), marker)
  }
}

export interface ListedBucket {
  readonly name: string
  readonly createdMs: number
}

export async function listBuckets(client: S3Client): Promise<ListedBucket[]> {
  const buckets: ListedBucket[] = []
  let token: string | undefined
  do {
    const query: Record<string, string> = token === undefined ? {} : { 'continuation-token': token }
    const { body } = await client.send({ operation: 'ListBuckets', method: 'GET', query })
    const document = readXml(body, 'ListAllMyBucketsResult')
    for (const list of childrenOf(document, 'Buckets')) {
      for (const node of childrenOf(list, 'Bucket')) {
        buckets.push({ name: requireText(node, 'Name'), createdMs: Date.parse(textOf(node, 'CreationDate') ?? '') })
      }
    }
    const next = textOf(document, 'ContinuationToken')
    token = next ? requireProgress(next, token) : undefined
  } while (token !== undefined)
  return buckets
}
