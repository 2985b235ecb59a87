/** One request in AWS's format. Source: AWS S3 User Guide, "Amazon S3 server access log format". */
import type { TLSSocket } from 'node:tls'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { redactQuery, redactUrl } from 'svc/plugins/trace/api'

/** The account of a deployment, as in ARNs. */
export const account = '000000000000'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Parameters of the query that make a resource of their own, and its name in the field Operation. */
const subresources: readonly (readonly [string, string])[] = [
  ['acl', 'ACL'],
  ['accelerate', 'ACCELERATE'],
  ['attributes', 'OBJECT_ATTRIBUTES'],
  ['cors', 'CORS'],
  ['delete', 'MULTI_OBJECT_DELETE'],
  ['encryption', 'ENCRYPTION'],
  ['legal-hold', 'OBJECT_LOCK_LEGALHOLD'],
  ['lifecycle', 'LIFECYCLE'],
  ['location', 'LOCATION'],
  ['logging', 'LOGGING_STATUS'],
  ['notification', 'NOTIFICATION'],
  ['object-lock', 'OBJECT_LOCK_CONFIGURATION'],
  ['ownershipControls', 'OWNERSHIP_CONTROLS'],
  ['partNumber', 'PART'],
  ['policy', 'BUCKETPOLICY'],
  ['policyStatus', 'POLICY_STATUS'],
  ['publicAccessBlock', 'PUBLIC_ACCESS_BLOCK'],
  ['replication', 'REPLICATION'],
  ['requestPayment', 'REQUEST_PAYMENT'],
  ['retention', 'OBJECT_LOCK_RETENTION'],
  ['tagging', 'TAGGING'],
  ['uploadId', 'UPLOAD'],
  ['uploads', 'UPLOADS'],
  ['versioning', 'VERSIONING'],
  ['versions', 'BUCKETVERSIONS'],
  ['website', 'WEBSITE'],
]

/** Without a newline. Whatever a client sends stays within its field: spaces, quotes and control characters are escaped. */
export function logLine(record: S3RequestRecord, ownerId: string): string {
  const { request } = record
  const headers = request?.headers ?? {}
  const parameters = new URLSearchParams(record.query)
  const query = record.query ? `?${redactQuery(record.query)}` : ''
  const { cipher, version } = tlsOf(request?.socket)
  return [
    ownerId,
    record.bucket,
    timeOf(record.timeMs),
    record.clientAddress || '-',
    requesterOf(record),
    record.requestId,
    operationOf(record, parameters),
    record.key === '' ? '-' : encodeKey(record.key),
    quoted(`${record.method} ${record.path}${query} HTTP/${request?.httpVersion ?? '1.1'}`),
    record.status,
    record.errorCode ?? '-',
    record.sentBytes || '-',
    objectBytesOf(record) ?? '-',
    Math.round(record.durationMs),
    '-',
    quoted(redactUrl(headers.referer ?? '')),
    quoted(record.userAgent),
    word(parameters.get('versionId')),
    '-',
    signatureVersionOf(record, parameters),
    cipher,
    authenticationOf(record, parameters),
    word(headers.host ?? headers[':authority']?.toString()),
    version,
    '-',
    '-',
  ].join(' ')
}

function timeOf(ms: number): string {
  const [day, time] = new Date(ms).toISOString().split('T') as [string, string]
  const [year, month, date] = day.split('-')
  return `[${date}/${months[Number(month) - 1]}/${year}:${time.slice(0, 8)} +0000]`
}

function requesterOf({ identity }: S3RequestRecord): string {
  if (identity === undefined) return '-'
  const user = identity.userName ?? identity.accessKey
  return identity.isRoot ? identity.ownerId : word(`arn:aws:iam::${account}:user/${user}`)
}

function operationOf({ method, operation, key }: S3RequestRecord, parameters: URLSearchParams): string {
  if (operation === 'CopyObject') return 'REST.COPY.OBJECT'
  if (operation === 'UploadPartCopy') return 'REST.COPY.PART'
  const found = subresources.find(([name]) => parameters.has(name))?.[1]
  const resource = found === 'TAGGING' && key !== '' ? 'OBJECT_TAGGING' : found
  return `REST.${method}.${resource ?? (key === '' ? 'BUCKET' : 'OBJECT')}`
}

/** The size that the request itself tells. */
function objectBytesOf({ operation, status, sentBytes, request }: S3RequestRecord): number | undefined {
  if (operation === 'GetObject' && status === 200) return sentBytes
  if ((operation !== 'PutObject' && operation !== 'UploadPart') || status !== 200) return undefined
  const length = Number(request?.headers['x-amz-decoded-content-length'] ?? request?.headers['content-length'])
  return Number.isSafeInteger(length) ? length : undefined
}

function signatureVersionOf({ identity, request }: S3RequestRecord, parameters: URLSearchParams): string {
  if (identity === undefined) return '-'
  const isOld = request?.headers.authorization?.startsWith('AWS ') || isPresignedByVersion2(request, parameters)
  return isOld ? 'SigV2' : 'SigV4'
}

function isPresignedByVersion2(request: S3RequestRecord['request'], parameters: URLSearchParams): boolean {
  return !request?.headers.authorization && !parameters.has('X-Amz-Signature') && parameters.has('AWSAccessKeyId')
}

function authenticationOf({ identity, request }: S3RequestRecord, parameters: URLSearchParams): string {
  if (identity === undefined) return '-'
  if (request?.headers.authorization !== undefined) return 'AuthHeader'
  return parameters.has('X-Amz-Signature') || isPresignedByVersion2(request, parameters) ? 'QueryString' : '-'
}

function tlsOf(socket: unknown): { readonly cipher: string; readonly version: string } {
  try {
    const { encrypted, getCipher, getProtocol } = (socket ?? {}) as Partial<TLSSocket>
    if (encrypted !== true) return plain
    return { cipher: word(getCipher?.call(socket)?.name), version: word(getProtocol?.call(socket)) }
  } catch {
    // The socket of an HTTP/2 connection that has ended throws when it is asked.
    return plain
  }
}

const plain = { cipher: '-', version: '-' }

function encodeKey(key: string): string {
  return encodeURIComponent(key.toWellFormed()).replaceAll('%2F', '/')
}

/** Quotes and backslashes would end the field or the line early. */
function quoted(text: string | undefined): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are to be found
  return text === undefined || text === '' ? '"-"' : `"${text.replace(/["\\\x00-\x1f\x7f-\x9f]/g, escaped)}"`
}

function word(text: string | null | undefined): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are to be found
  return text === undefined || text === null || text === '' ? '-' : text.replace(/["\\\x00-\x20\x7f-\x9f]/g, escaped)
}

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
