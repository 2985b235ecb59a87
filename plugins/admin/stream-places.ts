/**
 * Counts the open streams of each operation in a node. The counts are in shared memory: one for all threads, and one for each thread, which
 * is subtracted if the thread dies.
 */
import type { Threads } from 'svc/kernel'
import { adminErrors } from './errors.ts'

export const streamsMax = 256
/** Maximum number of operations with streams. */
const kindsMax = 16

export interface StreamPlaces {
  /** Declares the operations with streams, before the first request; the same in all threads. */
  declare(operationIds: readonly string[]): void
  /** Returns a function that gives the place back. Throws `too_many_requests` if all places are taken. */
  take(operationId: string): () => void
  /** To be called before the first request. */
  start(): Promise<void>
}

export function createStreamPlaces(threads: Threads): StreamPlaces {
  const perKind = threads.workerCount + 2
  const own = threads.index + 1
  // The main thread's memory is the one that all threads use: the others get it from there.
  let counts = new Int32Array(new SharedArrayBuffer(4 * kindsMax * perKind))
  let kinds: readonly string[] = []

  threads.handle('admin.streams', () => counts.buffer)
  threads.onExit(index => {
    for (let base = 0; base < counts.length; base += perKind) {
      Atomics.sub(counts, base, Atomics.exchange(counts, base + index + 1, 0))
    }
  })

  return {
    declare(operationIds) {
      if (operationIds.length > kindsMax) throw new RangeError(`at most ${kindsMax} operations may stream`)
      kinds = operationIds.toSorted()
    },
    take(operationId) {
      const base = kinds.indexOf(operationId) * perKind
      if (Atomics.add(counts, base, 1) >= streamsMax) {
        Atomics.sub(counts, base, 1)
        throw adminErrors.too_many_requests(`This node already has ${streamsMax} such streams.`)
      }
      Atomics.add(counts, base + own, 1)
      return () => {
        Atomics.sub(counts, base + own, 1)
        Atomics.sub(counts, base, 1)
      }
    },
    async start() {
      if (threads.isMain) return
      counts = new Int32Array(await threads.call<SharedArrayBuffer>(0, 'admin.streams'))
    },
  }
}
