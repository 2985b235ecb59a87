/** Reads the body of a request into memory, within its bound, and verifies its signature if it has one. */
import type { IncomingMessage } from 'node:http'
import { CatalogError } from 'svc/kernel'
import type { Authentication, PayloadDecoder } from 'svc/plugins/iam/api'
import { adminErrors } from './errors.ts'
import { excessOf } from './json-bounds.ts'

/** Throws `entity_too_large`, `malformed_request`. If the body was not read to its end, the caller must close the connection. */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
  signature: Authentication | undefined,
): Promise<Buffer> {
  const decoder = signature?.createDecoder()
  // The encoding of a body adds less than the size of the body.
  const wireBytesMax = decoder === undefined ? bytesMax : bytesMax * 2 + 4096
  if (Number(request.headers['content-length'] ?? 0) > wireBytesMax) throw adminErrors.entity_too_large()
  const chunks: Buffer[] = []
  let sizeBytes = 0
  let wireBytes = 0
  const take = (chunk: Buffer): void => {
    sizeBytes += chunk.length
    if (sizeBytes > bytesMax) throw adminErrors.entity_too_large()
    chunks.push(decoder === undefined ? chunk : Buffer.from(chunk))
  }
  try {
    // Not destroyed if reading ends early, because the answer uses the same connection.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      wireBytes += chunk.length
      if (wireBytes > wireBytesMax) throw adminErrors.entity_too_large()
      if (decoder === undefined) take(chunk)
      else decode(() => decoder.push(chunk, take))
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
    throw adminErrors.malformed_request('The body of the request broke off.', { cause: error })
  }
  if (decoder !== undefined) decode(() => decoder.end())
  return Buffer.concat(chunks, sizeBytes)
}

/** Converts the errors of a decoder, which are S3's codes. */
function decode(step: () => ReturnType<PayloadDecoder['end']> | void): void {
  try {
    step()
  } catch (error) {
    if (!(error instanceof CatalogError) || error.code in adminErrors.entries) throw error
    if (error.code === 'SignatureDoesNotMatch') throw adminErrors.invalid_credentials(undefined, { cause: error })
    throw adminErrors.malformed_request(error.message, { cause: error })
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
const depthMax = 64
/** Many different names take microseconds each. More than any request needs: the parts of the largest upload have 30,000. */
const valuesMax = 50_000

/** Throws `malformed_request` for text that is no JSON, and for hostile JSON. */
export function parseJson(bytes: Buffer): unknown {
  const excess = excessOf(bytes, { valuesMax, depthMax })
  if (excess === 'values') throw adminErrors.malformed_request(`The body has more than ${valuesMax} values.`)
  if (excess === 'depth') throw adminErrors.malformed_request(`The body is nested deeper than ${depthMax} levels.`)
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch {
    // Without the parser's message, which repeats a part of the body, and so may repeat a secret.
    throw adminErrors.malformed_request()
  }
  requireHarmless(value)
  return value
}

/** Throws `malformed_request` for bytes that are not UTF-8. */
export function parseText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw adminErrors.malformed_request('The body of the request is not UTF-8.')
  }
}

/** A field of an HTML form. Throws `malformed_request`. */
export function parseFormField(bytes: Buffer, name: string): Buffer {
  const value = new URLSearchParams(bytes.toString('latin1')).get(name)
  if (value === null) throw adminErrors.malformed_request(`The form has no field "${name}".`)
  return Buffer.from(value, 'utf8')
}

/** A value of a body, and how one gets there. */
interface Place {
  readonly value: unknown
  readonly name: string
  readonly above: Place | undefined
}

/**
 * Throws `invalid_argument` for a field `__proto__`, whose assignment to an object would set its prototype, and for half of a surrogate pair
 * in a text or a name: rights would be decided about another key than the one that is stored, which has U+FFFD in its place.
 */
function requireHarmless(root: unknown): void {
  const rest: Place[] = [{ value: root, name: '', above: undefined }]
  for (let place = rest.pop(); place !== undefined; place = rest.pop()) {
    const { value } = place
    if (typeof value === 'string' && !value.isWellFormed()) throw refusedAt(place, halfOfPair)
    if (typeof value !== 'object' || value === null) continue
    for (const [name, child] of Object.entries(value)) {
      if (name === '__proto__') throw refusedAt(place, 'no field may be called __proto__.')
      if (!name.isWellFormed()) throw refusedAt(place, halfOfPair)
      if (typeof child === 'string' ? !child.isWellFormed() : typeof child === 'object') {
        rest.push({ value: child, name, above: place })
      }
    }
  }
}

const halfOfPair = 'holds half of a surrogate pair.'

function refusedAt(place: Place, why: string): Error {
  let path = ''
  for (let at: Place | undefined = place; at?.above !== undefined; at = at.above) path = `/${at.name}${path}`
  const detail = `${path === '' ? 'The body' : path}: ${why}`
  return adminErrors.invalid_argument(detail, { cause: [{ element: path, message: path === '' ? detail : why }] })
}

/** In lower case, without parameters; empty if the request has none. */
export function mediaTypeOf({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';')[0].trim().toLowerCase()
}

/**
 * Throws `malformed_request` without a body, `unsupported_media_type` unless the type is one of these, without an encoding and in UTF-8.
 */
export function requireMediaType({ headers }: IncomingMessage, accepted: readonly string[]): void {
  // Proxies drop the bodies of DELETE: an error about the type would mislead the user.
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (isEmpty && headers['content-type'] === undefined) {
    throw adminErrors.malformed_request('The request has no body.')
  }
  const [type, ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  const encodings = (headers['content-encoding'] ?? '').toLowerCase().split(',')
  const charset = parameters.map(parameter => parameter.trim()).find(parameter => parameter.startsWith('charset='))
  const isPlain = encodings.every(encoding => ['', 'identity', 'aws-chunked'].includes(encoding.trim()))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  if (accepted.includes(type.trim()) && isPlain && isUtf8) return
  throw adminErrors.unsupported_media_type(`The body of the request must be ${accepted.join(' or ')}, in UTF-8.`)
}
