/** The end of the process. */

const turnMs = 1
const turnCount = 10

/**
 * Ends the process with `code`, 10 ms later. `process.exit` waits for V8's compiler threads, and such a thread may wait for a garbage
 * collection that only the main thread can make (nodejs/node#54918: about one of 300 busy processes hangs). The turns let the
 * compiler threads get their collection first.
 */
export function exit(code: number): never {
  const neverNotified = new Int32Array(new SharedArrayBuffer(4))
  for (let turn = 0; turn < turnCount; turn++) Atomics.wait(neverNotified, 0, 0, turnMs)
  process.exit(code)
}
