/**
 * Loads the entries of a queue into its window, in order and each entry once. It continues behind the last entry that it has read, so it
 * never scans deleted entries again.
 *
 * | State | New entries | Next |
 * |---|---|---|
 * | reading | are found by a later scan | at the end of the queue: catching up |
 * | catching up | are remembered by key | earlier commits are durable, and a second scan reaches the end: following; else reading |
 * | following | are remembered by key, and read by it once their commit is durable | too many keys to remember: reading |
 *
 * While the destination keeps up, an entry costs one `get` and no scan. The `get` of an entry whose commit was rolled back finds nothing.
 */
import type { StorageService } from 'svc/plugins/storage/api'
import { procedure } from './commit.ts'
import { decodeEntry } from './entry.ts'
import { endOf, idOf, keyAfter, type QueuePlace } from './keys.ts'
import { type LoadedEntry, type Window, windowEntriesMax } from './window.ts'

export interface QueueReader {
  /** An entry was put into the queue by a commit that is not durable yet. */
  onPut(key: Buffer): void
  /** Reads while the window has room. One call at a time. Resolves with true when it should be called again at once. */
  read(): Promise<boolean>
  /** Whether `read` has work. */
  readonly isWanted: boolean
}

export function createReader(storage: StorageService, place: QueuePlace, window: Window): QueueReader {
  let state: 'reading' | 'catching up' | 'following' = 'reading'
  /** Keys of new entries that may not be visible yet. At most `windowEntriesMax`. */
  let newKeys: Buffer[] = []
  /** The id of the last entry that was read; all entries before it have been read, too. */
  let lastId = ''
  const end = endOf(place.waiting)

  const add = (key: Uint8Array, value: Uint8Array): void => {
    const recordKey = Buffer.from(key)
    lastId = idOf(recordKey)
    window.add({
      ...decodeEntry(value),
      id: lastId,
      recordKey,
      attempts: 0,
      notBeforeMs: 0,
      isAlone: false,
    } satisfies LoadedEntry)
  }

  /** Reads until the window is full; true at the end of the queue. */
  const scan = (): Promise<boolean> | boolean => {
    const start = lastId === '' ? place.waiting : keyAfter(place.waiting, lastId)
    return storage.scan(start, end, cursor => {
      while (!window.isFull) {
        if (!cursor.next()) return true
        add(cursor.key, cursor.value)
      }
      return false
    })
  }

  const isCatchingUp = () => state === 'catching up'

  const readOn = (): void => {
    state = 'reading'
    newKeys = []
  }

  /** Resolves when every commit that has run by now is visible or rolled back. */
  const barrier = () => storage.execute<number>(procedure.barrier, undefined)

  const follow = async (): Promise<void> => {
    const keys = newKeys
    newKeys = []
    try {
      await barrier()
      for (const key of keys) {
        if (idOf(key) <= lastId) continue
        if (window.isFull) {
          readOn()
          return
        }
        const record = await storage.get(key)
        if (record !== undefined) add(key, record.value)
      }
    } catch (error) {
      readOn()
      throw error
    }
  }

  const catchUp = async (): Promise<boolean> => {
    if (!(await scan())) return !window.isFull
    state = 'catching up'
    newKeys = []
    try {
      await barrier()
      // There may have been more new entries than keys can be remembered.
      if ((await scan()) && isCatchingUp()) state = 'following'
      else readOn()
    } catch (error) {
      readOn()
      throw error
    }
    return newKeys.length > 0
  }

  return {
    onPut(key) {
      if (state === 'reading') return
      if (newKeys.length < windowEntriesMax) newKeys.push(key)
      else readOn()
    },
    async read() {
      if (state === 'following') {
        if (newKeys.length === 0 || window.isFull) return false
        await follow()
        return newKeys.length > 0
      }
      return window.isHalfEmpty ? catchUp() : false
    },
    get isWanted() {
      return state === 'following' ? newKeys.length > 0 && !window.isFull : window.isHalfEmpty
    },
  }
}
