/**
 * The outbox keeps every event that a rule asked for, delivered or not, for a limited time. It is a record of its own in the commit of the
 * change, so that events which found a full queue, or which their target has lost, can be replayed. Records are in the order of commits
 * and so of time: expired records are a range at the beginning, deleted in pages.
 *
 *     e 65 <8 bytes> <2 bytes>    an event, by sequence of its commit and number within it
 *     e 6e                        (derived, counter) number of events
 */
import type { Derive, Procedure, StorageService, Transaction } from 'svc/plugins/storage/api'
import { decodeEvent, encodeEvent } from './kept-event.ts'
import type { KeptEvent } from './message.ts'

export const tableByte = 0x65
const eventPart = 0x65
const countKey = Buffer.from([tableByte, 0x6e])
const trimProcedure = 'notify.trimOutbox'
/** Sequences are milliseconds times this, plus a counter: see `Transaction.sequence`. */
const sequencesPerMs = 2048
/** Records of one commit. */
const trimmedPerCommit = 500

export interface OutboxPage {
  readonly events: readonly KeptEvent[]
  /** Where the next page begins; undefined at the end. */
  readonly next: Buffer | undefined
}

export interface Outbox {
  put(tx: Transaction, numberInCommit: number, event: KeptEvent): void
  /** Events of fromMs <= t < toMs, oldest first; at most `limit` are read. `after`: `next` of the last page. */
  read(
    range: { readonly fromMs: number; readonly toMs: number },
    after: Buffer | undefined,
    limit: number,
  ): Promise<OutboxPage>
  /** Deletes one page of events that are too old or beyond `eventsMax`; resolves with how many. */
  trim(beforeMs: number, eventsMax: number): Promise<number>
  readonly procedures: Readonly<Record<string, Procedure>>
}

export const deriveCount: Derive = (key, before, after, emit) => {
  const change = (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
  if (key[1] === eventPart && change !== 0) emit.add(countKey, [change])
}

export function createOutbox(storage: StorageService): Outbox {
  /** Records up to this key have been deleted: scans begin here. */
  let trimmed = placeOf(0)

  return {
    put(tx, numberInCommit, event) {
      tx.put(keyOf(tx.sequence, numberInCommit), encodeEvent(event))
    },
    async read({ fromMs, toMs }, after, limit) {
      const start = after ?? placeOf(fromMs)
      const end = placeOf(toMs)
      if (start.compare(end) >= 0) return { events: [], next: undefined }
      return storage.scan(start, end, cursor => {
        const events: KeptEvent[] = []
        while (cursor.next()) {
          if (events.length === limit) return { events, next: Buffer.from(cursor.key) }
          events.push(decodeEvent(cursor.value).event)
        }
        return { events, next: undefined }
      })
    },
    async trim(beforeMs, eventsMax) {
      const [count = 0] = await storage.counter(countKey)
      const excess = Math.max(0, count - eventsMax)
      const end = placeOf(beforeMs)
      const keys = await storage.scan(trimmed, placeOf(Number.POSITIVE_INFINITY), cursor => {
        const found: Buffer[] = []
        while (found.length < trimmedPerCommit && cursor.next()) {
          if (cursor.key.compare(end) >= 0 && found.length >= excess) break
          found.push(Buffer.from(cursor.key))
        }
        return found
      })
      const last = keys.at(-1)
      if (last === undefined) return 0
      await storage.execute(trimProcedure, keys)
      trimmed = last
      return keys.length
    },
    procedures: {
      [trimProcedure](tx, keys: readonly Uint8Array[]) {
        for (const key of keys) tx.delete(Buffer.from(key))
      },
    },
  }
}

function keyOf(sequence: number, number: number): Buffer {
  const key = Buffer.allocUnsafe(12)
  key[0] = tableByte
  key[1] = eventPart
  key.writeUInt32BE(Math.floor(sequence / 0x1_0000_0000), 2)
  key.writeUInt32BE(sequence % 0x1_0000_0000, 6)
  key.writeUInt16BE(number, 10)
  return key
}

/** Before every event of this millisecond. */
function placeOf(ms: number): Buffer {
  return keyOf(Math.min(Math.max(0, Math.ceil(ms)) * sequencesPerMs, Number.MAX_SAFE_INTEGER), 0)
}
