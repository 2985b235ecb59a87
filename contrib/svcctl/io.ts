/** The parts of the process that a command uses. Tests replace them. */
import type { Readable, Writable } from 'node:stream'

export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Relative paths are resolved from here. */
  readonly cwd: string
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal
}
