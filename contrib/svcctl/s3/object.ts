/** The facts about one object, from the headers of HeadObject or GetObject. */
import type { ChecksumAlgorithm } from '../checksums/checksums.ts'
import { S3Error } from '../errors.ts'
import type { S3Client } from './client.ts'
import type { CustomerKey } from './customer-key.ts'
import type { AnswerHeaders } from './messages.ts'

export interface ObjectName {
  readonly bucket: string
  readonly key: string
  readonly versionId?: string
  /** Its encryption with a key of the client, if it has one. */
  readonly customerKey?: CustomerKey
}

export interface ObjectFacts {
  readonly sizeBytes: number
  /** The ETag without quotation marks. */
  readonly etag: string
  readonly modifiedMs: number
  readonly versionId: string | undefined
  /** Raw digests of the whole object. */
  readonly checksums: ReadonlyMap<ChecksumAlgorithm, Buffer>
  /** If present, the ETag is not a digest of the content. */
  readonly isEncrypted: boolean
  readonly headers: AnswerHeaders
}

const checksumHeader = /^x-amz-checksum-([a-z0-9]+)$/

export function readFacts(headers: AnswerHeaders): ObjectFacts {
  const checksums = new Map<ChecksumAlgorithm, Buffer>()
  // A composite value is computed of the parts: to check it, their sizes are needed.
  if (headers['x-amz-checksum-type'] !== 'COMPOSITE') {
    for (const name in headers) {
      const algorithm = checksumHeader.exec(name)?.[1]
      if (algorithm === undefined || algorithm === 'type' || headers[name]!.includes('-')) continue
      checksums.set(algorithm.toUpperCase() as ChecksumAlgorithm, Buffer.from(headers[name]!, 'base64'))
    }
  }
  const range = /\/(\d+)$/.exec(headers['content-range'] ?? '')
  return {
    sizeBytes: Number(range?.[1] ?? headers['content-length'] ?? 0),
    etag: (headers.etag ?? '').replace(/^"|"$/g, ''),
    modifiedMs: Date.parse(headers['last-modified'] ?? ''),
    versionId: headers['x-amz-version-id'],
    checksums,
    isEncrypted:
      headers['x-amz-server-side-encryption-customer-algorithm'] !== undefined ||
      (headers['x-amz-server-side-encryption'] ?? '').startsWith('aws:kms'),
    headers,
  }
}

export const versionQuery = ({ versionId }: ObjectName): Record<string, string> =>
  versionId === undefined ? {} : { versionId }

export async function headObject(client: S3Client, name: ObjectName): Promise<ObjectFacts> {
  const { bucket, key } = name
  const query = versionQuery(name)
  const keyHeaders = name.customerKey?.headers
  const headers = { 'x-amz-checksum-mode': 'ENABLED', ...keyHeaders }
  try {
    const answer = await client.send({ operation: 'HeadObject', method: 'HEAD', bucket, key, query, headers })
    return readFacts(answer.headers)
  } catch (error) {
    // An answer to HEAD has no body with a reason: the same request as GET has one.
    if (!(error instanceof S3Error) || error.status !== 400) throw error
    await client.send({
      operation: 'GetObject',
      method: 'GET',
      bucket,
      key,
      query,
      headers: { range: 'bytes=0-0', ...keyHeaders },
    })
    throw error
  }
}

/** Headers of an object that its copy keeps. */
export function copiedHeaders(headers: AnswerHeaders): Record<string, string> {
  const copied: Record<string, string> = {}
  for (const name in headers) {
    if (name.startsWith('x-amz-meta-') || storedHeaders.has(name)) copied[name] = headers[name]!
  }
  return copied
}

/** Headers that a copy only has if its request repeats them, and that are kept unchanged. */
export function requestedHeaders(headers: AnswerHeaders): Record<string, string> {
  const names = ['x-amz-storage-class', 'x-amz-website-redirect-location']
  return Object.fromEntries(names.flatMap(name => (headers[name] === undefined ? [] : [[name, headers[name]]])))
}

const storedHeaders = new Set([
  'content-type',
  'content-encoding',
  'content-language',
  'content-disposition',
  'cache-control',
  'expires',
])
