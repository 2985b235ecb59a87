/** Transaction signatures (TSIG, RFC 8945): requests are signed with a shared key, and so are their answers, over the MAC of the request. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { decode } from 'dns-packet'
import { endOfName, nameBytes, skipQuestions } from './message.ts'

export const tsigAlgorithms = ['hmac-sha256', 'hmac-sha384', 'hmac-sha512', 'hmac-sha224', 'hmac-sha1'] as const
export type TsigAlgorithm = (typeof tsigAlgorithms)[number]

export interface TsigKey {
  /** Lower case, without a final dot. */
  readonly name: string
  readonly algorithm: TsigAlgorithm
  readonly secret: Uint8Array
}

export interface SignedMessage {
  readonly bytes: Buffer
  readonly mac: Buffer
}

/** The TSIG record of an answer. `isAuthentic`: its MAC and its time are valid. */
export interface TsigOfAnswer {
  readonly isAuthentic: boolean
  /** Extended response code: 16 BADSIG, 17 BADKEY, 18 BADTIME. */
  readonly error: number
}

const tsigType = 250
const classAny = 255
/** Seconds that clocks may differ (RFC 8945, section 10). */
const fudgeSeconds = 300
const originalIdBytes = 2

/** `message`: without TSIG. `seconds`: since 1970. */
export function signMessage(message: Buffer, key: TsigKey, seconds: number): SignedMessage {
  const times = timeBytes(seconds, fudgeSeconds)
  const mac = macOf(key, [message, variables(key, times, 0, empty)])
  const id = message.subarray(0, originalIdBytes)
  const data = [nameBytes(key.algorithm), times, uint16(mac.length), mac, id, uint16(0), uint16(0)]
  const bytes = Buffer.concat([message, recordOf(key, Buffer.concat(data))])
  bytes.writeUInt16BE(message.readUInt16BE(10) + 1, 10)
  return { bytes, mac }
}

/** Undefined where the answer has no TSIG. Throws RangeError for a malformed message. */
export function readTsig(answer: Buffer, key: TsigKey, requestMac: Buffer, seconds: number): TsigOfAnswer | undefined {
  const count = answer.readUInt16BE(10)
  const start = lastRecord(answer)
  if (count === 0 || start === undefined) return undefined
  const last = decode(answer).additionals?.at(-1)
  // The types of the library do not have it; its data are bytes.
  const { type, name, data } = last as unknown as { type: string; name: string; data: Buffer }
  if (type !== 'TSIG') return undefined
  const { algorithm, times, mac, originalId, error, other } = parseData(data)
  const isOurKey = name.toLowerCase() === key.name && algorithm === key.algorithm
  const signed = Buffer.from(answer.subarray(0, start))
  originalId.copy(signed, 0)
  signed.writeUInt16BE(count - 1, 10)
  const expected = macOf(key, [uint16(requestMac.length), requestMac, signed, variables(key, times, error, other)])
  const isSame = mac.length === expected.length && timingSafeEqual(mac, expected)
  const isInTime = Math.abs(times.readUIntBE(0, 6) - seconds) <= times.readUInt16BE(6)
  return { isAuthentic: isOurKey && isSame && isInTime, error }
}

function macOf({ algorithm, secret }: TsigKey, parts: readonly Buffer[]): Buffer {
  const hmac = createHmac(algorithm.slice('hmac-'.length), secret)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

const empty = Buffer.alloc(0)

/** RFC 8945, section 4.3.3. `times`: time signed and fudge. */
function variables({ name, algorithm }: TsigKey, times: Buffer, error: number, other: Buffer): Buffer {
  const timeToLive = Buffer.alloc(4)
  return Buffer.concat([
    nameBytes(name),
    uint16(classAny),
    timeToLive,
    nameBytes(algorithm),
    times,
    uint16(error),
    uint16(other.length),
    other,
  ])
}

function recordOf({ name }: TsigKey, data: Buffer): Buffer {
  const timeToLive = Buffer.alloc(4)
  return Buffer.concat([nameBytes(name), uint16(tsigType), uint16(classAny), timeToLive, uint16(data.length), data])
}

function timeBytes(seconds: number, fudge: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUIntBE(seconds, 0, 6)
  bytes.writeUInt16BE(fudge, 6)
  return bytes
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

function parseData(data: Buffer) {
  const end = endOfName(data, 0)
  const macBytes = data.readUInt16BE(end + 8)
  const behind = end + 10 + macBytes
  const otherBytes = data.readUInt16BE(behind + 4)
  return {
    algorithm: readName(data),
    times: data.subarray(end, end + 8),
    mac: data.subarray(end + 10, behind),
    originalId: data.subarray(behind, behind + originalIdBytes),
    error: data.readUInt16BE(behind + 2),
    other: data.subarray(behind + 6, behind + 6 + otherBytes),
  }
}

/** The name at the beginning, which is not compressed (RFC 8945, section 4.2). */
function readName(data: Buffer): string {
  const labels: string[] = []
  for (let at = 0; data[at] !== 0; at += data[at]! + 1) {
    if (data[at]! > 63) throw new RangeError('a name is compressed where it may not be')
    labels.push(data.toString('latin1', at + 1, at + 1 + data[at]!))
  }
  return labels.join('.').toLowerCase()
}

/** Where the last record begins. Undefined without records. */
function lastRecord(message: Buffer): number | undefined {
  const count = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10)
  let at = skipQuestions(message)
  let start: number | undefined
  for (let i = 0; i < count; i++) {
    start = at
    const fixed = endOfName(message, at)
    at = fixed + 10 + message.readUInt16BE(fixed + 8)
  }
  return start
}
