/** What becomes of an answer of the origin: whether it is stored, and in which form. */
import type { ObjectData } from 'svc/plugins/objects/api'
import type { CacheRequest, HeaderLine, OriginAnswer, OriginObject, OriginRecord } from '../api.ts'
import { tierBodyBytesMax } from '../api.ts'
import type { FenceList } from '../fence/fences.ts'
import { atOnceBytesMax } from '../memory/memory-tier.ts'
import { isStorable, lifetimeOf } from '../policy/freshness.ts'
import type { CachePolicy } from '../policy/policy.ts'
import { collect, type Unfinished } from './body.ts'
import { endToEnd, joined } from './headers.ts'
import { authorizationOf, isWanted } from './requests.ts'
import { createVariant, headBytes, headBytesMax, type StoredRecord, type Variant, varyOf } from './variant.ts'

export type Holds = (fences: FenceList) => boolean

export interface Times {
  readonly requestedMs: number
  readonly receivedMs: number
  readonly purgeSequence: number
}

export interface Received {
  readonly status: number
  readonly lines: readonly HeaderLine[]
  readonly body: Buffer | OriginObject | AsyncIterable<Uint8Array> | undefined
  readonly record?: OriginRecord
  /** What is stored of it, with its fences. */
  readonly kept?: StoredRecord | undefined
  readonly isStored: boolean
}

const noTags: readonly string[] = []

/** Undefined while changes that a fence counts have not ended: such an answer may be older than them. */
export function renewedRecord(record: OriginRecord): StoredRecord | undefined {
  if (!record.fences.every(({ isSettled }) => isSettled)) return undefined
  return storedRecord(
    record,
    record.fences.flatMap(({ slot, generation }) => [slot, generation]),
  )
}

/** Copies go through it, so that none takes from the pool of small buffers, which bodies share. */
const scratch = Buffer.allocUnsafeSlow(8192)

/** A text that was put together keeps its parts. */
function inOnePiece(text: string): string {
  return text.length * 3 > scratch.length ? text : scratch.toString('utf8', 0, scratch.write(text))
}

/** As little memory as it can have: arrays without room to grow, text in one piece. */
function storedRecord({ identity, value, tags, isEncrypted = false }: OriginRecord, fences: FenceList): StoredRecord {
  return {
    identity: inOnePiece(identity),
    value,
    tags: tags.length === 0 ? noTags : tags.slice(),
    fences: fences.slice(),
    isEncrypted,
  }
}

export async function receive(
  request: CacheRequest,
  policy: CachePolicy,
  answer: OriginAnswer,
  times: Times,
  unfinished: Unfinished,
  isRefused: boolean,
): Promise<{
  readonly received: Omit<Received, 'isStored'>
  readonly stored: Variant | undefined
  /** Whether others who ask for it may wait for the next read of it. */
  readonly isShareable: boolean
}> {
  const { status } = answer
  const lines = endToEnd(answer.headers)
  const headers = joined(lines)
  const lifetime = lifetimeOf({ status, headers }, policy, times.receivedMs)
  const mayStore =
    policy.maxObjectSize > 0 &&
    isStorable({ status, headers }, lifetime, authorizationOf(request)) &&
    !isRefused &&
    headBytes(lines) <= headBytesMax &&
    isWanted(headers, policy)
  const body = await bodyOf(answer.body, policy, mayStore, unfinished)
  const sizeBytes = body === undefined ? 0 : Buffer.isBuffer(body) ? body.length : sizeOf(body)
  const isSized = sizeBytes !== undefined && sizeBytes >= policy.minSize && sizeBytes <= policy.maxObjectSize
  const isKept = mayStore && isSized && (Buffer.isBuffer(body) || policy.rangeCaching.enabled)
  const record = answer.record && renewedRecord(answer.record)
  const received = { status, lines, body, record: answer.record }
  // An answer whose fences have not settled can be shared at the next read.
  if (!isKept) return { received, stored: undefined, isShareable: false }
  if (answer.record !== undefined && record === undefined && request.policy.autoInvalidate)
    return { received, stored: undefined, isShareable: true }
  const stored = createVariant({
    status,
    lines,
    body: Buffer.isBuffer(body) ? body : undefined,
    sizeBytes: sizeBytes ?? 0,
    space: request.key.space,
    host: request.key.host,
    path: request.key.path,
    record: record ?? (answer.record && storedRecord(answer.record, [])),
    vary: varyOf(lines, request.headers),
    lifetime,
    ...times,
  })
  return { received, stored, isShareable: true }
}

const sizeOf = (body: OriginObject | AsyncIterable<Uint8Array>) => ('sizeBytes' in body ? body.sizeBytes : undefined)

async function bodyOf(
  body: OriginAnswer['body'],
  policy: CachePolicy,
  mayStore: boolean,
  unfinished: Unfinished,
): Promise<Buffer | OriginObject | AsyncIterable<Uint8Array>> {
  if (body === undefined || !('sizeBytes' in body)) {
    const bytesMax = mayStore ? Math.min(tierBodyBytesMax, policy.maxObjectSize) : 0
    return collect(body, bytesMax, unfinished)
  }
  if (!mayStore || body.sizeBytes > atOnceBytesMax || body.sizeBytes > policy.maxObjectSize) return body
  return wholeOf(await body.read(0, body.sizeBytes), body.sizeBytes)
}

/**
 * At most 64 KiB, in memory of their own, also of no pool: what a drive keeps in memory is shared with others, and one small body would
 * keep a whole slab of a pool.
 */
async function wholeOf(data: ObjectData, sizeBytes: number): Promise<Buffer> {
  const own = Buffer.allocUnsafeSlow(sizeBytes)
  if (data.kind === 'whole') {
    own.set(data.bytes)
    return own
  }
  let at = 0
  try {
    for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
      own.set(chunk.bytes, at)
      at += chunk.bytes.length
      chunk.release()
    }
  } finally {
    data.close()
  }
  return own
}
