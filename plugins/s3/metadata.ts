/** Attributes of an object in headers: system metadata, `x-amz-meta-…`, the storage class. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ObjectAttributes, SystemMetadata } from 'svc/plugins/objects/api'
import { s3Errors } from './errors.ts'

/** Maximum for names and values of user metadata together, in bytes, as on AWS. */
const userMetadataBytesMax = 2048
const prefix = 'x-amz-meta-'
const storageClasses = new Set(['STANDARD', 'REDUCED_REDUNDANCY'])

/**
 * The attributes of a write in its headers. `rawHeaders`: names and values in turn, unchanged, if the headers are those of a request.
 * Throws MetadataTooLarge, InvalidStorageClass, InvalidRedirectLocation.
 */
export function readAttributes(headers: IncomingHttpHeaders, rawHeaders?: readonly string[]): ObjectAttributes {
  return { system: readSystem(headers), user: readUser(headers, rawHeaders), storageClass: readStorageClass(headers) }
}

export function readStorageClass(headers: IncomingHttpHeaders): string {
  const storageClass = headers['x-amz-storage-class']
  if (storageClass === undefined) return 'STANDARD'
  if (!storageClasses.has(String(storageClass))) {
    throw s3Errors.InvalidStorageClass(undefined, { extra: { StorageClassRequested: String(storageClass) } })
  }
  return String(storageClass)
}

function readSystem(headers: IncomingHttpHeaders): SystemMetadata {
  const system: { -readonly [Name in keyof SystemMetadata]: string } = {}
  const encoding = headers['content-encoding']
  if (headers['content-type'] !== undefined) system.contentType = headers['content-type']
  if (encoding !== undefined) {
    const stored = withoutFraming(encoding)
    if (stored !== '') system.contentEncoding = stored
  }
  if (headers['content-disposition'] !== undefined) system.contentDisposition = headers['content-disposition']
  if (headers['content-language'] !== undefined) system.contentLanguage = headers['content-language']
  if (headers['cache-control'] !== undefined) system.cacheControl = headers['cache-control']
  if (headers.expires !== undefined) system.expires = headers.expires
  const redirect = headers['x-amz-website-redirect-location']
  if (redirect !== undefined) {
    if (!/^(\/|https?:\/\/)/.test(String(redirect))) throw s3Errors.InvalidRedirectLocation()
    system.websiteRedirectLocation = String(redirect)
  }
  return system
}

/** `aws-chunked` describes the encoding of the request, not of the object; other encodings belong to the object. */
function withoutFraming(encoding: string): string {
  if (!encoding.includes('aws-chunked')) return encoding
  return encoding
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '' && item !== 'aws-chunked')
    .join(',')
}

function readUser(headers: IncomingHttpHeaders, rawHeaders: readonly string[] | undefined): Record<string, string> {
  const user: Record<string, string> = {}
  let sizeBytes = 0
  for (const name in headers) {
    if (!name.startsWith(prefix)) continue
    const joined = headers[name] as string
    const value = rawHeaders !== undefined && joined.includes(', ') ? joinRepeated(name, rawHeaders) : joined
    // Not an assignment, which would set no property for `__proto__`.
    Object.defineProperty(user, name.slice(prefix.length), {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    })
    // Header values have one character for each byte.
    sizeBytes += name.length - prefix.length + value.length
  }
  if (sizeBytes > userMetadataBytesMax) {
    throw s3Errors.MetadataTooLarge(undefined, {
      extra: { Size: String(sizeBytes), MaxSizeAllowed: String(userMetadataBytesMax) },
    })
  }
  return user
}

/** Values of a repeated header, joined like in S3: Node.js adds a blank after the comma. */
function joinRepeated(name: string, rawHeaders: readonly string[]): string {
  const values: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() === name) values.push(rawHeaders[i + 1]!)
  }
  return values.join(',')
}

/** The headers that return the attributes. */
export function metadataHeaders(attributes: ObjectAttributes): Record<string, string | undefined> {
  const { system, user, storageClass } = attributes
  const headers: Record<string, string | undefined> = { 'Content-Type': system.contentType ?? 'binary/octet-stream' }
  if (system.cacheControl !== undefined) headers['Cache-Control'] = system.cacheControl
  if (system.contentDisposition !== undefined) headers['Content-Disposition'] = system.contentDisposition
  if (system.contentEncoding !== undefined) headers['Content-Encoding'] = system.contentEncoding
  if (system.contentLanguage !== undefined) headers['Content-Language'] = system.contentLanguage
  if (system.expires !== undefined) headers.Expires = system.expires
  if (system.websiteRedirectLocation !== undefined) {
    headers['x-amz-website-redirect-location'] = system.websiteRedirectLocation
  }
  if (storageClass !== 'STANDARD') headers['x-amz-storage-class'] = storageClass
  for (const name in user) headers[prefix + name] = user[name]
  return headers
}
