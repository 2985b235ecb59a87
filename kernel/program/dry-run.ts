/** `svc server --dry-run`: everything that can be found wrong without starting anything, in one list. */

import { formatProblems } from '../config/index.ts'
import type { Kernel } from '../kernel.ts'
import type { CliIo } from '../kernel-service.ts'
import type { Logger } from '../log.ts'
import type { Boot } from './boot.ts'
import { createHostKernel } from './host-kernel.ts'
import { createLogger, createStderrSink } from './log.ts'
import { effectsOfDisabling } from './start-facts.ts'

interface Looked {
  readonly kernel: Kernel
  readonly isSetUp: boolean
  /** Of the configuration, of the selection of plugins and of their set-up, in this order. */
  readonly configurationProblems: readonly string[]
  readonly otherProblems: readonly string[]
}

/** Sets up what a start would, and nothing more. Plugins whose configuration has problems are left out. */
export function setUpDry({ plugins, falling, resolved }: Boot, log: Logger): Looked {
  const otherProblems = [...new Set(falling.values())]
  const skip = new Set(resolved.problems.map(({ plugin }) => plugin ?? ''))
  const able = plugins.filter(({ name }) => !falling.has(name))
  const kernel = createHostKernel({ plugins: able, config: resolved.sections, log, skip })
  let isSetUp = true
  try {
    kernel.setup()
  } catch (error) {
    isSetUp = false
    otherProblems.push((error as Error).message)
  }
  return { kernel, isSetUp, configurationProblems: formatProblems(resolved.problems), otherProblems }
}

/** Prints a summary to stdout and problems to stderr. Exit code 0, 1 for problems of set-up and inspection, 2 for the configuration. */
export async function dryRun(booted: Boot, io: CliIo): Promise<number> {
  const { discovery, falling, resolved, settings } = booted
  const log = createLogger('error', createStderrSink(settings?.logFormat ?? 'text'))
  const { kernel, isSetUp, configurationProblems, otherProblems } = setUpDry(booted, log)
  const found = isSetUp ? await kernel.inspect() : { problems: [], plan: [], notLookedAt: [] }
  const problems = [...configurationProblems, ...otherProblems, ...found.problems]
  const settingLines = [...resolved.origins].map(([key, source]) => {
    const section = resolved.sections[key.plugin] as Record<string, unknown> | undefined
    const shown = key.secret ? '(secret)' : JSON.stringify(section?.[key.property] ?? '(refused)')
    return `${key.variable} = ${shown} from ${source}`
  })
  const lines = [
    `svc ${kernel.service.version}: ${booted.plugins.length - falling.size} plugins, ${settings?.workers ?? '?'} worker threads`,
    `plugins: ${kernel.service
      .plugins()
      .map(({ name }) => name)
      .join(' ')}`,
    ...effectsOfDisabling(booted).map(effects => `disabled: ${effects}`),
    ...discovery.absent.map(({ module, reason }) => `not loaded: ${module.name}, ${reason}`),
    // A key that several plugins read is one setting.
    ...new Set(settingLines),
    ...found.plan.map(what => `plan: ${what}`),
    ...found.notLookedAt.map(what => `not looked at: ${what}`),
  ]
  if (problems.length === 0) lines.push('no problems found')
  io.stdout.write(`${lines.join('\n')}\n`)
  if (problems.length === 0) return 0
  io.stderr.write(`${problems.length} ${problems.length === 1 ? 'problem' : 'problems'} found:\n`)
  for (const problem of problems) io.stderr.write(`  ${problem.replaceAll('\n', '\n  ')}\n`)
  return configurationProblems.length > 0 ? 2 : 1
}
