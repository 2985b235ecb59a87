import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const stopMsMax = 90_000

/** Stops processes with SIGSTOP, and resolves when none of their threads runs any more: until then they may still answer. Linux only. */
export async function hangProcesses(pids: readonly number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  const deadlineMs = performance.now() + stopMsMax
  while (pids.some(isRunning)) {
    if (performance.now() > deadlineMs) throw new Error(`a process does not stop within ${stopMsMax} ms`)
    await sleep(5)
  }
}

/** An ended process does not run. */
function isRunning(pid: number): boolean {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    // The name, in parentheses, may have any characters in it. T: stopped, Z: ended and not waited for.
    return threads.some(thread => !/\) [TZ] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')))
  } catch {
    return false
  }
}
