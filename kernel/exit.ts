/** The end of a process. */

const turnMs = 1
const turns = 10

/**
 * Ends the process with `code`, 10 ms later. In `process.exit` Node.js waits for the threads in which V8 compiles, and one of them
 * may wait for a garbage collection that only the main thread can make, for ever (nodejs/node#54918; measured: one of 300 processes
 * that end while they are busy). The turns here let what is being compiled get its collection first.
 */
export function exit(code: number): never {
  const nobody = new Int32Array(new SharedArrayBuffer(4))
  for (let turn = 0; turn < turns; turn++) Atomics.wait(nobody, 0, 0, turnMs)
  process.exit(code)
}
