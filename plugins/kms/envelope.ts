/**
 * A wrapped key as it is stored: the backend and the key that can unwrap it, and the bytes of the backend.
 *
 *     0  u8            format, 1
 *     1  u8, bytes     backend, as contributed to `kms.backend`
 *        u8, bytes     key id
 *        the rest      the key as wrapped by the backend
 */
import { kmsErrors } from './errors.ts'

const format = 1
const nameBytesMax = 255

export interface Envelope {
  readonly backend: string
  readonly keyId: string
  readonly wrapped: Buffer
}

export function encodeEnvelope({ backend, keyId, wrapped }: Envelope): Buffer {
  const bytes = Buffer.allocUnsafe(3 + Buffer.byteLength(backend) + Buffer.byteLength(keyId) + wrapped.length)
  bytes[0] = format
  bytes.set(wrapped, writeName(bytes, writeName(bytes, 1, backend), keyId))
  return bytes
}

/** Returns where it ends. */
function writeName(bytes: Buffer, at: number, name: string): number {
  const length = bytes.write(name, at + 1)
  if (length > nameBytesMax) throw new RangeError(`a name in an envelope has at most ${nameBytesMax} bytes`)
  bytes[at] = length
  return at + 1 + length
}

/** Throws `kms_open_failed` for bytes that are no envelope. */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (buffer[0] !== format) throw kmsErrors.kms_open_failed(`A wrapped key has format ${buffer[0]}, which is unknown.`)
  let at = 1
  const readName = (): string => {
    const end = at + 1 + (buffer[at] ?? 0)
    if (end > buffer.length) throw kmsErrors.kms_open_failed('A wrapped key is cut off.')
    const name = buffer.toString('utf8', at + 1, end)
    at = end
    return name
  }
  return { backend: readName(), keyId: readName(), wrapped: buffer.subarray(at) }
}
