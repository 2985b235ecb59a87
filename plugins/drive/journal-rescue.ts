/**
 * What of a damaged segment is still current, written again at the tail: the index has the values, and a body that verifies is a body,
 * whatever is around it. All records are looked at, since the segment does not say any more which are its own.
 */
import type { Clock } from 'svc/kernel'
import type { BodyRef } from 'svc/plugins/storage/api'
import type { BodyReader } from './body-reader.ts'
import { keyText } from './bytes.ts'
import { walk } from './cursor.ts'
import type { Engine } from './engine.ts'
import { isUnreadable } from './journal-reader.ts'
import type { DriveState } from './state.ts'
import { storedBody, storedEntry } from './stored-record.ts'
import type { DriveTransaction } from './transaction.ts'

/** Keys that are looked at in one turn, and how long others have theirs then. */
const keysPerTurn = 500
const restMs = 5
/** What is moved in one transaction: one body may be as large as half of it. */
const moveBytesMax = 256 * 1024
const keysEnd = Buffer.alloc(64, 0xff)

export interface RescueOptions {
  readonly clock: Clock
  readonly state: DriveState
  readonly engine: Engine
  readonly bodies: BodyReader
}

export interface Rescued {
  /** Records. */
  readonly moved: number
  /** Of them, those whose bodies stay where they are because they cannot be read. */
  readonly unreadable: number
}

/** Undefined: aborted. Rejects with `full` where there is no room. */
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
    const saved = isBodyHere ? await readable(bodies, body) : undefined
    const isLost = isBodyHere && saved === undefined
    if (isLost) unreadable++
    // Its entry lies elsewhere, and its body cannot be had.
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

/** Undefined where what was written cannot be had any more. */
async function readable(bodies: BodyReader, body: BodyRef): Promise<Buffer | undefined> {
  try {
    return await bodies.read(body)
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
