/** Facts about a request for conditions of policies. Computed only if a policy has a condition that matters. */
import type { TLSSocket } from 'node:tls'
import type { ExistingTags, ObjectEncryption, Tags } from 'svc/plugins/objects/api'
import { encryptionAsked, type RequestEncryption, type RequestFacts } from 'svc/plugins/policy/api'
import { peekCopySource } from './copy-source.ts'
import { otherSourceOf } from './other-sources.ts'
import type { S3RequestContext } from './request.ts'
import { childrenNamed, childText } from './xml-nodes.ts'

/** For each operation that needs `s3:PutObject`: whether it creates an object. */
const creatingOperations: ReadonlyMap<string, boolean> = new Map([
  ['PutObject', true],
  ['PostObject', true],
  ['CopyObject', true],
  ['RenameObject', true],
  ['CompleteMultipartUpload', true],
  ['CreateMultipartUpload', false],
  ['UploadPart', false],
  ['UploadPartCopy', false],
])

/**
 * Operations that write to an upload: tags and encryption were set when the upload was begun, and policies evaluate these again. Headers of
 * such requests do not count, because they have no effect.
 */
const uploadOperations = new Set(['UploadPart', 'UploadPartCopy', 'CompleteMultipartUpload'])

/** The id of the upload whose tags and encryption policies need; undefined if the request itself has them. */
export const uploadWrittenBy = ({ operation, query }: S3RequestContext): string | undefined =>
  uploadOperations.has(operation) ? query.get('uploadId') : undefined

export function factsOf(
  context: S3RequestContext,
  existingTags: ExistingTags | undefined,
  bucket: string,
  key: string,
  versionId: string | undefined,
): RequestFacts {
  const { authentication, exchange, environment, headers, query } = context
  const prefix = query.get('prefix')
  return {
    sourceAddress: context.clientAddress,
    secure: context.secure,
    tlsVersion: tlsVersionOf(exchange.request.socket as TLSSocket | undefined),
    timeMs: environment.clock.now(),
    headers,
    query,
    versionId,
    distribution: context.domain?.distribution,
    prefix: prefix === undefined ? undefined : context.normalizeKey(prefix),
    copySource: copySourceOf(context),
    signature: authentication?.method,
    signatureVersion: authentication?.signatureVersion,
    signedAtMs: authentication?.signedMs,
    createsObject: creatingOperations.get(context.operation),
    host: context.domain?.host ?? context.host,
    method: context.method,
    existingTags: () => existingTags?.get(bucket, key, versionId),
    ...factsOfBody(context),
    requestTags: () => requestTags(context, existingTags),
    encryption: () => encryptionOf(context, existingTags),
  }
}

/** Prefix of the condition keys about the encryption of written bytes. */
export const encryptionConditions = 's3:x-amz-server-side-encryption'

/** The source as the copy reads it from the header; an invalid header is refused later, and until then used unchanged. */
function copySourceOf(context: S3RequestContext): string | undefined {
  const header = context.headers['x-amz-copy-source']
  if (header === undefined) return undefined
  const source = peekCopySource(context)
  return source === undefined ? String(header) : `${source.bucket}/${source.key}`
}

/**
 * Condition keys about elements of the body, by the body's root element. If a policy has one of them, the body is read before the decision;
 * headers that would have the same meaning in other requests do not count.
 */
export const bodyConditions: ReadonlyMap<string, string> = new Map([
  ['Tagging', 's3:requestobjecttag'],
  ['Retention', 's3:object-lock-'],
  ['LegalHold', 's3:object-lock-'],
  ['CreateBucketConfiguration', 's3:locationconstraint'],
  ['ObjectEncryption', encryptionConditions],
])

function factsOfBody({ operation, xml }: S3RequestContext): Partial<RequestFacts> | undefined {
  switch (operation) {
    case 'PutObjectRetention': {
      const until = xml === undefined ? undefined : childText(xml, 'RetainUntilDate')
      const retainUntilMs = until === undefined ? Number.NaN : Date.parse(until)
      return {
        retention: {
          mode: xml === undefined ? undefined : childText(xml, 'Mode'),
          retainUntilMs: Number.isNaN(retainUntilMs) ? undefined : retainUntilMs,
        },
      }
    }
    case 'PutObjectLegalHold':
      return { legalHold: (xml === undefined ? undefined : childText(xml, 'Status')) ?? '', retention: {} }
    case 'CreateBucket':
      return xml === undefined ? undefined : { locationConstraint: childText(xml, 'LocationConstraint') }
    default:
      return undefined
  }
}

/** `TLSv1.3` is `1.3`; undefined if a proxy terminated TLS. */
function tlsVersionOf(socket: TLSSocket | undefined): string | undefined {
  const protocol = socket?.getProtocol?.()
  return protocol?.startsWith('TLSv') ? protocol.slice('TLSv'.length) : undefined
}

/**
 * The tags of the upload that is written to; of the source, if a copy or rename takes them over; otherwise from the header of a write, or
 * from the body of PutObjectTagging.
 */
function requestTags(context: S3RequestContext, existingTags: ExistingTags | undefined): Tags | undefined {
  const { headers, xml, bucket, key } = context
  const uploadId = uploadWrittenBy(context)
  if (uploadId !== undefined) return existingTags?.ofUpload(bucket, key, uploadId)
  const source = otherSourceOf(context)
  if (source?.carriesTags === true) return existingTags?.get(source.bucket, source.key, source.versionId)
  const header = headers['x-amz-tagging']
  if (typeof header === 'string') return new Map(new URLSearchParams(header))
  if (xml?.name !== 'Tagging') return undefined
  const tags = childrenNamed(xml, 'TagSet').flatMap(set => childrenNamed(set, 'Tag'))
  return new Map(tags.map(tag => [childText(tag, 'Key') ?? '', childText(tag, 'Value') ?? '']))
}

/** The encryption of the upload that is written to; from the body of UpdateObjectEncryption; otherwise from the headers. */
function encryptionOf(
  context: S3RequestContext,
  existingTags: ExistingTags | undefined,
): RequestEncryption | undefined {
  const { operation, headers, xml, bucket, key } = context
  const uploadId = uploadWrittenBy(context)
  if (uploadId !== undefined) {
    const encryption = existingTags?.encryptionOfUpload(bucket, key, uploadId)
    return encryption && encryptionInHeaders(encryption)
  }
  if (operation === 'UpdateObjectEncryption') {
    const chosen = xml === undefined ? [] : childrenNamed(xml, 'SSE-KMS')
    return { kmsKeyId: chosen[0] && childText(chosen[0], 'KMSKeyArn')?.trim() }
  }
  const asked = encryptionAsked(headers)
  const isUnnamed = asked.algorithm === 'aws:kms' && asked.kmsKeyId === undefined
  return isUnnamed ? { ...asked, kmsKeyId: context.defaultKmsKeyId } : asked
}

/** The encryption of an upload, as the headers that ask for it. */
export function encryptionInHeaders({ type, kmsKeyId }: ObjectEncryption): RequestEncryption {
  switch (type) {
    case 'SSE-C':
      return { customerAlgorithm: 'AES256' }
    case 'SSE-KMS':
      return { algorithm: 'aws:kms', kmsKeyId }
    default:
      return { algorithm: 'AES256' }
  }
}
