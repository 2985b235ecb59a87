/**
 * What is under way in a node of the operations that last or are large: streams, and work on as many objects as a bucket has. The places are
 * in shared memory, one table for all threads; each names the user and the thread that have it, so that nobody takes more than a share, and a
 * thread that dies gives its places back.
 */
import { createHash } from 'node:crypto'
import type { Threads } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import { adminErrors } from './errors.ts'

export interface PlaceLimits {
  readonly max: number
  /** Of all access keys of a user together. Root has no such bound. */
  readonly perUser: number
  /** Places that only root can take, however many users there are. */
  readonly ofRoot: number
  /** What has a place, in the plural. */
  readonly noun: string
}

export const streamLimits: PlaceLimits = { max: 256, perUser: 16, ofRoot: 16, noun: 'streams' }
/** Each has an answer of megabytes, which stays in memory as long as its client does not read it. */
export const bulkLimits: PlaceLimits = { max: 64, perUser: 8, ofRoot: 8, noun: 'requests' }

const kindsMax = 16
const placesMax = 256
/** A place is the number of its user, and in the low bits that of its thread, from 1; 0: it is free. */
const threadBits = 16n
const threadMask = (1n << threadBits) - 1n

type Caller = Pick<Identity, 'accessKey' | 'isRoot' | 'userName'>

export interface Places {
  /** Declares the operations that need places, before the first request; the same in all threads. */
  declare(limits: ReadonlyMap<string, PlaceLimits>): void
  /** Returns a function that gives the place back. Throws `too_many_requests` if all places, or all of the caller's share, are taken. */
  take(operationId: string, caller: Caller | undefined): () => void
  /** To be called before the first request. */
  start(): Promise<void>
}

export function createPlaces(threads: Threads): Places {
  const thread = BigInt(threads.index + 1)
  // The main thread's memory is the one that all threads use: the others get it from there.
  let places = new BigUint64Array(new SharedArrayBuffer(8 * kindsMax * placesMax))
  let kinds: readonly (readonly [operationId: string, limits: PlaceLimits])[] = []

  threads.handle('admin.places', () => places.buffer)
  threads.onExit(index => {
    for (let at = 0; at < places.length; at++) {
      const place = Atomics.load(places, at)
      if ((place & threadMask) === BigInt(index + 1)) Atomics.compareExchange(places, at, place, 0n)
    }
  })

  function countOf(start: number, max: number, user: bigint): number {
    let count = 0
    for (let at = start; at < start + max; at++) if (Atomics.load(places, at) >> threadBits === user) count++
    return count
  }

  /** The index of the place, the first that was free. */
  function occupy(start: number, end: number, place: bigint): number | undefined {
    for (let at = start; at < end; at++) if (Atomics.compareExchange(places, at, 0n, place) === 0n) return at
    return undefined
  }

  return {
    declare(limits) {
      if (limits.size > kindsMax) throw new RangeError(`at most ${kindsMax} operations may have places`)
      kinds = [...limits].toSorted(([one], [other]) => (one < other ? -1 : 1))
    },
    take(operationId, caller) {
      const index = kinds.findIndex(([id]) => id === operationId)
      const { max, perUser, ofRoot, noun } = kinds[index]![1]
      const start = index * placesMax
      const isRoot = caller?.isRoot === true
      const user = numberOf(isRoot ? undefined : (caller?.userName ?? caller?.accessKey ?? ''))
      const at = occupy(start, start + max - (isRoot ? 0 : ofRoot), (user << threadBits) | thread)
      if (at === undefined) {
        throw adminErrors.too_many_requests(`This node already has ${max - ofRoot} such ${noun} of users.`)
      }
      let isTaken = true
      const leave = () => {
        if (isTaken) Atomics.store(places, at, 0n)
        isTaken = false
      }
      // Counted with the new one: of two threads that take the last place at once none may get beyond the share.
      if (!isRoot && countOf(start, max, user) > perUser) {
        leave()
        throw adminErrors.too_many_requests(`You already have ${perUser} such ${noun} on this node.`)
      }
      return leave
    },
    async start() {
      if (threads.isMain) return
      places = new BigUint64Array(await threads.call<SharedArrayBuffer>(0, 'admin.places'))
    },
  }
}

/** 48 bits that stand for a user; undefined: root. */
function numberOf(user: string | undefined): bigint {
  if (user === undefined) return 0n
  return BigInt(createHash('sha256').update(user).digest().readUIntBE(0, 6)) || 1n
}
