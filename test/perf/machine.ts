/**
 * What /proc says about processes and the machine. CPU times are fields 14 and 15 of /proc/PID/stat: user and system time of
 * all threads of a process, in ticks of 10 ms, which the kernel scales to the exact run time.
 */
import { lstatSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'

/** USER_HZ, which the kernel's interface fixes at 100 on every architecture that Node.js runs on. */
const TICKS_PER_SECOND = 100
const TMPFS_MAGIC = 0x01021994

/** Seconds of CPU that these processes have used since they started, all threads. A process that has ended counts 0. */
export function cpuSeconds(pids: readonly number[]): number {
  let ticks = 0
  for (const pid of pids) {
    const stat = readProc(`/proc/${pid}/stat`)
    if (stat === undefined) continue
    // The second field is the command in parentheses and may hold spaces: count from behind it, where field 3 begins.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks / TICKS_PER_SECOND
}

/**
 * The same of the threads that these processes have now, in nanoseconds instead of ticks (the first field of schedstat): for rounds that
 * are short. What ended threads used is not in it.
 */
export function threadCpuSeconds(pids: readonly number[]): number {
  let nanoseconds = 0
  for (const pid of pids) {
    for (const thread of threadsOf(pid)) {
      nanoseconds += Number((readProc(`/proc/${pid}/task/${thread}/schedstat`) ?? '0').split(' ', 1)[0])
    }
  }
  return nanoseconds / 1e9
}

/** Direct children of a process, for servers that fork workers. */
export function childrenOf(pid: number): number[] {
  const text = readProc(`/proc/${pid}/task/${pid}/children`) ?? ''
  return text.split(' ').filter(Boolean).map(Number)
}

export interface Memory {
  /** Resident bytes, all kinds. */
  readonly residentBytes: number
  /** Of those the ones that belong to no file: heaps, stacks, buffers. */
  readonly anonymousBytes: number
  /** Resident bytes of files below `mappedFolder` that the process maps (an index, not working memory). */
  readonly mappedBytes: number
}

/** Resident memory of a process; zero when it has ended. */
export function memoryOf(pid: number, mappedFolder: string): Memory {
  const smaps = readProc(`/proc/${pid}/smaps`) ?? ''
  let residentBytes = 0
  let anonymousBytes = 0
  let mappedBytes = 0
  let isMapped = false
  for (const line of smaps.split('\n')) {
    if (line.startsWith('Rss:')) {
      const bytes = Number.parseInt(line.slice(4), 10) * 1024
      residentBytes += bytes
      if (isMapped) mappedBytes += bytes
    } else if (line.startsWith('Anonymous:')) {
      anonymousBytes += Number.parseInt(line.slice(10), 10) * 1024
    } else if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) {
      isMapped = line.includes(mappedFolder)
    }
  }
  return { residentBytes, anonymousBytes, mappedBytes }
}

/** The largest resident size that the process ever had, in bytes (VmHWM). */
export function peakResidentBytes(pid: number): number {
  const match = /^VmHWM:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/status`) ?? '')
  return match === null ? 0 : Number(match[1]) * 1024
}

/** Bytes that a process has caused to be written to drives since it started (`write_bytes`); 0 when it has ended. */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readProc(`/proc/${pid}/io`) ?? '')?.[1] ?? 0)
}

/** How many threads a process has now. */
export const threadCountOf = (pid: number): number => threadsOf(pid).length

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return [] // it has ended
  }
}

export function isMemoryFileSystem(folder: string): boolean {
  return statfsSync(folder).type === TMPFS_MAGIC
}

/** Bytes that an unprivileged process may still write there. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Bytes that the files of a folder take on their drive: of a file with holes only what was written. Folders below it count not. */
export function allocatedBytes(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + lstatSync(join(folder, name)).blocks * 512, 0)
}

export function describeMachine(): Record<string, string | number> {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    loadAverage: Math.round(loadavg()[0] * 100) / 100,
  }
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined // the process has ended: the callers document what that means
  }
}
