/**
 * Keys that customers send with their requests. Source: AWS S3 User Guide, "Using server-side encryption with customer-provided keys".
 * A key arrives as text in a header and is converted to a KeyObject at once, so that it cannot end up in a log or a message.
 */
import { createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { encryptionErrors } from './errors.ts'

const prefixes = {
  object: 'x-amz-server-side-encryption-customer-',
  'copy-source': 'x-amz-copy-source-server-side-encryption-customer-',
} as const

export type KeyPurpose = keyof typeof prefixes

const keyBytes = 32
const md5Bytes = 16

/** Lower-case. */
export const customerKeyHeaders: readonly string[] = Object.values(prefixes).flatMap(prefix =>
  ['algorithm', 'key', 'key-md5'].map(name => prefix + name),
)

export function hasCustomerKey(headers: IncomingHttpHeaders, purpose: KeyPurpose): boolean {
  const names = purpose === 'object' ? customerKeyHeaders.slice(0, 3) : customerKeyHeaders.slice(3)
  return names.some(name => headers[name] !== undefined)
}

/** Undefined if the request has none. `isSafe`: the connection is encrypted, or plain HTTP is allowed for tests. */
export function readCustomerKey(
  headers: IncomingHttpHeaders,
  purpose: KeyPurpose,
  isSafe: boolean,
): KeyObject | undefined {
  if (!hasCustomerKey(headers, purpose)) return undefined
  const prefix = prefixes[purpose]
  const header = (name: string) => headers[prefix + name] as string | undefined
  if (!isSafe) {
    throw encryptionErrors.InvalidRequest(
      'Requests specifying Server Side Encryption with Customer provided keys must be made over a secure connection.',
    )
  }
  const algorithm = header('algorithm')
  if (algorithm === undefined) throw missing('a valid encryption algorithm')
  if (algorithm !== 'AES256') throw encryptionErrors.InvalidEncryptionAlgorithmError()
  const text = header('key')
  if (text === undefined) throw missing('an appropriate secret key')
  const md5Text = header('key-md5')
  if (md5Text === undefined) throw missing('the client calculated MD5 of the secret key')
  const key = Buffer.from(text, 'base64')
  try {
    // Node.js ignores characters that are not base64: compare with the encoded bytes to refuse such text.
    if (key.length !== keyBytes || key.toString('base64') !== text) {
      throw invalid(`${prefix}key`, 'The secret key was invalid for the specified algorithm.')
    }
    const md5 = Buffer.from(md5Text, 'base64')
    const isMd5 = md5.length === md5Bytes && md5.toString('base64') === md5Text
    if (!isMd5 || !timingSafeEqual(md5, hash('md5', key, 'buffer'))) {
      throw invalid(`${prefix}key-MD5`, 'The calculated MD5 hash of the key did not match the hash that was provided.')
    }
    return createSecretKey(key)
  } finally {
    key.fill(0)
  }
}

function missing(what: string): Error {
  return encryptionErrors.InvalidArgument(
    `Requests specifying Server Side Encryption with Customer provided keys must provide ${what}.`,
  )
}

/** Without the value, because it is a key or depends on one. */
function invalid(name: string, message: string): Error {
  return encryptionErrors.InvalidArgument(message, { extra: { ArgumentName: name } })
}
