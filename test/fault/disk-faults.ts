/** Faults of a disk under a real server, by a library that is compiled here and loaded into it: see `disk-faults.c`. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const kinds = { none: 0, fail: 1, short: 2, slow: 3, hang: 4 } as const
/** `entries`: files that are made, opened for writing, renamed or removed. */
const calls = { writes: 1, syncs: 2, reads: 4, entries: 8 } as const
const errors = { EIO: 5, ENOSPC: 28, EROFS: 30 } as const
const headBytes = 28
const faultsBytes = 256
const injectedAt = 24

export interface Fault {
  /** `hang`: until `end`. */
  readonly kind: Exclude<keyof typeof kinds, 'none'>
  readonly calls: readonly (keyof typeof calls)[]
  /** A part of the path. */
  readonly path: string
  readonly error?: keyof typeof errors
  /** Matching calls that pass before. Default 0. */
  readonly skipped?: number
  /** Calls that do not pass. Default: all. */
  readonly count?: number
  /** Only calls at offsets below it. */
  readonly end?: number
}

export interface DiskFaults {
  /** Variables for the server. */
  readonly environment: Readonly<Record<string, string>>
  inject(fault: Fault): void
  /** From now on nothing fails. Returns how many calls did not pass since `inject`. */
  end(): number
  readonly injected: number
}

/** Why there can be no faults on this machine; false where there can. */
export function whyNoFaults(): string | false {
  if (process.platform !== 'linux') return 'libraries are loaded into a server on Linux alone'
  return spawnSync('gcc', ['--version']).status === 0 ? false : 'gcc is not installed'
}

/** Compiles the library into this folder. */
export function createDiskFaults(folder: string): DiskFaults {
  const library = join(folder, 'disk-faults.so')
  const source = join(import.meta.dirname, 'disk-faults.c')
  const { status, stderr } = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-Wall', '-o', library, source, '-ldl'])
  if (status !== 0) throw new Error(`gcc: ${stderr}`)
  const control = join(folder, 'disk-faults')
  writeFileSync(control, Buffer.alloc(faultsBytes))
  const write = (bytes: Buffer) => {
    const file = openSync(control, 'r+')
    writeSync(file, bytes, 0, bytes.length, 0)
    closeSync(file)
  }
  const readInjected = () => {
    const file = openSync(control, 'r')
    const bytes = Buffer.alloc(4)
    readSync(file, bytes, 0, 4, injectedAt)
    closeSync(file)
    return bytes.readInt32LE(0)
  }
  return {
    environment: { LD_PRELOAD: library, TEST_DISK_FAULTS: control },
    inject({ kind, path, error = 'EIO', skipped = 0, count = -1, end = 0, ...fault }) {
      const mask = fault.calls.reduce((sum, name) => sum | calls[name], 0)
      const bytes = Buffer.alloc(faultsBytes)
      const head = [kinds[kind], errors[error], mask, skipped, count, end, 0]
      for (const [i, value] of head.entries()) bytes.writeInt32LE(value, i * 4)
      bytes.write(path, headBytes, faultsBytes - headBytes - 1, 'latin1')
      // The kind comes last: a call that is under way sees the old fault, or the whole new one.
      write(Buffer.alloc(4))
      const kindBytes = Buffer.from(bytes.subarray(0, 4))
      bytes.writeInt32LE(kinds.none, 0)
      write(bytes)
      write(kindBytes)
    },
    end() {
      write(Buffer.alloc(4))
      return readInjected()
    },
    get injected() {
      return readInjected()
    },
  }
}
