/** What the start after a restart will read, seen from the program that runs. */
import { ConfigurationError, formatProblems } from '../config/index.ts'
import type { NextStart } from '../kernel.ts'
import type { Boot } from './boot.ts'
import { setUpDry } from './dry-run.ts'
import { createLogger } from './log.ts'

/** `load` as the start does it. Plugins inspect nothing: those that run do that themselves. */
export async function readNextStart(load: () => Promise<Boot>): Promise<NextStart> {
  let booted: Boot
  try {
    booted = await load()
  } catch (error) {
    if (error instanceof ConfigurationError) return { problems: formatProblems(error.problems), config: {} }
    return { problems: linesOf((error as Error).message), config: {} }
  }
  // Nothing of this runs: the log of the server does not tell of it.
  const log = createLogger('silent', { write() {} })
  const { configurationProblems, otherProblems } = setUpDry(booted, log)
  const problems = [...configurationProblems, ...otherProblems.flatMap(linesOf)]
  return { problems, config: booted.resolved.sections }
}

/** Of a message about the plugins as a whole, each line is a problem. */
const linesOf = (message: string): readonly string[] => message.split('\n')
