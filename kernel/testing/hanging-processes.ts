import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const stopMsMax = 90_000

/**
 * Stops a process, the first, and those that it has begun, with SIGSTOP, and resolves when none of their threads runs any more: until then they may
 * still answer. Those that it has begun may have ended since they were asked for. Linux only.
 */
export async function hangProcesses(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGSTOP')
    } catch (error) {
      if (pid === pids[0] || (error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
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
