/**
 * Caches data keys that a key server has unwrapped, so that ten range reads of an object cost one request. Bounded in number and age. A
 * key is not returned after its maximum age, and its bytes are overwritten with zeros at the latest after twice that age, even if nobody
 * asks for it again. An entry is found by the wrapped key together with its context, so the cache does not weaken the binding to the context.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from 'svc/kernel'

interface Entry {
  readonly plaintext: Buffer
  readonly untilMs: number
}

export interface DataKeyCache {
  /** A copy; undefined if it is not cached or too old. */
  get(wrapped: Uint8Array, context: Buffer): Buffer | undefined
  /** Keeps a copy. */
  set(wrapped: Uint8Array, context: Buffer, plaintext: Buffer): void
  clear(): void
  /** Keys in memory, including those that are too old to be returned. */
  readonly size: number
}

export function createDataKeyCache(clock: Clock, keysMax: number, ageMsMax: number): DataKeyCache {
  const entries = new LRUCache<string, Entry>({
    max: Math.max(1, keysMax),
    dispose: ({ plaintext }) => plaintext.fill(0),
  })
  const nameOf = (wrapped: Uint8Array, context: Buffer) =>
    createHash('sha256').update(`${wrapped.length} `).update(wrapped).update(context).digest('base64')
  let isWatched = false
  const watch = () => {
    if (isWatched) return
    isWatched = true
    clock.after(ageMsMax, () => {
      isWatched = false
      const nowMs = clock.now()
      for (const [name, { untilMs }] of [...entries.entries()]) if (untilMs <= nowMs) entries.delete(name)
      if (entries.size > 0) watch()
    })
  }
  return {
    get(wrapped, context) {
      const name = nameOf(wrapped, context)
      const found = entries.get(name)
      if (found === undefined) return undefined
      if (found.untilMs > clock.now()) return Buffer.from(found.plaintext)
      entries.delete(name)
      return undefined
    },
    set(wrapped, context, plaintext) {
      if (ageMsMax === 0 || keysMax === 0) return
      entries.set(nameOf(wrapped, context), { plaintext: Buffer.from(plaintext), untilMs: clock.now() + ageMsMax })
      watch()
    },
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  }
}
