/** The end of a process. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'

/** How long native code may hold a process that has nothing left to do. */
export const LAST_MS = 5000

/** Runs in a separate process, which a lock held by native code of this process cannot block. Its standard input ends when this process does. */
const lastResort = `
const watched = Number(process.argv[1])
const kill = () => {
  // If the process has just ended, the parent is another one.
  if (process.ppid !== watched) return
  const line = { level: 'fatal', time: new Date().toISOString(), msg: 'the process did not end by itself and is killed' }
  try {
    require('node:fs').writeSync(2, JSON.stringify(line) + '\\n')
  } finally {
    // Nobody may read the log any more.
    process.kill(watched, 'SIGKILL')
  }
}
let timer
process.stdin.on('data', bytes => {
  clearTimeout(timer)
  // Several may come at once.
  timer = setTimeout(kill, Number(String(bytes).trim().split(' ').at(-1)))
})
process.stdin.on('end', () => process.exit())`

let watching: ChildProcess | undefined

/** Kills this process if it has not ended after `ms`; called again, from then on. */
export function endWithin(ms: number): void {
  if (watching === undefined) {
    const argv = ['--input-type=commonjs', '-e', lastResort, String(process.pid)]
    watching = spawn(process.execPath, argv, { stdio: ['pipe', 'ignore', 'inherit'], detached: true, env: {} })
    // Without memory for another process there is no last resort here: the supervisor has its own.
    watching.on('error', () => {})
    watching.stdin!.on('error', () => {})
    watching.unref()
    ;(watching.stdin as Socket).unref()
  }
  watching.stdin!.write(` ${ms} `)
}

/** Cancels `endWithin`. Resolves when its process has ended. */
export async function endWhenever(): Promise<void> {
  const child = watching
  if (child === undefined || !child.kill('SIGKILL')) return
  // No other work may keep this process running until then.
  child.ref()
  await new Promise(resolve => child.once('exit', resolve))
}

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
