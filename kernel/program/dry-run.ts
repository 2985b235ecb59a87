/** `svc server --dry-run`: everything that can be found wrong without starting anything, in one list. */

import { formatProblems } from '../config/index.ts'
import type { CliIo } from '../kernel-service.ts'
import type { Boot } from './boot.ts'
import { createHostKernel } from './host-kernel.ts'
import { createLogger, createStderrSink } from './log.ts'
import { effectsOfDisabling } from './start-facts.ts'

/** Prints a summary to stdout and problems to stderr. Exit code 0, 1 for problems of set-up and inspection, 2 for the configuration. */
export async function dryRun(booted: Boot, io: CliIo): Promise<number> {
  const { discovery, falling, resolved, settings } = booted
  const plugins = booted.plugins.filter(({ name }) => !falling.has(name))
  const configurationProblems = formatProblems(resolved.problems)
  const problems = [...configurationProblems, ...new Set(falling.values())]
  const log = createLogger('error', createStderrSink(settings?.logFormat ?? 'text'))
  const skip = new Set(resolved.problems.map(({ plugin }) => plugin ?? ''))
  const kernel = createHostKernel({ plugins, config: resolved.sections, log, skip })
  let found: Awaited<ReturnType<typeof kernel.inspect>> = { problems: [], plan: [], notLookedAt: [] }
  try {
    kernel.setup()
    found = await kernel.inspect()
  } catch (error) {
    problems.push((error as Error).message)
  }
  problems.push(...found.problems)
  const settingLines = [...resolved.origins].map(([key, source]) => {
    const section = resolved.sections[key.plugin] as Record<string, unknown> | undefined
    const shown = key.secret ? '(secret)' : JSON.stringify(section?.[key.property] ?? '(refused)')
    return `${key.variable} = ${shown} from ${source}`
  })
  const lines = [
    `svc ${kernel.service.version}: ${plugins.length} plugins, ${settings?.workers ?? '?'} worker threads`,
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
