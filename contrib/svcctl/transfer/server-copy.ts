/** Copies that the server makes by itself. */
import { failure } from '../errors.ts'
import { encodeKey, encodeName, type S3Client } from '../s3/client.ts'
import { copiedHeaders, type ObjectFacts, type ObjectName, versionQuery } from '../s3/object.ts'
import { childrenOf, escapeXml, readXml, textOf } from '../s3/xml.ts'
import { workThrough } from './work.ts'

const GIB = 1024 ** 3
/** Larger ones can only be copied in parts. */
const copyBytesMax = 5 * GIB
const partBytes = 1 * GIB

export interface ServerCopy {
  readonly client: S3Client
  readonly from: ObjectName
  readonly to: ObjectName
  readonly facts: ObjectFacts
  /** Headers of the copy that differ from those of the source. Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** A larger one goes in parts. */
  readonly wholeBytesMax?: number
}

/** Properties that a copy can change without restating its metadata. */
const unchanging = /^x-amz-(storage-class|tagging|website-redirect-location|server-side-encryption.*)$/

const sourceOf = ({ bucket, key, versionId }: ObjectName): string =>
  `${encodeName(bucket)}/${encodeKey(key)}${versionId === undefined ? '' : `?versionId=${encodeName(versionId)}`}`

export async function copyOnServer(copy: ServerCopy): Promise<{ etag: string; versionId: string | undefined }> {
  return copy.facts.sizeBytes > (copy.wholeBytesMax ?? copyBytesMax) ? copyParts(copy) : copyWhole(copy)
}

/** A copy in parts does not keep these: its creation needs the headers of the source. */
async function tagHeader({ client, from, facts, headers }: ServerCopy): Promise<Record<string, string>> {
  const name = 'x-amz-tagging'
  if (headers[name] !== undefined || facts.headers['x-amz-tagging-count'] === undefined) return {}
  const { bucket, key } = from
  const { body } = await client.send({
    operation: 'GetObjectTagging',
    method: 'GET',
    bucket,
    key,
    query: { tagging: '', ...versionQuery(from) },
  })
  const tags = childrenOf(childrenOf(readXml(body, 'Tagging'), 'TagSet')[0]!, 'Tag')
  const pairs = tags.map(tag =>
    [textOf(tag, 'Key'), textOf(tag, 'Value')].map(text => encodeName(text ?? '')).join('='),
  )
  return { [name]: pairs.join('&') }
}

async function copyWhole({ client, from, to, facts, headers }: ServerCopy) {
  const hasNew = Object.keys(headers).some(name => !unchanging.test(name))
  const answer = await client.send({
    operation: 'CopyObject',
    method: 'PUT',
    bucket: to.bucket,
    key: to.key,
    headers: {
      ...(hasNew ? { ...copiedHeaders(facts.headers), 'x-amz-metadata-directive': 'REPLACE' } : undefined),
      ...headers,
      ...to.customerKey?.headers,
      ...from.customerKey?.sourceHeaders,
      ...(headers['x-amz-tagging'] === undefined ? undefined : { 'x-amz-tagging-directive': 'REPLACE' }),
      'x-amz-copy-source': sourceOf(from),
      'x-amz-copy-source-if-match': `"${facts.etag}"`,
    },
  })
  const etag = textOf(readXml(answer.body, 'CopyObjectResult'), 'ETag') ?? ''
  return { etag: etag.replaceAll('"', ''), versionId: answer.headers['x-amz-version-id'] }
}

async function copyParts(copy: ServerCopy) {
  const { client, from, to, facts, headers } = copy
  const { bucket, key } = to
  const begun = await client.send({
    operation: 'CreateMultipartUpload',
    method: 'POST',
    bucket,
    key,
    query: { uploads: '' },
    headers: { ...copiedHeaders(facts.headers), ...(await tagHeader(copy)), ...headers, ...to.customerKey?.headers },
  })
  const uploadId = textOf(readXml(begun.body, 'InitiateMultipartUploadResult'), 'UploadId')
  if (!uploadId) throw failure('bad_answer', 'The server began an upload without a name.')
  const count = Math.ceil(facts.sizeBytes / partBytes)
  const etags: string[] = []
  try {
    await workThrough(Array(count).keys(), 4, async index => {
      const start = index * partBytes
      const end = Math.min(start + partBytes, facts.sizeBytes) - 1
      const answer = await client.send({
        operation: 'UploadPartCopy',
        method: 'PUT',
        bucket,
        key,
        query: { partNumber: String(index + 1), uploadId },
        headers: {
          ...to.customerKey?.headers,
          ...from.customerKey?.sourceHeaders,
          'x-amz-copy-source': sourceOf(from),
          'x-amz-copy-source-if-match': `"${facts.etag}"`,
          'x-amz-copy-source-range': `bytes=${start}-${end}`,
        },
      })
      etags[index] = textOf(readXml(answer.body, 'CopyPartResult'), 'ETag') ?? ''
    })
  } catch (error) {
    await client
      .send({ operation: 'AbortMultipartUpload', method: 'DELETE', bucket, key, query: { uploadId } })
      .catch(() => undefined) // The first error is reported; `ls --incomplete` shows remaining uploads.
    throw error
  }
  const parts = etags.map(
    (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  )
  const answer = await client.send({
    operation: 'CompleteMultipartUpload',
    method: 'POST',
    bucket,
    key,
    query: { uploadId },
    headers: { 'content-type': 'application/xml' },
    body: Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`),
  })
  const etag = textOf(readXml(answer.body, 'CompleteMultipartUploadResult'), 'ETag') ?? ''
  return { etag: etag.replaceAll('"', ''), versionId: answer.headers['x-amz-version-id'] }
}
