/** Failures of single files and objects: told as they happen, and the rest goes on. */
import { CliError, commonExitCode } from './errors.ts'
import type { Output } from './output.ts'

/** Ends a command that has reported all of its failures. */
export class FailuresTold extends CliError {}

/** So many different exit codes need not be kept: one of each kind tells as much. */
const keptMax = 100

export interface Failures {
  readonly count: number
  add(error: unknown, what: Readonly<Record<string, unknown>>): void
  /** Throws when there were any. */
  end(): void
}

export function createFailures(output: Output): Failures {
  const kept: unknown[] = []
  let count = 0
  return {
    get count() {
      return count
    },
    add(error, what) {
      count++
      if (kept.length < keptMax) kept.push(error)
      output.failed(error, what)
    },
    end() {
      if (count > 0) throw new FailuresTold('failures', commonExitCode(kept), `${count} failed.`)
    },
  }
}
