/**
 * The processes and temporary folders of one run. Whatever ends the run (success, an error, a signal), every process that it
 * started is stopped by its id and every folder that it made is removed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const STOP_TIMEOUT_MS = 10_000
const POLL_INTERVAL_MS = 20

const running = new Set<ChildProcess>()
const folders = new Set<string>()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))

/** A new folder below `parent`, removed at the end of the run. */
export function makeFolder(parent: string, prefix: string): string {
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, prefix))
  folders.add(folder)
  return folder
}

/** Removes a folder before the end of the run, to give its space back. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
}

export interface StartOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly folder?: string
  /** File that receives stdout and stderr. */
  readonly logFile: string
}

/** Starts a process of ours with an environment that holds nothing but PATH and what is given. */
export function startProcess(command: string, args: readonly string[], options: StartOptions): ChildProcess {
  const log = openSync(options.logFile, 'a')
  const child = spawn(command, args, {
    cwd: options.folder,
    env: { PATH: process.env.PATH ?? '', ...options.environment },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  track(child)
  return child
}

/** Makes sure that a child ends with the run. */
export function track(child: ChildProcess): void {
  running.add(child)
  child.once('exit', () => running.delete(child))
  child.once('error', () => running.delete(child))
}

/** Asks a process to end, and ends it when it does not within ten seconds. Idempotent. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  child.kill('SIGTERM')
  const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await ended
  clearTimeout(deadline)
}

/** Waits until `probe` finds something in the process's log; throws with the log's end when it ends or takes too long. */
export async function waitForLog<T>(
  child: ChildProcess,
  logFile: string,
  timeoutMs: number,
  probe: (log: string) => T | undefined,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const log = readFileSync(logFile, 'utf8')
    const found = probe(log)
    if (found !== undefined) return found
    const ended = child.pid === undefined || child.exitCode !== null || child.signalCode !== null
    if (ended || performance.now() > deadline) {
      const reason = ended ? 'ended' : `was not ready after ${timeoutMs} ms`
      throw new Error(`${child.spawnargs.slice(0, 4).join(' ')} ${reason}:\n${log.slice(-2000)}`)
    }
    await sleep(POLL_INTERVAL_MS)
  }
}
