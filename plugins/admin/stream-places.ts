/**
 * How many streams of an operation are open at once in a node, in memory that all its threads share: one number for all, and one for each
 * thread, which is taken off when the thread dies.
 */
import type { Threads } from 'svc/kernel'
import { adminErrors } from './errors.ts'

export const streamsMax = 256
/** Operations that stream. */
const kindsMax = 16

export interface StreamPlaces {
  /** The operations that stream, before the first request; the same in all threads. */
  declare(operationIds: readonly string[]): void
  /** Returns what gives the place back. Throws `too_many_requests` where all are taken. */
  take(operationId: string): () => void
  /** Before the first request. */
  start(): Promise<void>
}

export function createStreamPlaces(threads: Threads): StreamPlaces {
  const perKind = threads.workerCount + 2
  const own = threads.index + 1
  // In the main thread that of all: the others get it from there.
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
        throw adminErrors.too_many_requests(`There are ${streamsMax} such streams on this node already.`)
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
