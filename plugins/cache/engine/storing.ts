/** Decides whether an answer of the origin is stored, and in which form. */
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
  /** The stored record, with its fences. */
  readonly kept?: StoredRecord | undefined
  readonly isStored: boolean
}

/** Undefined while changes that a fence counts have not ended: such an answer may be older than them. */
export function renewedRecord(record: OriginRecord): StoredRecord | undefined {
  if (!record.fences.every(({ isSettled }) => isSettled)) return undefined
  return storedRecord(
    record,
    record.fences.flatMap(({ slot, generation }) => [slot, generation]),
  )
}

const storedRecord = (record: OriginRecord, fences: FenceList): StoredRecord => ({
  identity: record.identity,
  value: record.value,
  tags: record.tags,
  fences,
  isEncrypted: record.isEncrypted ?? false,
})

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
  /** Whether other requests of the same key may wait for the next read of it. */
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

/** The whole body, at most 64 KiB. Its memory may be shared with others: `createMemory` copies the bytes that it keeps. */
async function wholeOf(data: ObjectData, sizeBytes: number): Promise<Buffer> {
  if (data.kind === 'whole') return data.bytes
  const own = Buffer.allocUnsafe(sizeBytes)
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
