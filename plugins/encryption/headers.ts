/** The contribution to `s3.attribute`: reads the encryption headers of requests, and writes those of answers. */
import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { KmsService } from 'svc/plugins/kms/api'
import type { ObjectEncryption, ObjectVersion } from 'svc/plugins/objects/api'
import type { S3Attribute, S3Request } from 'svc/plugins/s3/api'
import { customerKeyHeaders, hasCustomerKey, readCustomerKey } from './customer-key.ts'
import { requireCustomerKey } from './data-keys.ts'
import {
  algorithmHeader,
  bucketKeyHeader,
  contextHeader,
  encryptionRequestHeaders,
  keyIdHeader,
  readEncryptionRequest,
} from './encryption-request.ts'
import { customerKeyMissing, customerKeyNotApplicable, encryptionErrors } from './errors.ts'
import { decodeSealed } from './sealed.ts'

export function encryptionHeaders(allowsInsecure: boolean, kms: Pick<KmsService, 'defaultKeyId'>): S3Attribute {
  /** A read uses the key twice. An entry lives as long as its request. */
  const keys = new WeakMap<IncomingHttpHeaders, KeyObject>()

  const keyOf = (headers: IncomingHttpHeaders, secure: boolean): KeyObject | undefined => {
    const known = keys.get(headers)
    if (known !== undefined) return known
    const key = readCustomerKey(headers, 'object', secure || allowsInsecure)
    if (key !== undefined) keys.set(headers, key)
    return key
  }

  return {
    headers: [...encryptionRequestHeaders, ...customerKeyHeaders],

    read(request) {
      const encryptionRequest = readEncryptionRequest(request, allowsInsecure)
      return encryptionRequest && { encryptionRequest }
    },

    customerKey: ({ headers, secure }, purpose) =>
      purpose === 'object' ? keyOf(headers, secure) : readCustomerKey(headers, purpose, secure || allowsInsecure),

    defaultKmsKeyId: () => kms.defaultKeyId,

    describe(request, version) {
      const { headers, secure } = request
      if (headers[algorithmHeader] !== undefined && (request.method === 'GET' || request.method === 'HEAD')) {
        throw encryptionErrors.InvalidArgument(`${algorithmHeader} header is not supported for this operation.`, {
          extra: { ArgumentName: algorithmHeader },
        })
      }
      const { encryption } = version
      if (encryption?.type === 'SSE-C') {
        const key = keyOf(headers, secure)
        if (key === undefined) throw customerKeyMissing()
        requireCustomerKey(decodeSealed(encryption.sealed), key)
      } else if (headers[customerAlgorithm] !== undefined && hasCustomerKey(headers, 'object')) {
        throw customerKeyNotApplicable()
      }
      return encryption && headersOf(encryption, headers)
    },

    describeWritten: (request, { encryption }) => encryption && describeWrite(encryption, request),
    describeUpload(request, { encryption }) {
      if (encryption?.type === 'SSE-C') {
        const key = keyOf(request.headers, request.secure)
        if (key !== undefined) requireCustomerKey(decodeSealed(encryption.sealed), key)
      }
      return encryption && describeWrite(encryption, request)
    },
    describePart: ({ headers }, { encryption }) => encryption && headersOf(encryption, headers),
  }
}

const customerAlgorithm = 'x-amz-server-side-encryption-customer-algorithm'
const customerKeyMd5 = 'x-amz-server-side-encryption-customer-key-md5'

function describeWrite(encryption: ObjectEncryption, { headers }: S3Request): Readonly<Record<string, string>> {
  const context = encryption.type === 'SSE-KMS' ? headers[contextHeader] : undefined
  const described = headersOf(encryption, headers)
  return typeof context === 'string' ? { ...described, [contextHeader]: context } : described
}

/** With SSE-C the MD5 of the key is not stored: the answer repeats the header of the request. */
function headersOf(
  { type, kmsKeyId, bucketKeyEnabled }: NonNullable<ObjectVersion['encryption']>,
  asked: IncomingHttpHeaders,
): Record<string, string> {
  if (type === 'SSE-S3') return { [algorithmHeader]: 'AES256' }
  if (type === 'SSE-C') {
    const md5 = asked[customerKeyMd5]
    return typeof md5 === 'string' ? { [customerAlgorithm]: 'AES256', [customerKeyMd5]: md5 } : {}
  }
  const headers: Record<string, string> = { [algorithmHeader]: 'aws:kms' }
  if (kmsKeyId !== undefined) headers[keyIdHeader] = kmsKeyId
  if (bucketKeyEnabled === true) headers[bucketKeyHeader] = 'true'
  return headers
}
