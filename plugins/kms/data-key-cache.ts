/**
 * Data keys that a key server opened, for a while: so that reading an object in ten ranges asks once. Bounded in number and in
 * time; what leaves is overwritten with zeros, also where nobody asks for it again: at most twice as late as it is forgotten. A key is
 * found only by who has the sealed one and its context.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from 'svc/kernel'

interface Entry {
  readonly plaintext: Buffer
  readonly untilMs: number
}

export interface DataKeyCache {
  /** A copy; undefined where it is not remembered. */
  get(sealed: Uint8Array, context: Buffer): Buffer | undefined
  /** Keeps a copy. */
  set(sealed: Uint8Array, context: Buffer, plaintext: Buffer): void
  clear(): void
  /** Keys that are in memory, those among them that are too old to be given out. */
  readonly size: number
}

export function createDataKeyCache(clock: Clock, keysMax: number, ageMsMax: number): DataKeyCache {
  const entries = new LRUCache<string, Entry>({
    max: Math.max(1, keysMax),
    dispose: ({ plaintext }) => plaintext.fill(0),
  })
  const nameOf = (sealed: Uint8Array, context: Buffer) =>
    createHash('sha256').update(`${sealed.length} `).update(sealed).update(context).digest('base64')
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
    get(sealed, context) {
      const name = nameOf(sealed, context)
      const found = entries.get(name)
      if (found === undefined) return undefined
      if (found.untilMs > clock.now()) return Buffer.from(found.plaintext)
      entries.delete(name)
      return undefined
    },
    set(sealed, context, plaintext) {
      if (ageMsMax === 0 || keysMax === 0) return
      entries.set(nameOf(sealed, context), { plaintext: Buffer.from(plaintext), untilMs: clock.now() + ageMsMax })
      watch()
    },
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  }
}
