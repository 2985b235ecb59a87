/** Makes the result of a lookup: from a stored answer, or from one that was just read. */
import { chain } from 'svc/kernel'
import type { CachedObject, CacheLookup, CacheOrigin, CacheRequest, CacheResult } from '../api.ts'
import type { Directives } from '../policy/directives.ts'
import type { CachePolicy } from '../policy/policy.ts'
import { conditions, originHeaders } from './headers.ts'
import { type BlockContext, type ObjectSource, objectBody } from './object-body.ts'
import type { Received } from './storing.ts'
import { ageMs, freshForMs, type StoredRecord, type Variant } from './variant.ts'

/** One request on its way through the cache. */
export interface Visit {
  readonly request: CacheRequest
  readonly origin: CacheOrigin
  readonly policy: CachePolicy
  readonly id: string
  readonly asked: Directives
}

export function storedLookup(
  context: BlockContext,
  visit: Visit,
  variant: Variant,
  result: CacheResult,
  nowMs: number,
  detail = `svc; hit; ttl=${Math.floor(freshForMs(variant, nowMs) / 1000)}`,
  source = 'memory',
): CacheLookup {
  const { status, lines, body, record, sizeBytes } = variant
  return {
    status,
    lines,
    body: body ?? objectBody(context, sourceOf(visit, record, sizeBytes)),
    result,
    detail,
    ageSeconds: Math.floor(ageMs(variant, nowMs) / 1000),
    value: record?.value,
    source,
  }
}

/** `visit`: undefined if nothing of the answer is kept. */
export function originLookup(
  context: BlockContext,
  visit: Visit | undefined,
  received: Received,
  result: CacheResult,
  told?: string,
): CacheLookup {
  const { status, lines, record, isStored } = received
  const forward = { BYPASS: 'bypass', EXPIRED: 'stale' }[result as string] ?? 'miss'
  const detail = told ?? `svc; fwd=${forward}${isStored ? '; stored' : ''}`
  const body = bodyOf(context, visit, received)
  return { status, lines, body, result, detail, ageSeconds: undefined, value: record?.value, source: 'origin' }
}

function bodyOf(
  context: BlockContext,
  visit: Visit | undefined,
  { body, kept, isStored }: Received,
): CacheLookup['body'] {
  if (body === undefined || !('sizeBytes' in body)) return body
  if (visit !== undefined && isStored && kept !== undefined)
    return objectBody(context, sourceOf(visit, kept, body.sizeBytes), body)
  const uncached: CachedObject = {
    sizeBytes: body.sizeBytes,
    open: (start, length) => chain(body.read(start, length), data => ({ data, isCached: true, source: 'origin' })),
  }
  return uncached
}

function sourceOf({ origin, request, policy }: Visit, kept: StoredRecord | undefined, sizeBytes: number): ObjectSource {
  const identity = kept?.identity ?? ''
  return {
    identity,
    kept,
    sizeBytes,
    blockSize: policy.rangeCaching.blockSize,
    quota: request.policy.quota,
    reopen: async () => {
      const { body, record } = await origin.fetch({
        method: 'GET',
        headers: originHeaders(request.headers, conditions),
      })
      return record?.identity === identity && body !== undefined && 'sizeBytes' in body ? body : undefined
    },
  }
}

export const notCached: CacheLookup = {
  status: 504,
  lines: [],
  body: undefined,
  result: 'MISS',
  detail: 'svc; fwd=miss',
  ageSeconds: undefined,
  value: undefined,
  source: 'origin',
}
