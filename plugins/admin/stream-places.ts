/**
 * The open streams of each operation in a node. The places are in shared memory, one table for all threads; each names the user and the
 * thread that have it, so that nobody takes more than a share, and a thread that dies gives its places back.
 */
import { createHash } from 'node:crypto'
import type { Threads } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import { adminErrors } from './errors.ts'

export const streamsMax = 256
/** Of all access keys of a user together. Root has no such bound. */
export const streamsPerUserMax = 16
/** Places that only root can take, however many users there are. */
export const streamsOfRoot = 16
/** Maximum number of operations with streams. */
const kindsMax = 16
/** A place is the number of its user, and in the low bits that of its thread, from 1; 0: it is free. */
const threadBits = 16n
const threadMask = (1n << threadBits) - 1n

type Caller = Pick<Identity, 'accessKey' | 'isRoot' | 'userName'>

export interface StreamPlaces {
  /** Declares the operations with streams, before the first request; the same in all threads. */
  declare(operationIds: readonly string[]): void
  /** Returns a function that gives the place back. Throws `too_many_requests` if all places, or all of the caller's share, are taken. */
  take(operationId: string, caller: Caller | undefined): () => void
  /** To be called before the first request. */
  start(): Promise<void>
}

export function createStreamPlaces(threads: Threads): StreamPlaces {
  const thread = BigInt(threads.index + 1)
  // The main thread's memory is the one that all threads use: the others get it from there.
  let places = new BigUint64Array(new SharedArrayBuffer(8 * kindsMax * streamsMax))
  let kinds: readonly string[] = []

  threads.handle('admin.streams', () => places.buffer)
  threads.onExit(index => {
    for (let at = 0; at < places.length; at++) {
      const place = Atomics.load(places, at)
      if ((place & threadMask) === BigInt(index + 1)) Atomics.compareExchange(places, at, place, 0n)
    }
  })

  function countOf(start: number, user: bigint): number {
    let count = 0
    for (let at = start; at < start + streamsMax; at++) if (Atomics.load(places, at) >> threadBits === user) count++
    return count
  }

  /** The index of the place, the first that was free. */
  function occupy(start: number, end: number, place: bigint): number | undefined {
    for (let at = start; at < end; at++) if (Atomics.compareExchange(places, at, 0n, place) === 0n) return at
    return undefined
  }

  return {
    declare(operationIds) {
      if (operationIds.length > kindsMax) throw new RangeError(`at most ${kindsMax} operations may stream`)
      kinds = operationIds.toSorted()
    },
    take(operationId, caller) {
      const start = kinds.indexOf(operationId) * streamsMax
      const isRoot = caller?.isRoot === true
      const user = numberOf(isRoot ? undefined : (caller?.userName ?? caller?.accessKey ?? ''))
      const at = occupy(start, start + streamsMax - (isRoot ? 0 : streamsOfRoot), (user << threadBits) | thread)
      if (at === undefined) {
        throw adminErrors.too_many_requests(
          `This node already has ${streamsMax - streamsOfRoot} such streams of users.`,
        )
      }
      let isTaken = true
      const leave = () => {
        if (isTaken) Atomics.store(places, at, 0n)
        isTaken = false
      }
      // Counted with the new one: of two threads that take the last place at once none may get beyond the share.
      if (!isRoot && countOf(start, user) > streamsPerUserMax) {
        leave()
        throw adminErrors.too_many_requests(`You already have ${streamsPerUserMax} such streams on this node.`)
      }
      return leave
    },
    async start() {
      if (threads.isMain) return
      places = new BigUint64Array(await threads.call<SharedArrayBuffer>(0, 'admin.streams'))
    },
  }
}

/** 48 bits that stand for a user; undefined: root. */
function numberOf(user: string | undefined): bigint {
  if (user === undefined) return 0n
  return BigInt(createHash('sha256').update(user).digest().readUIntBE(0, 6)) || 1n
}
