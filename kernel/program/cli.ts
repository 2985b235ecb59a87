/** The `svc` command: `server`, `plugins`, and the commands that plugins contribute to `cli.command`. */
import { ConfigurationError, describeConfiguration, formatProblems, suggest } from '../config/index.ts'
import type { CliCommand, CliCommandDefinition, CliIo } from '../kernel-service.ts'
import type { AnyPlugin, ServiceName } from '../plugin.ts'
import { type Boot, boot } from './boot.ts'
import { dryRun } from './dry-run.ts'
import { createHostKernel } from './host-kernel.ts'
import { createLogger, createStderrSink } from './log.ts'
import { currentBuild } from './revision.ts'
import { runServer } from './server.ts'
import { kernelSection } from './settings.ts'
import { type ListedPlugin, listPlugins } from './start-facts.ts'

const EXIT_USAGE = 2

type Described = Omit<CliCommand, 'run'>

const server: Described = {
  usage: '<folder> [--dry-run] [options]',
  summary: 'Starts the server.',
  examples: [
    'svc server /data',
    'svc server /data --dry-run',
    'svc server /data --config=/etc/svc/config.json --log-format=text',
  ],
}

const plugins: Described = {
  usage: '[--json] [options of `svc server`]',
  summary: 'Lists the plugins that a start would load, and those that are disabled.',
  examples: ['svc plugins', 'svc plugins --json', 'svc plugins --config=/etc/svc/config.json'],
}

/** Runs one command line (without node and script). Resolves with the exit code. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  // `svc help server` asks the same as `svc server --help`.
  const [command, ...rest] = argv[0] === 'help' && argv.length > 1 ? [argv[1], '--help'] : argv
  try {
    if (command === '--version' || command === '-v' || command === 'version') {
      const { version, commit } = currentBuild()
      io.stdout.write(`svc ${version}${commit === 'unknown' ? '' : ` (${commit})`}\n`)
      return 0
    }
    if (command === 'server') return await runServerCommand(rest, io)
    if (command === 'plugins') return await runPluginsCommand(rest, io)
    return await runContributed(command, rest, io)
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

const asksForHelp = (argv: readonly string[]) => argv.includes('--help') || argv.includes('-h')

async function runServerCommand(argv: readonly string[], io: CliIo): Promise<number> {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const options = argv.slice(0, end)
  const isDry = options.includes('--dry-run')
  const own = ['--help', '-h', '--dry-run']
  const flags = [...options.filter(option => !own.includes(option)), ...argv.slice(end)]
  const load = () => boot(flags, io.env, process.cwd(), { requireAll: !isDry })
  const loaded = await load()
  if (asksForHelp(options)) {
    io.stdout.write(describeServer(loaded))
    return 0
  }
  return isDry ? dryRun(loaded, io) : runServer(loaded, load)
}

/** Accepts the arguments of `svc server`: a complete command line of a server lists its plugins. Exit code 1 if they refuse the start. */
async function runPluginsCommand(argv: readonly string[], io: CliIo): Promise<number> {
  if (asksForHelp(argv)) {
    io.stdout.write(describeCommand('plugins', plugins))
    return 0
  }
  const flags = argv.filter(argument => argument !== '--json')
  const loaded = await boot(flags, io.env, process.cwd(), { requireAll: false })
  // Another problem of the configuration is no matter of the list; a mistyped flag may be the reason for a wrong one.
  const mistyped = loaded.resolved.problems.filter(({ source, plugin }) => source === 'flag' && plugin === undefined)
  if (mistyped.length > 0) throw new ConfigurationError(mistyped)
  const found = listPlugins(loaded)
  const lines = argv.includes('--json') ? [JSON.stringify(found, undefined, 2)] : found.plugins.flatMap(describePlugin)
  io.stdout.write(`${lines.join('\n')}\n`)
  for (const problem of found.problems) io.stderr.write(`svc: ${problem}\n`)
  return found.problems.length === 0 ? 0 : 1
}

/** Sets up the plugins that can be: a command must work before the server is configured. The others can still be explained. */
async function runContributed(name: string | undefined, argv: readonly string[], io: CliIo) {
  const { plugins, resolved } = await boot([], io.env, process.cwd())
  const commands = new Map(plugins.flatMap(plugin => commandsOf(plugin).map(about => [about.name, { plugin, about }])))
  const problemsOf = (plugin: AnyPlugin) => {
    const needed = pluginsBehind(plugin, plugins)
    return resolved.problems.filter(problem => needed.has(problem.plugin ?? ''))
  }
  const isHelp = name === '--help' || name === '-h' || name === 'help'
  if (name === undefined || isHelp) {
    const about = [...commands.values()].map(({ plugin, about }) => ({
      ...about,
      waits: problemsOf(plugin).length > 0,
    }))
    const target = isHelp ? io.stdout : io.stderr
    target.write(describeCommands(about))
    return isHelp ? 0 : EXIT_USAGE
  }
  const known = commands.get(name)
  if (known === undefined) {
    io.stderr.write(`svc: unknown command "${name}"${suggest(name, ['server', 'plugins', ...commands.keys()])}\n`)
    io.stderr.write('`svc --help` lists the commands.\n')
    return EXIT_USAGE
  }
  if (asksForHelp(argv)) {
    io.stdout.write(describeCommand(name, known.about))
    return 0
  }
  const problems = problemsOf(known.plugin)
  if (problems.length > 0) {
    io.stderr.write(`svc ${name}: the configuration is incomplete\n`)
    for (const line of formatProblems(problems)) io.stderr.write(`  ${line}\n`)
    io.stderr.write(`\`svc ${name} --help\` describes it.\n`)
    return EXIT_USAGE
  }
  const skip = new Set(resolved.problems.flatMap(({ plugin }) => plugin ?? []))
  const log = createLogger('warn', createStderrSink('text'))
  const kernel = createHostKernel({ plugins, config: resolved.sections, log, skip })
  kernel.setup()
  const command = kernel.point('cli.command').get(name)
  if (command === undefined) throw new Error(`the command ${name} needs a plugin that is not loaded`)
  try {
    return await command.run(argv, io)
  } catch (error) {
    const wrongUsage = String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS_')
    io.stderr.write(`svc ${name}: ${(error as Error).message}\n`)
    if (wrongUsage) io.stderr.write(`usage: svc ${name} ${command.usage}\n`)
    return wrongUsage ? EXIT_USAGE : 1
  }
}

const commandsOf = ({ contributes }: AnyPlugin): readonly CliCommandDefinition<ServiceName>[] =>
  contributes?.['cli.command'] ?? []

/** The plugin and all that it requires, in steps. */
function pluginsBehind(owner: AnyPlugin, plugins: Boot['plugins']): ReadonlySet<string> {
  const found = new Set([owner.name])
  for (const name of found) {
    const requires: readonly string[] = plugins.find(plugin => plugin.name === name)?.requires ?? []
    for (const { name, provides = [] } of plugins)
      if (requires.some(one => provides.includes(one as never))) found.add(name)
  }
  return found
}

function describeCommands(listed: readonly (Described & { readonly name: string; readonly waits: boolean })[]): string {
  const rows = [...Object.entries({ server, plugins }), ...listed.map(about => [about.name, about] as const)]
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`)
  const waiting = listed.filter(({ waits }) => waits).map(({ name }) => name)
  if (waiting.length > 0)
    lines.push('', `Without their configuration these only explain themselves: ${waiting.join(', ')}.`)
  const more = '`svc <command> --help` describes a command; `svc --version` prints the version.'
  return `${['usage: svc <command> [options]', '', 'Commands:', ...lines, '', more].join('\n')}\n`
}

function describeCommand(name: string, { usage, summary, examples }: Described): string {
  const lines = [`usage: svc ${name} ${usage}`.trimEnd(), '', summary, '', 'Examples:']
  return `${[...lines, ...examples.map(example => `  ${example}`)].join('\n')}\n`
}

function describeServer(loaded: Boot): string {
  // Plugins may share a key.
  const rows = Map.groupBy(describeConfiguration([kernelSection, ...loaded.plugins]), ({ variable }) => variable)
  const lines = [...rows.values()].flatMap(([{ flag, type, variable, required, description, ...row }]) => {
    const names = `${flag === undefined ? '' : `${flag}=<${type}>, `}${variable}`
    const fallback = row.default === undefined ? (required ? ' (required)' : '') : ` (default ${row.default})`
    return [`  ${names}${fallback}`, `      ${description}`]
  })
  const summary = `${server.summary} --dry-run checks everything, starts nothing, and prints the result.`
  return `${describeCommand('server', { ...server, summary })}
Options, with the environment variables that set the same. Flags win over the environment, the environment over
the --config file. A variable with (_FILE) is a secret: it is set in the environment, or in the file that
<variable>_FILE names.
${lines.join('\n')}
`
}

function describePlugin({ name, version, state, reason, module, path, ...about }: ListedPlugin): readonly string[] {
  const place = module.startsWith('svc/') || module === path ? module : `${module} (${path})`
  const remark = state === 'loaded' ? '' : `: ${state}${reason === undefined ? '' : `, ${reason}`}`
  const facts = {
    services: about.provides,
    points: about.points,
    extends: Object.entries(about.extends).map(([point, ids]) => `${point} (${ids.join(' ')})`),
  }
  const lines = Object.entries(facts).filter(([, values]) => values.length > 0)
  return [
    `${name} ${version} from ${place}${remark}`,
    ...lines.map(([fact, values]) => `  ${fact}: ${values.join(', ')}`),
  ]
}
