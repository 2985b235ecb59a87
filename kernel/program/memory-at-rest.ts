/**
 * Returns memory to the system when this thread has come to rest. V8 collects garbage of an idle process, but keeps pages of which a little
 * is in use: after a start that is a quarter of its heap, after a load most of it. One compacting collection frees them: 30 to 60 ms of a
 * thread that has nothing to do.
 */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Maximum share of busy time between two checks; a server without requests is below it. */
const busyShareMax = 0.05
/** It is not worth a collection to return less. */
const grownBytesMin = 16 << 20
/** The pause grows with what is in use, a large cache for example. Garbage counts until V8 has collected it, some looks later. */
const usedBytesMax = 128 << 20

/** A server that has little to do would fill the young generation again and again. */
const pauseMs = 300_000

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/** Looks again and again, for as long as the thread lives; the timer does not keep it alive. */
export function returnMemoryAtRest(lookMs = 10_000): void {
  let keptBytes = 0
  let notBeforeMs = 0
  let collect: (() => void) | undefined
  let last = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    if (performance.now() < notBeforeMs) return
    const { total_physical_size: heapBytes, used_heap_size: usedBytes } = getHeapStatistics()
    if (utilization > busyShareMax || heapBytes < keptBytes + grownBytesMin || usedBytes > usedBytesMax) return
    if (collect === undefined) {
      collect = exposedCollection()
      dropCode(collect)
    } else collect()
    keptBytes = getHeapStatistics().total_physical_size
    notBeforeMs = performance.now() + pauseMs
  }, lookMs).unref()
}

/** A new context has the function as soon as the flag is set; the flag changes nothing else. */
function exposedCollection(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  return () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/**
 * Collects, and drops bytecode that did not run since the collection before. V8 waits for six of them, which a server at rest does not come
 * to, and most of what it has compiled by then belongs to the start. It compiles a function again if it runs after all.
 */
function dropCode(collect: () => void): void {
  setFlagsFromString('--bytecode-old-age=1')
  collect()
  setFlagsFromString('--bytecode-old-age=6')
}
