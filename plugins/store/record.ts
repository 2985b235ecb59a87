/**
 * The bytes of a document's record: a head of fixed length, so that a precondition reads a few bytes and decodes nothing, and JSON.
 *
 *     0  u8   format, 1             4  u48       modified, ms
 *     1  u8   flags                10  f64       sequence of the commit that wrote it
 *     2  u16  version of the schema  18  16 bytes  ETag
 *    34  JSON, canonical: the value; with the flag `sealed` [value with null for each secret, {pointer: base64}]
 *
 * Little-endian. The commit stamps `modified` and `sequence`. There is no checksum: the storage backend detects damaged bytes.
 */
const format = 1
const headBytes = 34
const flag = { sealed: 1 } as const

/** Why a record cannot be read. */
export class UnreadableError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableError'
  }
}

export interface RecordHead {
  readonly isSealed: boolean
  readonly version: number
  readonly modifiedMs: number
  readonly sequence: number
  /** 32 hexadecimal digits. */
  readonly etag: string
}

export interface RecordFields {
  readonly isSealed: boolean
  readonly version: number
  readonly etag: string
  readonly json: string
}

/** A record without time and sequence, which `stampRecord` adds. */
export function encodeRecord({ isSealed, version, etag, json }: RecordFields): Buffer {
  const record = Buffer.alloc(headBytes + Buffer.byteLength(json))
  record[0] = format
  record[1] = isSealed ? flag.sealed : 0
  record.writeUInt16LE(version, 2)
  record.write(etag, 18, 'hex')
  record.write(json, headBytes, 'utf8')
  return record
}

export function stampRecord(record: Buffer, modifiedMs: number, sequence: number): void {
  record.writeUIntLE(modifiedMs, 4, 6)
  record.writeDoubleLE(sequence, 10)
}

/** Throws UnreadableError. */
export function readHead(value: Uint8Array): RecordHead {
  const record = asBuffer(value)
  if (record.length < headBytes) throw new UnreadableError('it is too short')
  if (record[0] !== format) throw new UnreadableError(`it has format ${record[0]}, which this release cannot read`)
  return {
    isSealed: (record[1]! & flag.sealed) !== 0,
    version: record.readUInt16LE(2),
    modifiedMs: record.readUIntLE(4, 6),
    sequence: record.readDoubleLE(10),
    etag: record.toString('hex', 18, headBytes),
  }
}

/** The JSON after the head. Throws UnreadableError. */
export function readJson(value: Uint8Array): unknown {
  try {
    return JSON.parse(asBuffer(value).toString('utf8', headBytes))
  } catch {
    // Without the parser's message, which repeats text of the document and so may repeat a secret.
    throw new UnreadableError('it is no JSON')
  }
}

/** The sequence of a record, or 0 if it is too short to have one: enough to tell whether two records differ. */
export function sequenceOf(value: Uint8Array): number {
  return value.length < headBytes ? 0 : asBuffer(value).readDoubleLE(10)
}

export function isSealedRecord(value: Uint8Array): boolean {
  return value.length >= headBytes && value[0] === format && (value[1]! & flag.sealed) !== 0
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
