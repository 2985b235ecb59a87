/** The `svc` command: `server`, `plugins`, and whatever commands plugins contribute to `cli.command`. */
import { readFileSync } from 'node:fs'
import { type Boot, boot } from './boot.ts'
import {
  ConfigurationError,
  describeConfiguration,
  formatProblem,
  formatProblems,
  resolveConfiguration,
  suggest,
} from './config/index.ts'
import { dryRun } from './dry-run.ts'
import { createKernel } from './kernel.ts'
import type { CliCommand, CliIo } from './kernel-service.ts'
import { createLogger, createStderrSink } from './log.ts'
import type { Contribution } from './plugin.ts'
import { printPlugins } from './plugin-list.ts'
import { revision } from './revision.ts'
import { runServer } from './server.ts'
import { kernelSection } from './settings.ts'

const EXIT_USAGE = 2

/** Runs one command line (without node and script). Resolves with the exit code. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  // `svc help server` asks the same as `svc server --help`.
  const [command, ...rest] = argv[0] === 'help' && argv.length > 1 ? [argv[1], '--help'] : argv
  const version = packageVersion()
  try {
    if (command === '--version' || command === '-v' || command === 'version') {
      const commit = revision()
      io.stdout.write(`svc ${version}${commit === 'unknown' ? '' : ` (${commit})`}\n`)
      return 0
    }
    if (command === 'server') return await runServerCommand(rest, version, io)
    if (command === 'plugins') return await runPluginsCommand(rest, version, io)
    const commands = await contributedCommands(version, io)
    if (command === undefined || command === '--help' || command === '-h' || command === 'help') {
      const target = command === undefined ? io.stderr : io.stdout
      target.write(describeCommands(commands))
      return command === undefined ? EXIT_USAGE : 0
    }
    return await runContributed(command, rest, commands, io)
  } catch (error) {
    if (error instanceof ConfigurationError) {
      const lines = formatProblems(error.problems)
      io.stderr.write(`svc: the configuration has ${lines.length === 1 ? 'a problem' : `${lines.length} problems`}:\n`)
      for (const line of lines) io.stderr.write(`  ${line}\n`)
      io.stderr.write('`svc server --help` lists every setting.\n')
      return EXIT_USAGE
    }
    io.stderr.write(`svc: ${(error as Error).message}\n`)
    return 1
  }
}

async function runServerCommand(argv: readonly string[], version: string, io: CliIo): Promise<number> {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const given = (flag: string) => argv.indexOf(flag) !== -1 && argv.indexOf(flag) < end
  const flags = argv.filter((argument, index) => index >= end || !['--help', '-h', '--dry-run'].includes(argument))
  const loaded = await boot(flags, io.env, process.cwd(), { requireAll: !given('--dry-run') })
  if (given('--help') || given('-h')) {
    io.stdout.write(describeServer(loaded))
    return 0
  }
  return given('--dry-run') ? dryRun(loaded, version, io) : runServer(loaded, version)
}

const pluginsCommand = {
  usage: '[--json] [options of `svc server`]',
  summary: 'Lists the plugins that a start would load, and those that are disabled.',
  examples: ['svc plugins', 'svc plugins --json', 'svc plugins --config=/etc/svc/config.json'],
}

/** Takes what `svc server` takes: a complete command line of a server lists its plugins. */
async function runPluginsCommand(argv: readonly string[], version: string, io: CliIo): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    io.stdout.write(describeCommand('plugins', pluginsCommand))
    return 0
  }
  const flags = argv.filter(argument => argument !== '--json')
  const loaded = await boot(flags, io.env, process.cwd(), { requireAll: false })
  // Another problem of the configuration is no matter of the list; a mistyped flag may be the reason for a wrong one.
  const mistyped = loaded.resolved.problems.filter(({ source, plugin }) => source === 'flag' && plugin === undefined)
  if (mistyped.length > 0) throw new ConfigurationError(mistyped)
  return printPlugins(loaded, version, argv.includes('--json'), io)
}

interface Commands {
  /** Those that can run. */
  readonly list: readonly Contribution<CliCommand>[]
  /** Why some commands may be missing: one line per plugin that lacks configuration, one for all that need those. */
  readonly missing: readonly string[]
  /** All that there are, to be explained and not to be run. */
  describable(): readonly Contribution<CliCommand>[]
}

/** Sets up what can be set up: a command must work before the server is configured. */
async function contributedCommands(version: string, io: CliIo): Promise<Commands> {
  const { plugins, resolved } = await boot([], io.env, process.cwd())
  const skip = new Map<string, string>()
  for (const problem of resolved.problems) {
    if (problem.plugin === undefined) continue
    const earlier = skip.get(problem.plugin)
    skip.set(problem.plugin, `${earlier === undefined ? '' : `${earlier} `}${formatProblem(problem)}`)
  }
  const log = createLogger('warn', createStderrSink('text'))
  const setUp = (config: Boot['resolved']['sections'], skipped: ReadonlyMap<string, string>) => {
    const kernel = createKernel({ plugins, config, log, version, skip: skipped })
    kernel.setup()
    return kernel
  }
  const kernel = setUp(resolved.sections, skip)
  const list = kernel.point('cli.command').list()
  return {
    list,
    missing: whyMissing(skip, kernel.skipped()),
    describable() {
      if (skip.size === 0) return list
      const { sections } = resolveConfiguration([kernelSection, ...plugins], { argv: [], env: {} }, { standIns: true })
      try {
        return setUp(sections, new Map()).point('cli.command').list()
      } catch {
        return list // Some plugin does not take what stands for its configuration; the others can still be explained.
      }
    },
  }
}

function whyMissing(unconfigured: ReadonlyMap<string, string>, skipped: ReadonlyMap<string, string>): string[] {
  const lines = Array.from(
    unconfigured,
    ([plugin, problem]) => `commands of the plugin "${plugin}" are missing: ${problem}`,
  )
  const dependents = [...skipped.keys()].filter(plugin => !unconfigured.has(plugin))
  if (dependents.length > 0) lines.push(`and with them those of ${dependents.join(', ')}`)
  return lines
}

async function runContributed(name: string, argv: readonly string[], commands: Commands, io: CliIo): Promise<number> {
  const command = commands.list.find(({ id }) => id === name)?.value
  const asksForHelp = argv.includes('--help') || argv.includes('-h')
  const known = command ?? commands.describable().find(({ id }) => id === name)?.value
  if (known !== undefined && asksForHelp) {
    io.stdout.write(describeCommand(name, known))
    return 0
  }
  if (command === undefined) {
    const names = ['server', 'plugins', ...commands.describable().map(({ id }) => id)]
    io.stderr.write(
      known === undefined
        ? `svc: unknown command "${name}"${suggest(name, names)}\n`
        : `svc ${name}: the configuration is incomplete\n`,
    )
    // What is missing cannot be the reason for a name that nobody has.
    if (known !== undefined) for (const line of commands.missing) io.stderr.write(`  ${line}\n`)
    io.stderr.write('`svc --help` lists the commands.\n')
    return EXIT_USAGE
  }
  try {
    return await command.run(argv, io)
  } catch (error) {
    const wrongUsage = String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS_')
    io.stderr.write(`svc ${name}: ${(error as Error).message}\n`)
    if (wrongUsage) io.stderr.write(`usage: svc ${name} ${command.usage}\n`)
    return wrongUsage ? EXIT_USAGE : 1
  }
}

function describeCommands({ list, describable }: Commands): string {
  const all = describable()
  const own = [
    ['server', 'Starts the server.'],
    ['plugins', pluginsCommand.summary],
  ]
  const rows = [...own, ...all.map(({ id, value }) => [id, value.summary])]
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`)
  const waiting = all.map(({ id }) => id).filter(name => !list.some(({ id }) => id === name))
  const needs =
    waiting.length === 0
      ? []
      : ['', `Without their configuration these only explain themselves: ${waiting.join(', ')}.`]
  const more = '`svc <command> --help` says more; `svc --version` prints the version.'
  return `${['usage: svc <command> [options]', '', 'Commands:', ...lines, ...needs, '', more].join('\n')}\n`
}

function describeCommand(name: string, command: Omit<CliCommand, 'run'>): string {
  const examples = command.examples.map(example => `  ${example}`)
  return `${[`usage: svc ${name} ${command.usage}`.trimEnd(), '', command.summary, '', 'Examples:', ...examples].join('\n')}\n`
}

function describeServer({ plugins }: Boot): string {
  const rows = describeConfiguration([kernelSection, ...plugins])
  const lines: string[] = []
  const shown = new Set<string>()
  for (const row of rows) {
    // Plugins may share a key.
    if (shown.has(row.variable)) continue
    shown.add(row.variable)
    const names = [row.flag === undefined ? undefined : `${row.flag}=<${row.type}>`, row.variable]
    const fallback = row.default === undefined ? (row.required ? ' (required)' : '') : ` (default ${row.default})`
    lines.push(`  ${names.filter(name => name !== undefined).join(', ')}${fallback}`, `      ${row.description}`)
  }
  return `${[
    'usage: svc server <folder> [--dry-run] [options]',
    '',
    'Starts the server. --dry-run checks everything, starts nothing, and prints what it found.',
    '',
    'Examples:',
    '  svc server /data',
    '  svc server /data --dry-run',
    '  svc server /data --config=/etc/svc/config.json --log-format=text',
    '',
    'Options, with the environment variables that set the same. Flags win over the environment, the environment over',
    'the --config file. A variable with (_FILE) is a secret: it is set in the environment, or in the file that',
    '<variable>_FILE names.',
    ...lines,
  ].join('\n')}\n`
}

function packageVersion(): string {
  return JSON.parse(readFileSync(new URL(import.meta.resolve('svc/package.json')), 'utf8')).version
}
