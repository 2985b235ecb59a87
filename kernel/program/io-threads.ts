/**
 * Threads of the pool of libuv. An operation on a file occupies one until it ends, on a drive that hangs for as long as it hangs. libuv has
 * four, which make even drives that are well wait for each other: see docs/decisions/0034-threads-for-operations-on-files.md.
 */
import { availableParallelism } from 'node:os'

const threadsMin = 128
/** With a worker on each processor, each of them has at least a thread of the pool for each drive: eight drives that hang take all of them. */
const perProcessor = 8
/** The most that libuv takes. */
const threadsMax = 1024

/** Before anything uses the pool. Who has set another number knows why. */
export function setIoThreads(): void {
  const count = Math.min(threadsMax, Math.max(threadsMin, perProcessor * availableParallelism()))
  process.env.UV_THREADPOOL_SIZE ||= String(count)
}
