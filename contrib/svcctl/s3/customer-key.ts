/**
 * Keys of customers (SSE-C): sent with each request that writes or reads encrypted data, and stored by their owner alone. Source:
 * AWS S3 User Guide, "Using server-side encryption with customer-provided keys".
 */
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { usageError } from '../errors.ts'

export interface CustomerKey {
  /** A hash of the key, for the state of unfinished transfers. */
  readonly id: string
  /** Headers of requests that write or read the object. */
  readonly headers: Readonly<Record<string, string>>
  /** The headers of the source of a copy. */
  readonly sourceHeaders: Readonly<Record<string, string>>
}

const keyBytes = 32
/** Base64 with a line break, and no more: a file that is larger is no key. */
const fileBytesMax = 64

/** The file holds the 32 bytes, or one line of them in base64. Messages do not repeat them. */
export function readCustomerKey(path: string): CustomerKey {
  // The user gave the key itself, which must not appear in logs. Base64 may have slashes, so only the end is tested.
  if (!existsSync(path) && /[A-Za-z0-9+/]{42}[A-Za-z0-9+/]=$|(^|\/)[0-9a-f]{64}$/i.test(path)) {
    throw usageError('The key itself was given, and is not repeated here. Write it to a file, and name that.')
  }
  const content = readFileSync(path)
  const text = content.length <= fileBytesMax ? content.toString('latin1').trim() : ''
  const key =
    content.length === keyBytes ? content : /^[A-Za-z0-9+/]{43}=$/.test(text) ? Buffer.from(text, 'base64') : undefined
  if (key === undefined) {
    throw usageError(
      `${JSON.stringify(path)} holds no key. A key has 32 bytes, or one line of them in base64 (\`openssl rand -base64 32\`).`,
    )
  }
  const headers = (prefix: string) => ({
    [`${prefix}algorithm`]: 'AES256',
    [`${prefix}key`]: key.toString('base64'),
    [`${prefix}key-md5`]: hash('md5', key, 'base64'),
  })
  return {
    id: hash('sha256', Buffer.concat([Buffer.from('svcctl customer key\0'), key]), 'base64url').slice(0, 22),
    headers: headers('x-amz-server-side-encryption-customer-'),
    sourceHeaders: headers('x-amz-copy-source-server-side-encryption-customer-'),
  }
}

export const carriesSourceKey = (headers: Readonly<Record<string, string>> | undefined): boolean =>
  headers?.['x-amz-copy-source-server-side-encryption-customer-key'] !== undefined

export const carriesCustomerKey = (headers: Readonly<Record<string, string>> | undefined): boolean =>
  headers !== undefined && Object.keys(headers).some(name => name.endsWith('server-side-encryption-customer-key'))
