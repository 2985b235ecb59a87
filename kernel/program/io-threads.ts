/**
 * Threads of the pool of libuv. An operation on a file occupies one until it ends, on a drive that hangs for as long as it hangs. libuv has
 * four, which make even drives that are well wait for each other. A thread that waits costs next to nothing
 * (docs/design/performance.md, “Sets of drives”).
 */
const threadsDefault = 64

/** Before anything uses the pool. Who has set another number knows why. */
export function setIoThreads(): void {
  process.env.UV_THREADPOOL_SIZE ||= String(threadsDefault)
}
