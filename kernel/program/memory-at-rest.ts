/**
 * Returns memory to the system when this thread has come to rest. V8 collects garbage of an idle process, but keeps pages of which a little
 * is in use: after a start that is a quarter of its heap, after a load most of it. One compacting collection frees them: 30 to 60 ms of a
 * thread that has nothing to do.
 */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** Maximum share of busy time between two checks; a server without requests is below it. */
const busyShareMax = 0.05
/** It is not worth a collection to return less. */
const grownBytesMin = 16 << 20
/** The pause grows with what is in use, a large cache for example. Garbage counts until V8 has collected it, some looks later. */
const usedBytesMax = 128 << 20

/** A server that has little to do would fill the young generation again and again. */
const pauseMs = 300_000

/** Looks again and again, for as long as the thread lives; the timer does not keep it alive. */
export function returnMemoryAtRest(lookMs = 10_000): void {
  let keptBytes = 0
  let notBeforeMs = 0
  let hasDroppedCode = false
  let last = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    if (performance.now() < notBeforeMs) return
    const { total_physical_size: heapBytes, used_heap_size: usedBytes } = getHeapStatistics()
    if (utilization > busyShareMax || heapBytes < keptBytes + grownBytesMin || usedBytes > usedBytesMax) return
    // A look in between would begin another collection.
    notBeforeMs = Number.POSITIVE_INFINITY
    const collected = hasDroppedCode ? collectGarbage() : dropCode()
    hasDroppedCode = true
    collected.then(
      () => {
        keptBytes = getHeapStatistics().total_physical_size
        notBeforeMs = performance.now() + pauseMs
      },
      // A Node.js without an inspector: the memory stays with the process.
      () => clearInterval(timer),
    )
  }, lookMs)
  timer.unref()
}

/**
 * Asks the inspector that every thread has within. `gc` of `--expose-gc` exists in contexts alone that are made after the flag was set, and a
 * second context, once made, costs a PUT of 4 KiB 1.25 to 1.4 times its CPU for as long as the process lives (measured).
 */
async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}

/**
 * Collects, and drops bytecode that did not run since the collection before. V8 waits for six of them, which a server at rest does not come
 * to, and most of what it has compiled by then belongs to the start. It compiles a function again if it runs after all.
 */
async function dropCode(): Promise<void> {
  setFlagsFromString('--bytecode-old-age=1')
  try {
    await collectGarbage()
  } finally {
    setFlagsFromString('--bytecode-old-age=6')
  }
}
