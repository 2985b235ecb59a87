import type { Clock } from 'svc/kernel'
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import {
  type Body,
  type ExpectedDigests,
  type ObjectsService,
  objectErrors,
  type PutResult,
  requireKeyLength,
} from 'svc/plugins/objects/api'
import {
  checksumHeaders,
  defineS3Operation,
  listingText,
  quoteEtag,
  requireChecksumAlgorithm,
  type S3Request,
  type S3Result,
  s3Errors,
  writtenVersionId,
} from 'svc/plugins/s3/api'
import { expandFileName, headersOf, missingField, redirectOf, requireKey, successStatus } from '../fields.ts'
import { type PostedForm, readForm } from '../form.ts'
import { readPolicy, requirePolicy, type SizeRange } from '../policy-document.ts'

interface PostObjectServices {
  readonly objects: ObjectsService
  readonly checksums: ChecksumsService
  readonly clock: Clock
}

export default defineS3Operation({
  name: 'PostObject',
  summary: 'Stores the file of a form that a browser sends.',
  match: { method: 'POST', level: 'bucket' },
  action: 's3:PutObject',
  authorization: 'form',
  body: { kind: 'stream' },
  reply: { kind: 'xml', root: 'PostResponse' },
  statuses: [204, 201, 303],
  errors: [
    'BadDigest',
    'EntityTooLarge',
    'EntityTooSmall',
    'IncompleteBody',
    'IncorrectNumberOfFilesInPostRequest',
    'InvalidArgument',
    'InvalidDigest',
    'InvalidPolicyDocument',
    'InvalidRedirectLocation',
    'InvalidStorageClass',
    'KeyTooLongError',
    'MalformedPOSTRequest',
    'MaxPostPreDataLengthExceededError',
    'MetadataTooLarge',
    'MissingContentLength',
    'NoSuchBucket',
    'PreconditionFailed',
  ],
  uses: ['objects', 'checksums', 'ports'],
  handle: (request, { ports, ...services }) => postObject(request, { ...services, clock: ports.clock }),
})

async function postObject(request: S3Request, services: PostObjectServices): Promise<S3Result> {
  const { bucket, headers, body } = request
  const contentType = headers['content-type'] ?? ''
  if (!/^multipart\/form-data\b/i.test(contentType)) {
    // Strangers learn nothing of the bucket by a request that is no form.
    if (request.identity === undefined) throw s3Errors.AccessDenied()
    await services.objects.getBucket(bucket)
    throw objectErrors.PreconditionFailed('Bucket POST must be of the enclosure-type multipart/form-data', {
      extra: { Condition: 'Bucket POST must be of the enclosure-type multipart/form-data' },
    })
  }
  const form = await readForm(body, contentType)
  try {
    return await storeFile(request, form, services)
  } catch (error) {
    form.abandon()
    throw error
  }
}

async function storeFile(request: S3Request, form: PostedForm, services: PostObjectServices): Promise<S3Result> {
  const { bucket } = request
  const { objects, checksums, clock } = services
  const fields = expandFileName(form.fields, form.fileName)
  const key = request.normalizeKey(requireKey(fields))
  requireKeyLength(key)
  const headers = headersOf(fields)
  const expected = await request.takeForm({ fields: form.fields, key, headers })
  const size = requireFormPolicy(form.fields, fields, bucket, clock.now(), request.normalizeKey)
  if (!request.isAllowed('s3:PutObject', bucket, key)) throw s3Errors.AccessDenied()
  const named = requireChecksumAlgorithm(headers['x-amz-checksum-algorithm'], checksums)
  const checksumAlgorithm = expected.checksum?.algorithm ?? named
  if (named !== undefined && named !== checksumAlgorithm) {
    throw objectErrors.InvalidRequest('Value for x-amz-checksum-algorithm does not fit the checksum of the form.')
  }
  const stored = await objects.putObject({
    bucket,
    key,
    attributes: request.readAttributes(),
    body: createFileBody(form, expected, size),
    checksumAlgorithm,
    cause: 'Post',
    origin: request.origin,
  })
  const described = await request.describeWritten({ bucket, key, ...stored })
  return describeStored(request, fields, key, stored, described)
}

/** What the policy says of the file's size; undefined where there is none. */
function requireFormPolicy(
  fields: ReadonlyMap<string, string>,
  expanded: ReadonlyMap<string, string>,
  bucket: string,
  nowMs: number,
  normalizeKey: (key: string) => string,
): SizeRange | undefined {
  const text = fields.get('policy')
  if (text === undefined) return undefined
  // Without a signature anybody could have written it.
  if (!fields.has('x-amz-signature') && !fields.has('signature')) throw missingField('x-amz-signature')
  const policy = readPolicy(text)
  requirePolicy(policy, expanded, bucket, nowMs, normalizeKey)
  return policy.size
}

function createFileBody(form: PostedForm, expected: ExpectedDigests, size: SizeRange | undefined): Body {
  return {
    sizeBytes: undefined,
    expectedDigests: () => expected,
    async consume(sink) {
      let sizeBytes = 0
      await form.consume(chunk => {
        sizeBytes += chunk.length
        if (size !== undefined && sizeBytes > size.bytesMax) {
          throw objectErrors.EntityTooLarge(undefined, {
            extra: { ProposedSize: String(sizeBytes), MaxSizeAllowed: String(size.bytesMax) },
          })
        }
        return sink(chunk)
      })
      if (size !== undefined && sizeBytes < size.bytesMin) {
        throw objectErrors.EntityTooSmall(undefined, {
          extra: { ProposedSize: String(sizeBytes), MinSizeAllowed: String(size.bytesMin) },
        })
      }
    },
  }
}

function describeStored(
  { bucket, host, secure }: S3Request,
  fields: ReadonlyMap<string, string>,
  key: string,
  stored: PutResult,
  described: Readonly<Record<string, string>> | undefined,
): S3Result {
  const etag = quoteEtag(stored.etag)
  const redirect = redirectOf(fields, { bucket, key, etag: stored.etag })
  const path = `${host.startsWith(`${bucket}.`) ? '' : `/${bucket}`}/${listingText(key, 'url')}`
  const location = `${secure ? 'https' : 'http'}://${host}${path}`
  const headers = {
    ETag: etag,
    Location: redirect ?? location,
    'x-amz-version-id': writtenVersionId(stored.versionId),
    ...checksumHeaders(stored.checksum),
    ...described,
  }
  if (redirect !== undefined) return { status: 303, headers }
  const status = successStatus(fields)
  if (status !== 201) return { status, headers }
  return { status, headers, xml: { Location: location, Bucket: bucket, Key: key, ETag: etag } }
}
