/** Reads the encryption request from the headers of a write. Source: AWS S3 API reference, PutObject. */
import { mayBeKeyId } from 'svc/plugins/kms/api'
import type { EncryptionRequest } from 'svc/plugins/objects/api'
import { kmsKeyIdOf } from 'svc/plugins/policy/api'
import type { AttributeRequest } from 'svc/plugins/s3/api'
import { hasCustomerKey, readCustomerKey } from './customer-key.ts'
import { encryptionErrors } from './errors.ts'

export const algorithmHeader = 'x-amz-server-side-encryption'
export const keyIdHeader = 'x-amz-server-side-encryption-aws-kms-key-id'
export const contextHeader = 'x-amz-server-side-encryption-context'
export const bucketKeyHeader = 'x-amz-server-side-encryption-bucket-key-enabled'

export const encryptionRequestHeaders: readonly string[] = [
  algorithmHeader,
  keyIdHeader,
  contextHeader,
  bucketKeyHeader,
]

const contextBytesMax = 2048
const contextNamesMax = 32

/** Undefined if the headers request none: then the bucket's default applies. */
export function readEncryptionRequest(
  request: AttributeRequest,
  allowsInsecure: boolean,
): EncryptionRequest | undefined {
  const { headers } = request
  const algorithm = headers[algorithmHeader] as string | undefined
  if (hasCustomerKey(headers, 'object')) {
    if (algorithm !== undefined) {
      throw invalid(
        algorithmHeader,
        'Server Side Encryption with Customer provided key is incompatible with the encryption method specified.',
      )
    }
    if (request.secure === undefined) {
      throw encryptionErrors.InvalidRequest('Only the S3 API accepts keys of customers.')
    }
    const customerKey = readCustomerKey(headers, 'object', request.secure || allowsInsecure)!
    return { type: 'SSE-C', customerKey }
  }
  const keyId = headers[keyIdHeader] as string | undefined
  const context = headers[contextHeader] as string | undefined
  if (algorithm === 'aws:kms') {
    return {
      type: 'SSE-KMS',
      kmsKeyId: keyId === undefined ? undefined : readKeyId(keyId),
      context: context === undefined ? undefined : readContext(context),
      bucketKeyEnabled: readFlag(headers[bucketKeyHeader] as string | undefined),
    }
  }
  if (keyId !== undefined || context !== undefined) {
    throw invalid(
      keyId === undefined ? contextHeader : keyIdHeader,
      `Server Side Encryption with AWS KMS managed key requires HTTP header ${algorithmHeader} : aws:kms`,
    )
  }
  if (algorithm === undefined) return undefined
  if (algorithm === 'AES256') return { type: 'SSE-S3' }
  if (algorithm === 'aws:kms:dsse') {
    throw encryptionErrors.NotImplemented('Dual-layer encryption (aws:kms:dsse) is not implemented.')
  }
  throw invalid(algorithmHeader, 'The encryption method specified is not supported.')
}

/** Accepts a key id, or the full ARN that AWS would have for it; conditions of policies understand the same two forms. */
export function readKeyId(text: string): string {
  const id = kmsKeyIdOf(text)
  if (id === '') throw invalid(keyIdHeader, 'The key id is empty.')
  // Not a valid id; in a path to a key server it could mean another resource.
  if (!mayBeKeyId(id)) throw encryptionErrors['KMS.NotFoundException']()
  return id
}

function readFlag(text: string | undefined): boolean {
  if (text === undefined || text.toLowerCase() === 'false') return false
  if (text.toLowerCase() === 'true') return true
  throw invalid(bucketKeyHeader, 'The value must be true or false.')
}

/** Base64 of a JSON object whose values are strings. */
function readContext(text: string): Readonly<Record<string, string>> {
  const bytes = Buffer.from(text, 'base64')
  const wrong = () =>
    invalid(contextHeader, 'The encryption context must be base64 of a JSON object whose values are strings.')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    throw wrong()
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong()
  const pairs = Object.entries(value)
  // A lone surrogate cannot be encoded as UTF-8, so it cannot be authenticated.
  if (!pairs.every(([name, one]) => name.isWellFormed() && typeof one === 'string' && one.isWellFormed())) throw wrong()
  if (bytes.length > contextBytesMax || pairs.length > contextNamesMax) {
    throw invalid(
      contextHeader,
      `The encryption context has at most ${contextBytesMax} bytes and ${contextNamesMax} names.`,
    )
  }
  // The server's own names bind the key to its object; a client that could set them could bind it to another one.
  const reserved = pairs.find(([name]) => name.startsWith('aws:') || name.startsWith('svc:'))
  if (reserved !== undefined)
    throw invalid(contextHeader, `The name ${reserved[0]} in an encryption context is reserved.`)
  return Object.fromEntries(pairs) as Record<string, string>
}

function invalid(name: string, message: string): Error {
  return encryptionErrors.InvalidArgument(message, { extra: { ArgumentName: name } })
}
