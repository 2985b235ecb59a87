/** Parses the command line with commander, as the commands declare it. */
import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { type ArgumentDeclaration, type CommandDeclaration, groups, type OptionDeclaration } from './command.ts'
import type { GlobalOptions } from './context.ts'
import { CliError } from './errors.ts'
import { safeText } from './formatting.ts'
import { globalOptions } from './global-options.ts'
import type { Io } from './io.ts'

/** Resolves when the command has run. */
export type RunCommand = (
  command: CommandDeclaration,
  args: readonly string[],
  options: Readonly<Record<string, unknown>>,
  global: GlobalOptions,
) => Promise<void>

export function createParser(
  commands: readonly CommandDeclaration[],
  version: string,
  io: Io,
  run: RunCommand,
): Command {
  const program = new Command('svcctl')
    .description('Buckets and objects of an S3 server, from the command line.')
    .usage('[options] <command> ALIAS/bucket/key')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'explain the command')
    .helpCommand(false)
    .showHelpAfterError('(see --help)')
    .configureOutput({
      writeOut: text => io.stdout.write(text),
      writeErr: text => io.stderr.write(text.split('\n').map(safeText).join('\n')),
    })
    .configureHelp({ showGlobalOptions: true, optionDescription: withChoices, argumentDescription: withChoices })
    .exitOverride()
  for (const declaration of globalOptions) program.addOption(toOption(declaration))
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 denied, 5 conflict, 130 interrupted.',
  )

  const parents = new Map<string, Command>([['', program]])
  function parentOf(words: readonly string[]): Command {
    const name = words.join(' ')
    const known = parents.get(name)
    if (known !== undefined) return known
    const parent = parentOf(words.slice(0, -1)).command(words.at(-1)!).helpCommand(false)
    parent.description(groups[name] ?? wordsBelow(commands, name).join(', '))
    parents.set(name, parent)
    return parent
  }

  for (const declaration of commands) {
    const words = declaration.name.split(' ')
    const parent = parentOf(words.slice(0, -1))
    const command = parent
      .command(words.at(-1)!, { hidden: declaration.isHidden === true })
      .summary(declaration.summary)
      .aliases(declaration.otherNames ?? [])
    command.description([declaration.summary, declaration.description].filter(Boolean).join('\n\n'))
    for (const argument of declaration.arguments) command.addArgument(toArgument(argument))
    for (const option of declaration.options) command.addOption(toOption(option))
    if (namesOneOfAlias(declaration)) takeTarget(command)
    command.showHelpAfterError(`Usage: ${command.createHelp().commandUsage(command)}\n(see --help)`)
    command.configureOutput({
      outputError: (text, write) => write(withChoice(withoutExcess(text, declaration.excessHint))),
    })
    command.addHelpText('after', `\nExamples:\n${declaration.examples.map(example => `  ${example}`).join('\n')}`)
    command.action(async () => {
      const args = command.processedArgs.flat().filter((value): value is string => typeof value === 'string')
      await run(declaration, args, command.opts(), program.opts<GlobalOptions & Record<string, unknown>>())
    })
  }
  // Its commands may not have been loaded, yet it is there.
  for (const group of Object.keys(groups)) parentOf([group])
  // Last, because what is made below a group inherits its settings.
  for (const [name, parent] of parents) {
    parent.configureOutput({ outputError: (text, write) => write(suggestByMeaning(text, name)) })
  }
  return program
}

/** `ALIAS NAME`: may be written `ALIAS/NAME` as well, as distributions and buckets are. */
function namesOneOfAlias({ arguments: [first, second] }: CommandDeclaration): boolean {
  return first?.kind === 'alias' && second?.kind === 'text' && second.isOptional !== true
}

/** A part of commander: the only place between its parents, which take the operands out of the line, and the count of arguments. */
interface Parsing {
  _parseCommand(operands: string[], unknown: string[]): unknown
}

function takeTarget(command: Command): void {
  const parsing = command as unknown as Parsing
  const parse = parsing._parseCommand.bind(command)
  parsing._parseCommand = ([first = '', ...others], unknown) => {
    const slash = first.indexOf('/')
    const isTarget = slash > 0 && slash < first.length - 1
    const start = first === '' ? [] : [first]
    return parse([...(isTarget ? [first.slice(0, slash), first.slice(slash + 1)] : start), ...others], unknown)
  }
}

/** Names that other tools use for the commands, with their group. */
const otherNames: Readonly<Record<string, string>> = {
  copy: 'cp',
  create: 'mb',
  del: 'rm',
  delete: 'rm',
  dir: 'ls',
  'dist delete': 'dist remove',
  'dist edit': 'dist get and dist set',
  'dist routes': 'dist resolve',
  'dist secret': 'dist rotate-secret',
  download: 'cp',
  get: 'cp',
  head: 'stat',
  info: 'stat',
  legalhold: 'admin object legal-hold',
  list: 'ls',
  login: 'alias set',
  mkdir: 'mb',
  move: 'mv',
  put: 'cp',
  policy: 'admin policy',
  quota: 'admin bucket quota',
  remove: 'rm',
  rename: 'mv',
  retention: 'admin object retention',
  rmdir: 'rb',
  show: 'cat',
  sign: 'presign',
  sync: 'mirror',
  tag: 'admin object tags',
  upload: 'cp',
  usage: 'admin usage',
  user: 'admin user',
}

/** A surplus argument may be a secret, and is not repeated. */
function withoutExcess(text: string, hint: string | undefined): string {
  const [tooMany] = /^error: too many arguments for '[a-z -]+'\. Expected \d+ arguments? but got \d+/.exec(text) ?? []
  if (tooMany === undefined) return text
  return `${tooMany}.\n${hint === undefined ? '' : `(${hint})\n`}`
}

/** Commander compares letters only, and takes `list` for `alias`, perhaps. */
function suggestByMeaning(text: string, group: string): string {
  const [, line = '', word = ''] = /^(error: unknown command '([a-z]+)')/.exec(text) ?? []
  const name = group === '' ? word : `${group} ${word}`
  return Object.hasOwn(otherNames, name) ? `${line}\n(Did you mean ${otherNames[name]}?)\n` : text
}

/** Adds the choice that was probably meant: `net` for `network`. */
function withChoice(text: string): string {
  const [refusal, given = '', list = ''] =
    /^error: .*(?:value|argument) '([^']*)' is invalid.* Allowed choices are (.*)\.$/m.exec(text) ?? []
  if (refusal === undefined || given === '') return text
  const meant = list.split(', ').find(choice => given.startsWith(choice) || choice.startsWith(given))
  return meant === undefined ? text : text.replace(refusal, `${refusal}\n(Did you mean ${meant}?)`)
}

/** Otherwise an unknown command with --help would print the help of its group and succeed. */
export function withoutVainHelp(program: Command, argv: readonly string[]): readonly string[] {
  let parent = program
  for (let at = 0; at < argv.length && parent.commands.length > 0; at++) {
    const word = argv[at]!
    if (word.startsWith('-')) {
      const option = program.options.find(({ long, short }) => long === word || short === word)
      if (option?.required === true) at++
      continue
    }
    const command = parent.commands.find(known => known.name() === word || known.aliases().includes(word))
    if (command === undefined) return argv.filter(text => text !== '--help' && text !== '-h')
    parent = command
  }
  return argv
}

/** The commands of a group. */
export function wordsBelow(commands: readonly CommandDeclaration[], group: string): readonly string[] {
  const start = group === '' ? '' : `${group} `
  const shown = commands.filter(({ name, isHidden }) => name.startsWith(start) && isHidden !== true)
  const below = shown.map(({ name }) => name.slice(start.length))
  return [...new Set(below.map(name => name.split(' ')[0]!))]
}

/** Names the words that there are, unless the summary does. */
function withChoices({ description, argChoices = [] }: { description: string; argChoices?: string[] }): string {
  const words = new Set(description.split(/[^\w-]+/))
  return argChoices.every(choice => words.has(choice)) ? description : `${description} (${argChoices.join(', ')})`
}

function toArgument({ name, summary, isOptional, isVariadic, choices }: ArgumentDeclaration): Argument {
  const text = isVariadic ? `${name}...` : name
  const argument = new Argument(isOptional ? `[${text}]` : `<${text}>`, summary)
  return choices === undefined ? argument : argument.choices([...choices])
}

function toOption(declaration: OptionDeclaration): Option {
  const { flags, summary, parse, choices, isRepeatable, isHidden = false } = declaration
  const option = new Option(flags, summary).hideHelp(isHidden)
  if (choices !== undefined) option.choices([...choices])
  if (parse !== undefined || isRepeatable) {
    option.argParser((text: string, previous: unknown) => {
      const value = parse === undefined ? text : parseWith(parse, text)
      return isRepeatable ? [...((previous as unknown[] | undefined) ?? []), value] : value
    })
  }
  if (declaration.default !== undefined) option.default(declaration.default)
  return option
}

function parseWith(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    // A refusal in its own words: commander would repeat the value, which may be a secret.
    if (error instanceof CliError) throw error
    throw new InvalidArgumentError(`${JSON.stringify(text)} ${(error as Error).message}.`)
  }
}
