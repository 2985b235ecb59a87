/** Dead letters: entries that the destination will never take. Operators list them, and queue or delete them. */
import { isCatalogError } from 'svc/kernel'
import type { StorageService } from 'svc/plugins/storage/api'
import type { DeadLetter, DeadLetterCount, DeadLetterSelection } from './api.ts'
import { type DeadLetterArguments, procedure, type RequeueArguments, slot } from './commit.ts'
import { decodeEntry, decodeFailure } from './entry.ts'
import { endOf, idOf, keyAfter, keyOf, type QueuePlace } from './keys.ts'
import type { LoadedEntry } from './window.ts'

/** Per queue. A new one replaces the oldest. */
export const deadLettersMax = 10_000
/** Payloads in one answer; the last dead letter may exceed it. */
const answerBytesMax = 8 * 1024 * 1024
const answerEntriesMax = 1000
/** Per commit. */
const changeEntriesMax = 500
const dropEntriesMax = 100

export interface DeadLetters {
  /** Turns an entry into a dead letter. Resolves with the number of older dead letters that it deleted to make room. */
  add(place: QueuePlace, entry: Pick<LoadedEntry, 'recordKey' | 'attempts'>, reason: string): Promise<number>
  list(place: QueuePlace, startAfter: string, limit: number): Promise<readonly DeadLetter[]>
  count(place: QueuePlace): Promise<DeadLetterCount>
  retry(place: QueuePlace, which: DeadLetterSelection): Promise<number>
  discard(place: QueuePlace, which: DeadLetterSelection): Promise<number>
}

export function createDeadLetters(storage: StorageService, max = deadLettersMax): DeadLetters {
  const countOf = async (place: QueuePlace) => (await storage.counter(place.count))[slot.deadLetters] ?? 0

  const newestOf = async (place: QueuePlace) =>
    storage.scan(place.dead, endOf(place.dead), cursor => {
      let newest: Buffer | undefined
      while (cursor.next()) newest = Buffer.from(cursor.key)
      return newest === undefined ? '' : idOf(newest)
    })

  const count = async (place: QueuePlace): Promise<DeadLetterCount> => {
    // First, so that there are not more up to this one than are counted.
    const newest = await newestOf(place)
    return { count: newest === '' ? 0 : await countOf(place), newest }
  }

  const oldestKeys = (place: QueuePlace, count: number, end = endOf(place.dead)) =>
    storage.scan(place.dead, end, cursor => {
      const keys: Buffer[] = []
      while (keys.length < count && cursor.next()) keys.push(Buffer.from(cursor.key))
      return keys
    })

  // One at a time, so that two of them do not delete the same oldest one.
  let last: Promise<unknown> = Promise.resolve()
  const add: DeadLetters['add'] = async (place, { recordKey: key, attempts }, reason) => {
    const excess = (await countOf(place)) + 1 - max
    const dropped = excess > 0 ? await oldestKeys(place, Math.min(excess, dropEntriesMax)) : []
    const given: DeadLetterArguments = { place, key, reason, attempts, dropped }
    await storage.execute(procedure.deadLetter, given)
    return dropped.length
  }

  return {
    count,
    add(place, entry, reason) {
      const done = last.then(() => add(place, entry, reason))
      last = done.catch(() => undefined)
      return done
    },
    async list(place, startAfter, limit) {
      const start = startAfter === '' ? place.dead : keyAfter(place.dead, startAfter)
      const most = Math.min(limit, answerEntriesMax)
      const found = await storage.scan(start, endOf(place.dead), cursor => {
        const letters = []
        let bytes = 0
        while (letters.length < most && bytes < answerBytesMax && cursor.next()) {
          const { value, body } = cursor
          const entry = decodeEntry(value)
          bytes += entry.size
          letters.push({ id: idOf(cursor.key), ...entry, ...decodeFailure(value), body })
        }
        return letters
      })
      return Promise.all(
        found.map(async ({ body, size: _, ...letter }) => ({
          ...letter,
          payload: letter.payload ?? (body === undefined ? Buffer.alloc(0) : await readIfWhole(body)),
        })),
      )
    },
    retry: (place, which) =>
      withEach(place, which, keys =>
        storage.execute<number>(procedure.requeue, { place, keys } satisfies RequeueArguments),
      ),
    discard: (place, which) => withEach(place, which, keys => storage.execute<number>(procedure.remove, keys)),
  }

  /** Runs over the given ids, or over all that exist now: later ones have larger ids. Resolves with the sum. */
  async function withEach(
    place: QueuePlace,
    which: DeadLetterSelection,
    run: (keys: readonly Buffer[]) => Promise<number>,
  ): Promise<number> {
    // An array of ids has none of the fields: it would mean all dead letters.
    if (Array.isArray(which)) throw new TypeError('queue: a selection of dead letters is an object with ids')
    const { ids, through } = which
    let sum = 0
    if (ids !== undefined) {
      if (ids.length > answerEntriesMax) throw new RangeError(`queue: at most ${answerEntriesMax} dead letters at once`)
      const wanted = [...new Set(ids)].filter(id => through === undefined || id <= through)
      const keys = wanted.map(id => keyOf(place.dead, id)).filter(key => key !== undefined)
      for (let at = 0; at < keys.length; at += changeEntriesMax) sum += await run(keys.slice(at, at + changeEntriesMax))
      return sum
    }
    const newest = through ?? (await newestOf(place))
    if (newest === '') return 0
    const end = keyAfter(place.dead, newest)
    for (;;) {
      const keys = await oldestKeys(place, changeEntriesMax, end)
      if (keys.length === 0) return sum
      sum += await run(keys)
    }
  }

  /** Shows a damaged payload as an empty one, so that the list still has the others. */
  async function readIfWhole(body: Parameters<StorageService['readBody']>[0]): Promise<Buffer> {
    try {
      return await storage.readBody(body)
    } catch (error) {
      if (isCatalogError(error) && error.code === 'corrupt') return Buffer.alloc(0)
      throw error
    }
  }
}
