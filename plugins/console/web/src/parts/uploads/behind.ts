/**
 * Where versioning is suspended, what was stored while no versions were kept can lie behind a delete marker, or behind versions that were
 * kept. Nobody sees it in a list, and what is stored next under its key takes its place.
 */
import { call } from '../../api/client.ts'
import type { ListedVersion } from '../../api/operations.ts'
import { withRetries } from '../../api/retries.ts'
import { sameKey } from '../same-key.ts'
import { commonPrefix } from './common-prefix.ts'
import { isBefore, isRefusal, pageKeysMax, pagesFor, requestsAtOnce } from './existing.ts'

/** The keys among these behind which there is such a version. Rejects when `signal` does; of keys that the caller may not look for, none. */
export async function keysBehind(
  bucket: string,
  keys: readonly string[],
  signal: AbortSignal,
  onUnreachable: () => void,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  /** The last key that was listed; undefined: those were all. */
  const look = async (query: { prefix: string } | { key: string }, pagesMax: number): Promise<string | undefined> => {
    let cursor = ''
    let last = ''
    let pages = 0
    do {
      const asked = { ...query, cursor, limit: pageKeysMax }
      const load = () => call('listObjectVersions', { params: { bucket }, query: asked, signal })
      const page = await withRetries(signal, load, async () => onUnreachable())
      for (const version of page.items) if (isBehind(version)) found.add(sameKey(version.key))
      cursor = page.nextCursor
      last = page.items.at(-1)?.key ?? last
    } while (cursor !== '' && ++pages < pagesMax)
    return cursor === '' ? undefined : last
  }
  try {
    const last = await look({ prefix: commonPrefix(keys) }, pagesFor(keys))
    const waiting = last === undefined ? [] : keys.filter(key => !isBefore(key, last))
    const workers = Array.from({ length: Math.min(requestsAtOnce, waiting.length) }, async () => {
      for (let key = waiting.shift(); key !== undefined; key = waiting.shift())
        await look({ key }, Number.POSITIVE_INFINITY)
    })
    await Promise.all(workers)
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  return new Set(keys.filter(key => found.has(sameKey(key))))
}

const isBehind = ({ versionId, isDeleteMarker, isLatest }: ListedVersion) =>
  versionId === 'null' && !isDeleteMarker && !isLatest
