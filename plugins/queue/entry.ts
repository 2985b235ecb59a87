/**
 * The bytes of an entry's record. Little-endian:
 *
 *     0  u8   format, 1
 *     1  u8   flags: 1 the payload is the record's body, 2 a dead letter
 *     2  u32  bytes of the payload
 *     6  f64  queued, milliseconds since 1970
 *    14  u16  bytes of the key
 *    16  a dead letter only: u32 attempts, f64 given up (ms), u16 bytes of the reason, the reason
 *        the key, then the payload, unless it is the body
 *
 * Payloads of more than 4 KiB are bodies if the backend has inline bodies of that size, so that the index stays small.
 */
const format = 1
const flag = { inBody: 1, dead: 2 } as const
const headBytes = 16
const deadBytes = 14
const inBodyBytesMin = 4096
export const keyBytesMax = 2000
export const payloadBytesMax = 1024 * 1024

export interface DecodedEntry {
  readonly key: string
  readonly size: number
  readonly queuedMs: number
  /** A copy. Undefined when it is the body of the record. */
  readonly payload: Buffer | undefined
}

export interface Failure {
  readonly reason: string
  readonly attempts: number
  readonly givenUpMs: number
}

/** Throws RangeError for a key or payload over its bound. */
export function checkEntry(key: string, payload: Uint8Array): void {
  if (payload.length > payloadBytesMax) {
    throw new RangeError(`queue: a payload of ${payload.length} bytes is over ${payloadBytesMax}`)
  }
  if (key.length > keyBytesMax || (key.length * 3 > keyBytesMax && Buffer.byteLength(key) > keyBytesMax)) {
    throw new RangeError(`queue: a key has at most ${keyBytesMax} bytes`)
  }
}

export function isInBody(size: number, inlineBytesMax: number): boolean {
  return size > inBodyBytesMin && size <= inlineBytesMax
}

export function encodeEntry(key: string, payload: Uint8Array, queuedMs: number, inBody: boolean): Buffer {
  const keyBytes = Buffer.byteLength(key)
  const value = Buffer.allocUnsafe(headBytes + keyBytes + (inBody ? 0 : payload.length))
  writeHead(value, inBody ? flag.inBody : 0, payload.length, queuedMs, keyBytes)
  value.write(key, headBytes, 'utf8')
  if (!inBody) value.set(payload, headBytes + keyBytes)
  return value
}

/** Decodes an entry or a dead letter. */
export function decodeEntry(value: Uint8Array): DecodedEntry {
  const bytes = readable(value)
  const keyAt = tailAt(bytes)
  const payloadAt = keyAt + bytes.readUInt16LE(14)
  return {
    key: bytes.toString('utf8', keyAt, payloadAt),
    size: bytes.readUInt32LE(2),
    queuedMs: bytes.readDoubleLE(6),
    payload: hasFlag(bytes, flag.inBody) ? undefined : Buffer.from(bytes.subarray(payloadAt)),
  }
}

/** The record of a dead letter, from that of its entry. */
export function encodeDeadLetter(value: Uint8Array, { reason, attempts, givenUpMs }: Failure): Buffer {
  const bytes = readable(value)
  const reasonBytes = Buffer.byteLength(reason)
  const dead = Buffer.allocUnsafe(bytes.length + deadBytes + reasonBytes)
  bytes.copy(dead, 0, 0, headBytes)
  dead[1] = bytes[1]! | flag.dead
  dead.writeUInt32LE(attempts, headBytes)
  dead.writeDoubleLE(givenUpMs, headBytes + 4)
  dead.writeUInt16LE(reasonBytes, headBytes + 12)
  dead.write(reason, headBytes + deadBytes, 'utf8')
  bytes.copy(dead, headBytes + deadBytes + reasonBytes, headBytes)
  return dead
}

export function decodeFailure(value: Uint8Array): Failure {
  const bytes = readable(value)
  return {
    reason: bytes.toString('utf8', headBytes + deadBytes, tailAt(bytes)),
    attempts: bytes.readUInt32LE(headBytes),
    givenUpMs: bytes.readDoubleLE(headBytes + 4),
  }
}

/** The record of a waiting entry, from that of its dead letter. */
export function encodeRequeued(value: Uint8Array): Buffer {
  const bytes = readable(value)
  const head = Buffer.from(bytes.subarray(0, headBytes))
  head[1]! &= ~flag.dead
  return Buffer.concat([head, bytes.subarray(tailAt(bytes))])
}

/** Bytes of the payload, for the counters: never throws. */
export function payloadSizeOf(value: Uint8Array): number {
  return value.length < headBytes ? 0 : asBuffer(value).readUInt32LE(2)
}

function writeHead(value: Buffer, flags: number, size: number, queuedMs: number, keyBytes: number): void {
  value[0] = format
  value[1] = flags
  value.writeUInt32LE(size, 2)
  value.writeDoubleLE(queuedMs, 6)
  value.writeUInt16LE(keyBytes, 14)
}

function readable(value: Uint8Array): Buffer {
  const bytes = asBuffer(value)
  if (bytes.length < headBytes || bytes[0] !== format) {
    throw new Error(`queue: an entry has format ${bytes[0]}, which this release cannot read`)
  }
  return bytes
}

/** Where the key begins. */
function tailAt(bytes: Buffer): number {
  return hasFlag(bytes, flag.dead) ? headBytes + deadBytes + bytes.readUInt16LE(headBytes + 12) : headBytes
}

function hasFlag(bytes: Buffer, wanted: number): boolean {
  return (bytes[1]! & wanted) !== 0
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
