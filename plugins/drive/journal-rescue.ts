/**
 * Rescue of a damaged segment, called by `Compaction`: writes its current records again at the tail. Their values come from the index, and a body counts
 * as intact when its own checksum matches, whatever is damaged around it. All records of the drive are scanned, because a damaged
 * segment does not say which records are its own.
 */
import type { Clock, MaybePromise } from 'svc/kernel'
import type { BodyRef } from 'svc/plugins/storage/api'
import type { BodyReader } from './body-reader.ts'
import { keyText } from './bytes.ts'
import { walk } from './cursor.ts'
import type { Engine } from './engine.ts'
import { isUnreadable } from './journal-reader.ts'
import type { DriveState } from './state.ts'
import { storedBody, storedEntry } from './stored-record.ts'
import type { DriveTransaction } from './transaction.ts'

/** Keys per turn of the event loop, and the pause between two turns. */
const keysPerTurn = 500
const restMs = 5
/** Bytes moved per transaction; one body may be half as large. */
const moveBytesMax = 256 * 1024
const keysEnd = Buffer.alloc(64, 0xff)

export interface RescueOptions {
  readonly clock: Clock
  readonly state: DriveState
  readonly engine: Engine
  readonly bodies: BodyReader
}

export interface Rescued {
  /** Number of records. */
  readonly moved: number
  /** Number of those whose body stays in the segment because it cannot be read. */
  readonly unreadable: number
}

/** Undefined when aborted. Rejects with `full` when there is no space. */
export async function rescueSegment(
  { clock, state, engine, bodies }: RescueOptions,
  segment: number,
  signal: AbortSignal,
): Promise<Rescued | undefined> {
  let [moved, unreadable] = [0, 0]
  let moves: ((tx: DriveTransaction) => void)[] = []
  let bytes = 0
  const commit = async () => {
    const due = moves
    moves = []
    bytes = 0
    if (due.length === 0) return
    await engine.runInBackground(tx => {
      for (const move of due) move(tx)
    })
  }

  const rescue = async (key: Buffer) => {
    const stored = state.visible(keyText(key), key)
    if (stored === undefined) return
    const entry = storedEntry(stored)
    const body = storedBody(stored)
    const isBodyHere = body?.segment === segment
    if (entry.segment !== segment && !isBodyHere) return
    const saved = isBodyHere ? await readable(() => bodies.read(body)) : undefined
    const isLost = isBodyHere && saved === undefined
    if (isLost) unreadable++
    // The entry is in another segment, and the body is lost: nothing to write again.
    if (isLost && entry.segment !== segment) return
    moved++
    moves.push(tx => {
      tx.rewrite(key, now => isSameEntry(now, stored), saved)
    })
    bytes += stored.length + (saved?.length ?? 0)
    if (bytes >= moveBytesMax) await commit()
  }

  let from: Buffer | undefined = Buffer.alloc(0)
  while (from !== undefined) {
    if (signal.aborted) return undefined
    const page: Page = keysFrom(state, from)
    for (const key of page.keys) await rescue(key)
    from = page.next
    await new Promise<void>(resolve => {
      clock.after(restMs, resolve)
    })
  }
  await commit()
  return { moved, unreadable }
}

export function isSameBody(left: BodyRef | undefined, right: BodyRef): boolean {
  return left !== undefined && left.segment === right.segment && left.offset === right.offset
}

function isSameEntry(now: Buffer, before: Buffer): boolean {
  const [left, right] = [storedEntry(now), storedEntry(before)]
  const body = storedBody(before)
  const isSame = left.segment === right.segment && left.sequence === right.sequence
  return isSame && (body === undefined ? storedBody(now) === undefined : isSameBody(storedBody(now), body))
}

/** The body that `read` reads; undefined when it is unreadable or does not verify. */
export async function readable(read: () => MaybePromise<Buffer>): Promise<Buffer | undefined> {
  try {
    return await read()
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'corrupt' || code === 'gone' || isUnreadable(error)) return undefined
    throw error
  }
}

interface Page {
  readonly keys: readonly Buffer[]
  readonly next: Buffer | undefined
}

function keysFrom({ index, frozen, durable }: DriveState, from: Buffer): Page {
  return walk(index, 'records', [frozen?.changes, durable], from, keysEnd, cursor => {
    const keys: Buffer[] = []
    let more = cursor.next()
    while (more && keys.length < keysPerTurn) {
      keys.push(Buffer.from(cursor.key))
      more = cursor.next()
    }
    return { keys, next: more ? Buffer.from(cursor.key) : undefined }
  })
}
