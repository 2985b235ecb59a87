/** The `svc` command: `server`, and whatever commands plugins contribute to `cli.command`. */
import { readFileSync } from 'node:fs'
import { type Boot, boot } from './boot.ts'
import { ConfigurationError, formatProblem, suggest } from './config.ts'
import { describeConfiguration } from './config-keys.ts'
import { dryRun } from './dry-run.ts'
import { createKernel } from './kernel.ts'
import type { CliCommand, CliIo } from './kernel-service.ts'
import { createLogger, createStderrSink } from './log.ts'
import type { Contribution } from './plugin.ts'
import { runServer } from './server.ts'
import { kernelSection } from './settings.ts'
import { createSystemPorts } from './system-ports.ts'
import { createSingleThread } from './thread-calls.ts'

const EXIT_USAGE = 2

/** Runs one command line (without node and script). Resolves with the exit code. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const [command, ...rest] = argv
  const version = packageVersion()
  try {
    if (command === '--version' || command === '-v' || command === 'version') {
      io.stdout.write(`svc ${version}\n`)
      return 0
    }
    if (command === 'server') return await runServerCommand(rest, version, io)
    const commands = await contributedCommands(version, io)
    if (command === undefined || command === '--help' || command === '-h' || command === 'help') {
      const target = command === undefined ? io.stderr : io.stdout
      target.write(describeCommands(commands))
      return command === undefined ? EXIT_USAGE : 0
    }
    return await runContributed(command, rest, commands, io)
  } catch (error) {
    if (error instanceof ConfigurationError) {
      const lines = [...new Set(error.problems.map(formatProblem))]
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
  const loaded = await boot(flags, io.env, process.cwd())
  if (given('--help') || given('-h')) {
    io.stdout.write(describeServer(loaded))
    return 0
  }
  return given('--dry-run') ? dryRun(loaded, version, io) : runServer(loaded, version)
}

interface Commands {
  readonly list: readonly Contribution<CliCommand>[]
  /** Why some commands may be missing: one sentence per plugin that is left out. */
  readonly missing: readonly string[]
}

/** Sets up what can be set up: a command must work before the server is configured. */
async function contributedCommands(version: string, io: CliIo): Promise<Commands> {
  const { plugins, resolved } = await boot([], io.env, process.cwd())
  const skip = new Map<string, string>()
  for (const problem of resolved.problems) if (problem.plugin) skip.set(problem.plugin, formatProblem(problem))
  const log = createLogger('warn', createStderrSink('text'))
  const kernel = createKernel({
    plugins,
    config: resolved.sections,
    threads: createSingleThread(log),
    ports: createSystemPorts(),
    log,
    version,
    skip,
  })
  kernel.setup()
  return {
    list: kernel.point('cli.command').list(),
    missing: [...kernel.skipped()].map(([plugin, reason]) => `the plugin "${plugin}" is left out: ${reason}`),
  }
}

async function runContributed(name: string, argv: readonly string[], commands: Commands, io: CliIo): Promise<number> {
  const command = commands.list.find(({ id }) => id === name)?.value
  if (command === undefined) {
    const names = ['server', ...commands.list.map(({ id }) => id)]
    io.stderr.write(`svc: unknown command "${name}"${suggest(name, names, '')}\n`)
    for (const line of commands.missing) io.stderr.write(`  ${line}\n`)
    io.stderr.write('`svc --help` lists the commands.\n')
    return EXIT_USAGE
  }
  if (argv.includes('--help') || argv.includes('-h')) {
    io.stdout.write(describeCommand(name, command))
    return 0
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

function describeCommands({ list, missing }: Commands): string {
  const rows = [['server', 'Starts the server.'], ...list.map(({ id, value }) => [id, value.summary])]
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`)
  const left = missing.length === 0 ? [] : ['', 'Commands of plugins that lack configuration are not shown.']
  const more = '`svc <command> --help` says more; `svc --version` prints the version.'
  return `${['usage: svc <command> [options]', '', 'Commands:', ...lines, ...left, '', more].join('\n')}\n`
}

function describeCommand(name: string, command: CliCommand): string {
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
