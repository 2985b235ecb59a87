/** What was given up: kept for people to look at, to revive or to clear. */
import { isCatalogError } from 'svc/kernel'
import type { StorageService } from 'svc/plugins/storage/api'
import type { DeadLetter } from './api.ts'
import { type BuryArguments, procedure, type ReviveArguments, slot } from './commit.ts'
import { decodeEntry, decodeObituary } from './entry.ts'
import { endOf, idOf, keyAfter, keyOf, type LanePlace } from './keys.ts'
import type { Held } from './window.ts'

/** Of a lane. One more takes the place of the oldest. */
export const deadLettersMax = 10_000
/** What one answer has of payloads; and one dead letter more. */
const answerBytesMax = 8 * 1024 * 1024
const answerEntriesMax = 1000
/** Of one commit. */
const changeEntriesMax = 500
const dropEntriesMax = 100

export interface DeadLetters {
  /** Resolves with how many older ones had to go. */
  bury(place: LanePlace, entry: Pick<Held, 'recordKey' | 'attempts'>, reason: string): Promise<number>
  list(place: LanePlace, startAfter: string, limit: number): Promise<readonly DeadLetter[]>
  /** Undefined: all that there are. */
  revive(place: LanePlace, ids: readonly string[] | undefined): Promise<number>
  discard(place: LanePlace, ids: readonly string[] | undefined): Promise<number>
}

export function createDeadLetters(storage: StorageService, max = deadLettersMax): DeadLetters {
  const countOf = async (place: LanePlace) => (await storage.counter(place.count))[slot.deadLetters] ?? 0

  const oldestKeys = (place: LanePlace, count: number) =>
    storage.scan(place.dead, endOf(place.dead), cursor => {
      const keys: Buffer[] = []
      while (keys.length < count && cursor.next()) keys.push(Buffer.from(cursor.key))
      return keys
    })

  // One at a time, so that the oldest one goes once.
  let last: Promise<unknown> = Promise.resolve()
  const bury: DeadLetters['bury'] = async (place, { recordKey: key, attempts }, reason) => {
    const excess = (await countOf(place)) + 1 - max
    const dropped = excess > 0 ? await oldestKeys(place, Math.min(excess, dropEntriesMax)) : []
    const given: BuryArguments = { place, key, reason, attempts, dropped }
    await storage.execute(procedure.bury, given)
    return dropped.length
  }

  return {
    bury(place, entry, reason) {
      const done = last.then(() => bury(place, entry, reason))
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
          letters.push({ id: idOf(cursor.key), ...entry, ...decodeObituary(value), body })
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
    revive: (place, ids) =>
      withEach(place, ids, keys =>
        storage.execute<number>(procedure.revive, { place, keys } satisfies ReviveArguments),
      ),
    discard: (place, ids) => withEach(place, ids, keys => storage.execute<number>(procedure.remove, keys)),
  }

  /** Of all those that there are now: those that die meanwhile have larger ids, and stay. Resolves with the sum. */
  async function withEach(
    place: LanePlace,
    ids: readonly string[] | undefined,
    run: (keys: readonly Buffer[]) => Promise<number>,
  ): Promise<number> {
    let sum = 0
    if (ids !== undefined) {
      if (ids.length > answerEntriesMax) throw new RangeError(`queue: at most ${answerEntriesMax} dead letters at once`)
      const keys = [...new Set(ids)].map(id => keyOf(place.dead, id)).filter(key => key !== undefined)
      for (let at = 0; at < keys.length; at += changeEntriesMax) sum += await run(keys.slice(at, at + changeEntriesMax))
      return sum
    }
    for (let left = await countOf(place); left > 0; ) {
      const keys = await oldestKeys(place, Math.min(left, changeEntriesMax))
      if (keys.length === 0) break
      sum += await run(keys)
      left -= keys.length
    }
    return sum
  }

  /** A damaged payload is shown as an empty one: the others have to be shown, too. */
  async function readIfWhole(body: Parameters<StorageService['readBody']>[0]): Promise<Buffer> {
    try {
      return await storage.readBody(body)
    } catch (error) {
      if (isCatalogError(error) && error.code === 'corrupt') return Buffer.alloc(0)
      throw error
    }
  }
}
