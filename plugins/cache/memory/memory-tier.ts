/** The tier in the memory of one thread. */
import type { CacheTier, TierRecord } from '../api.ts'
import { Ghosts } from './ghosts.ts'
import { Sieve } from './sieve.ts'

/** Memory of an entry beside its bytes: objects, the key as text, its place in the map. An estimate, not measured yet. */
export const entryOverheadBytes = 512
/** Bodies up to this size enter at once, larger ones at their second request. */
export const atOnceBytesMax = 64 * 1024

export interface MemoryTierOptions {
  /** Budget of this thread. */
  readonly budgetBytes: number
  /** False: records of any size enter at once. Default: true. */
  readonly isSelective?: boolean
}

const keyOf = (id: Buffer) => id.latin1Slice(0, id.length)

export function createMemoryTier({ budgetBytes, isSelective = true }: MemoryTierOptions): CacheTier {
  const records = new Sieve<TierRecord>({ budgetBytes })
  const ghosts = new Ghosts()
  let listing: { readonly last: string; readonly keys: MapIterator<string> } | undefined

  const takes = (id: Buffer, { body }: TierRecord) =>
    !isSelective || body.length <= atOnceBytesMax || records.peek(keyOf(id)) !== undefined || ghosts.remember(id)

  return {
    start: async () => undefined,
    async stop() {
      records.clear()
      listing = undefined
    },
    get: id => records.get(keyOf(id)),
    put(id, record) {
      if (!takes(id, record)) return false
      const { head, body } = record
      return records.set(keyOf(id), record, head.length + body.length + id.length + entryOverheadBytes)
    },
    hasAll: ids => ids.every(id => records.peek(keyOf(id)) !== undefined),
    delete(id) {
      records.delete(keyOf(id))
    },
    /** Continues the last listing if `after` is its last id. Otherwise begins right behind `after`; the list is empty if that id is gone. */
    heads(after, limit) {
      const last = after === undefined ? undefined : keyOf(after)
      let keys = records.keys()
      if (last !== undefined && listing?.last === last) keys = listing.keys
      else if (last !== undefined) for (const key of keys) if (key === last) break
      const found: { readonly id: Buffer; readonly head: Buffer }[] = []
      while (found.length < limit) {
        const { value: key, done } = keys.next()
        if (done === true) break
        found.push({ id: Buffer.from(key, 'latin1'), head: (records.peek(key) as TierRecord).head })
      }
      const end = found.at(-1)
      listing = end === undefined ? undefined : { last: keyOf(end.id), keys }
      return found
    },
    usage: () => ({ entries: records.size, bytes: records.bytes, evictions: records.evictions }),
  }
}
