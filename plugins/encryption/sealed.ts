/**
 * Encodes the fields `sealed` of `ObjectEncryption`, which are stored in the record of an encrypted version or upload beside its
 * encryption type and KMS key id:
 *
 *     0  u8         format: 2 if the data key itself encrypts the version (one piece), else 1
 *     1  16 bytes   identity of the version, random: its keys and its chunks are bound to it
 *    17  u16, n×8   salts of the parts in order, or of a version in one piece of format 1; none in an upload, none in format 2
 *        u16, JSON  encryption context of the customer, if any
 *        u8, bytes  verifier of the customer's key, if SSE-C
 *        the rest   the wrapped data key, bound to bucket, key and identity (data-keys.ts)
 *
 * The record of a part has its salt alone; completing the upload collects the salts into the record of the version.
 */
import { storageErrors } from 'svc/plugins/storage/api'
import { identityBytes, saltBytes } from './chunks.ts'

const format = 1
const directFormat = 2

export interface SealedVersion {
  /** Whether the data key itself encrypts the version, which is its only stream (chunks.ts). */
  readonly isDirect: boolean
  readonly identity: Buffer
  readonly salts: readonly Buffer[]
  readonly context: Readonly<Record<string, string>> | undefined
  readonly verifier: Buffer | undefined
  readonly dataKey: Buffer
}

export function encodeSealed({ isDirect, identity, salts, context, verifier, dataKey }: SealedVersion): Buffer {
  // Its nonces start at zero, so a second stream under the same key would reuse them.
  if (isDirect && salts.length > 0) throw unreadable()
  const json = context === undefined ? nothing : Buffer.from(JSON.stringify(context))
  const checked = verifier ?? nothing
  const saltsBytes = salts.length * saltBytes
  const headBytes = 1 + identityBytes + 2 + saltsBytes + 2 + json.length + 1 + checked.length
  const bytes = Buffer.allocUnsafe(headBytes + dataKey.length)
  bytes[0] = isDirect ? directFormat : format
  bytes.set(identity, 1)
  let at = bytes.writeUInt16BE(salts.length, 1 + identityBytes)
  for (const salt of salts) {
    if (salt.length !== saltBytes) throw unreadable()
    bytes.set(salt, at)
    at += saltBytes
  }
  at = bytes.writeUInt16BE(json.length, at)
  bytes.set(json, at)
  at = bytes.writeUInt8(checked.length, at + json.length)
  bytes.set(checked, at)
  bytes.set(dataKey, at + checked.length)
  return bytes
}

/** Throws `corrupt`. */
export function decodeSealed(bytes: Buffer): SealedVersion {
  const isDirect = bytes[0] === directFormat
  if (!isDirect && bytes[0] !== format) throw unreadable()
  const saltsAt = 1 + identityBytes + 2
  const saltCount = lengthAt(bytes, saltsAt - 2)
  if (isDirect && saltCount > 0) throw unreadable()
  const jsonAt = saltsAt + saltCount * saltBytes + 2
  const verifierAt = jsonAt + lengthAt(bytes, jsonAt - 2) + 1
  const verifierBytes = bytes[verifierAt - 1]
  if (verifierBytes === undefined || verifierAt + verifierBytes > bytes.length) throw unreadable()
  return {
    isDirect,
    identity: bytes.subarray(1, 1 + identityBytes),
    salts: saltCount === 0 ? none : readSalts(bytes, saltsAt, saltCount),
    context: verifierAt === jsonAt + 1 ? undefined : parse(bytes.subarray(jsonAt, verifierAt - 1)),
    verifier: verifierBytes === 0 ? undefined : bytes.subarray(verifierAt, verifierAt + verifierBytes),
    dataKey: bytes.subarray(verifierAt + verifierBytes),
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  if (at + 2 > bytes.length) throw unreadable()
  return bytes.readUInt16BE(at)
}

function readSalts(bytes: Buffer, at: number, count: number): Buffer[] {
  if (at + count * saltBytes > bytes.length) throw unreadable()
  return Array.from({ length: count }, (_, i) => bytes.subarray(at + i * saltBytes, at + (i + 1) * saltBytes))
}

function parse(json: Buffer): Record<string, string> {
  try {
    return JSON.parse(json.toString())
  } catch {
    throw unreadable()
  }
}

function unreadable(): Error {
  return storageErrors.corrupt('The encryption fields in the record of an object cannot be read.')
}

const nothing = Buffer.alloc(0)
const none: readonly Buffer[] = []
