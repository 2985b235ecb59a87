/**
 * Brings what waits in a lane into its window, in order and each entry once. It stands somewhere behind the last entry that it has
 * read, so what was delivered and deleted before that place is never walked over again.
 *
 * | State | What is put meanwhile | Next |
 * |---|---|---|
 * | reading | is found by a later look | the end was reached: catching up |
 * | catching up | is noted by key | commits from before are settled, and a second look reaches the end: following; else reading |
 * | following | is noted by key, and got by it once its commit has settled | more was noted than has room: reading |
 *
 * So where the destination keeps up, an entry costs one `get`, and no look at anything else. An entry of a commit that was taken back
 * is not there when it is got.
 */
import type { StorageService } from 'svc/plugins/storage/api'
import { procedure } from './commit.ts'
import { decodeEntry } from './entry.ts'
import { endOf, idOf, keyAfter, type LanePlace } from './keys.ts'
import { type Held, type Window, windowEntriesMax } from './window.ts'

export interface LaneReader {
  /** An entry was put into the lane; its commit is not settled yet. */
  note(key: Buffer): void
  /** Reads on where there is room. One call at a time. Resolves with whether there is more to do at once. */
  read(): Promise<boolean>
  /** Whether `read` would find something to do. */
  readonly isWanted: boolean
}

export function createReader(storage: StorageService, place: LanePlace, window: Window): LaneReader {
  let state: 'reading' | 'catching up' | 'following' = 'reading'
  /** Keys of entries that were put and are not known to be visible. At most `windowEntriesMax`. */
  let noted: Buffer[] = []
  /** The id of the last entry that was read: all before it have been read, too. */
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
    } satisfies Held)
  }

  /** Reads until the window is full; true where it came to the end. */
  const look = (): Promise<boolean> | boolean => {
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
    noted = []
  }

  /** Resolves when every commit that has run by now is visible or taken back. */
  const settle = () => storage.execute<number>(procedure.settle, undefined)

  const follow = async (): Promise<void> => {
    const keys = noted
    noted = []
    try {
      await settle()
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
    if (!(await look())) return !window.isFull
    state = 'catching up'
    noted = []
    try {
      await settle()
      // What was put meanwhile may have been more than can be noted.
      if ((await look()) && isCatchingUp()) state = 'following'
      else readOn()
    } catch (error) {
      readOn()
      throw error
    }
    return noted.length > 0
  }

  return {
    note(key) {
      if (state === 'reading') return
      if (noted.length < windowEntriesMax) noted.push(key)
      else readOn()
    },
    async read() {
      if (state === 'following') {
        if (noted.length === 0 || window.isFull) return false
        await follow()
        return noted.length > 0
      }
      return window.isHalfEmpty ? catchUp() : false
    },
    get isWanted() {
      return state === 'following' ? noted.length > 0 && !window.isFull : window.isHalfEmpty
    },
  }
}
