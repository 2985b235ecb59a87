/** Which keys of a bucket exist already, and their ETags: with few requests, whether a thousand files are new or none is. */
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { withRetries } from '../../api/retries.ts'
import { sameKey } from '../same-key.ts'
import { commonPrefix } from './common-prefix.ts'

export const requestsAtOnce = 6
export const pageKeysMax = 1000
/** One more page of a listing is worth so many keys that need no request of their own. */
const keysPerPage = 50
/** Listings are in the order of UTF-8; texts with other characters are ordered otherwise here. */
const ordersOtherwise = /[\ud800-\uffff]/

/** Rejects when `signal` does. Keys that the caller may not look for count as new. `onUnreachable` is called while the server cannot be reached. */
export async function existingKeys(
  bucket: string,
  keys: readonly string[],
  signal: AbortSignal,
  onUnreachable: () => void,
): Promise<ReadonlyMap<string, string>> {
  const persist = <T>(work: () => Promise<T>) => withRetries(signal, work, async () => onUnreachable())
  const { found, left } = await persist(() => listed(bucket, keys, signal))
  const waiting = [...left]
  const workers = Array.from({ length: Math.min(requestsAtOnce, waiting.length) }, async () => {
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
      const asked = key
      const etag = await persist(() => etagOf(bucket, asked, signal))
      if (etag !== undefined) found.set(sameKey(asked), etag)
    }
  })
  await Promise.all(workers)
  return new Map(keys.flatMap(key => (found.has(sameKey(key)) ? [[key, found.get(sameKey(key))!]] : [])))
}

/** Lists what begins as all of them do: new folders cost one request. `left`: keys beyond the last page that was read. */
async function listed(bucket: string, keys: readonly string[], signal: AbortSignal) {
  const found = new Map<string, string>()
  const wanted = new Set(keys.map(sameKey))
  const prefix = commonPrefix(keys)
  let cursor: string | undefined
  let last = ''
  try {
    for (let pages = pagesFor(keys); pages > 0; pages--) {
      const query = { prefix, delimiter: '', limit: pageKeysMax, ...(cursor !== undefined && { cursor }) }
      const page = await call('listObjects', { params: { bucket }, query, signal })
      for (const { key, etag } of page.objects) if (wanted.has(sameKey(key))) found.set(sameKey(key), etag)
      if (!page.isTruncated || page.nextCursor === null) return { found, left: [] }
      cursor = page.nextCursor
      last = page.objects.at(-1)?.key ?? last
    }
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  return { found, left: keys.filter(key => !found.has(sameKey(key)) && !isBefore(key, last)) }
}

/** Pages of a listing that are worth it. */
export const pagesFor = (keys: readonly string[]): number => 1 + Math.floor(keys.length / keysPerPage)

/** Whether a listing that has come to `last` has passed the key. */
export const isBefore = (key: string, last: string): boolean => sameKey(key) < last && !ordersOtherwise.test(key)

async function etagOf(bucket: string, key: string, signal: AbortSignal): Promise<string | undefined> {
  const params = { bucket }
  try {
    const { objects } = await call('listObjects', { params, query: { prefix: key, delimiter: '', limit: 1 }, signal })
    return objects[0] !== undefined && sameKey(objects[0].key) === sameKey(key) ? objects[0].etag : undefined
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  try {
    const { etag, isDeleteMarker } = await call('statObject', { params, query: { key }, signal })
    return isDeleteMarker ? undefined : etag
  } catch (error) {
    if (error instanceof Problem && (error.status === 403 || error.status === 404)) return undefined
    throw error
  }
}

export const isRefusal = (error: unknown): boolean => error instanceof Problem && error.status === 403
