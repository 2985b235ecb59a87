/** `svc server --dry-run`: everything that can be found wrong without starting anything, in one list. */
import type { Boot } from './boot.ts'
import { formatProblems } from './config/index.ts'
import { withoutDisabled } from './falling-plugins.ts'
import { createKernel } from './kernel.ts'
import type { CliIo } from './kernel-service.ts'
import { createLogger, createStderrSink } from './log.ts'

/** Prints a summary to stdout and problems to stderr. Exit code 0, 1 for what set-up and inspection found, 2 for the configuration. */
export async function dryRun(booted: Boot, version: string, io: CliIo): Promise<number> {
  const { discovery, falling, resolved, settings } = booted
  const plugins = booted.plugins.filter(({ name }) => !falling.has(name))
  const configurationProblems = formatProblems(resolved.problems)
  const log = createLogger('error', createStderrSink(settings?.logFormat ?? 'text'))
  const skip = new Map(resolved.problems.map(({ plugin }) => [plugin ?? '', 'its configuration has problems']))
  const kernel = createKernel({ plugins, config: resolved.sections, log, version, skip })
  const problems: string[] = [...new Set(falling.values())]
  let isSetUp = false
  try {
    kernel.setup()
    isSetUp = true
  } catch (error) {
    problems.push((error as Error).message)
  }
  const found = isSetUp ? await kernel.inspect() : undefined
  problems.push(...(found?.problems ?? []))
  io.stdout.write(`svc ${version}: ${plugins.length} plugins, ${settings?.workers ?? '?'} worker threads\n`)
  io.stdout.write(
    `plugins: ${kernel.service
      .plugins()
      .map(({ name }) => name)
      .join(' ')}\n`,
  )
  for (const { name, effects } of withoutDisabled(booted))
    io.stdout.write(`disabled: ${[name, ...effects].join('; ')}\n`)
  for (const { module, reason } of discovery.absent) io.stdout.write(`not loaded: ${module.name}, ${reason}\n`)
  const settingLines = [...resolved.origins].map(([key, source]) => {
    const section = resolved.sections[key.plugin] as Record<string, unknown> | undefined
    const shown = key.secret ? '(secret)' : JSON.stringify(section?.[key.property] ?? '(refused)')
    return `${key.variable} = ${shown} from ${source}\n`
  })
  // A key that several plugins read is one setting.
  for (const line of new Set(settingLines)) io.stdout.write(line)
  for (const what of found?.plan ?? []) io.stdout.write(`plan: ${what}\n`)
  for (const what of found?.notLookedAt ?? []) io.stdout.write(`not looked at: ${what}\n`)
  const all = [...configurationProblems, ...problems]
  if (all.length === 0) {
    io.stdout.write('no problems found\n')
    return 0
  }
  io.stderr.write(`${all.length} ${all.length === 1 ? 'problem' : 'problems'} found:\n`)
  for (const problem of all) io.stderr.write(`  ${problem.replaceAll('\n', '\n  ')}\n`)
  return configurationProblems.length > 0 ? 2 : 1
}
