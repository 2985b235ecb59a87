/** Makes a command of an operation of the Admin API. This code knows no operation by name. */
import type { ArgumentDeclaration, CommandDeclaration, OptionDeclaration } from '../command.ts'
import { parsePositive } from '../command.ts'
import type { Context } from '../context.ts'
import { exportDocuments, linesOf as yamlLines } from '../distributions/archive.ts'
import { AdminError, failure, notFoundError, usageError } from '../errors.ts'
import { inTypedWords } from '../typed-words.ts'
import { documentLines, linesOf, tableOf } from './answer-view.ts'
import { type Plan, planOf, typedWords } from './arguments.ts'
import { saveBytes } from './bytes.ts'
import type { AdminClient, AdminRequest } from './client.ts'
import { withPlaces } from './document-places.ts'
import { followEvents } from './events.ts'
import { examplesOf } from './examples.ts'
import { asClause, type Field, kebab, noneWord, optionName, parseField, placeholder, shownChoices } from './fields.ts'
import { wholeName } from './naming.ts'
import { type Operation, resolveSchema } from './operations.ts'
import { overrides } from './overrides.ts'
import { showPages } from './pages.ts'
import { nullGiven, requestOf } from './request.ts'
import { shapeOf } from './shape.ts'
import { secretVariable } from './values.ts'
import { waitForJob } from './waiting.ts'

/** `name`: from `commandName`. `isDocument`: another command accepts the answer as a file. */
export function createAdminCommand(operation: Operation, name: string, isDocument: boolean): CommandDeclaration {
  const plan = planOf(operation)
  const isStream = operation.answerTypes.includes('text/event-stream')
  return {
    name: wholeName(name),
    summary: operation.description.replace(/\. .*$/s, '.'),
    description: moreOf(operation, plan),
    arguments: argumentsOf(plan),
    options: [
      ...optionsOf(plan),
      ...ownOptions(operation, plan, isStream),
      ...(isBytes(operation) ? [outputOption] : []),
    ],
    examples: examplesOf(operation, plan, name),
    async run(context, args, options) {
      const { request, target, label, check } = await requestOf(context, operation, plan, args, options)
      // A dry run needs no confirmation.
      const mayHarm = (isDestructive(operation) || options.remove === true) && options.dryRun !== true
      if (mayHarm) await context.requireConfirmed(`${overrides[operation.id]?.question ?? question(name, label)}?`)
      const { answersWithinMs, columns, defaults, line, exportKind = '' } = overrides[operation.id] ?? {}
      const client = await context.connectAdmin(target.alias, {
        isStream,
        ...(answersWithinMs !== undefined && { answersWithinMs }),
      })
      const limit = (options.limit ?? options.count) as number | undefined
      try {
        if (options.format === 'yaml')
          return await showDocuments(context, client, request, { kind: exportKind, names: args.slice(1) })
        if (isStream) await followEvents(context, client, request, { line, limit })
        else if (isBytes(operation)) await saveBytes(context, client, request, options.output as string)
        else if (plan.isPaged) await showPages(context, client, request, { limit, columns, defaults })
        else
          await showAnswer(context, client, request, isDocument, { name, label, check, waits: options.wait === true })
      } catch (error) {
        throw inTypedWords(error, typedWords(plan))
      }
    },
  }
}

/** The answer is a file. */
const isBytes = ({ answerTypes }: Operation): boolean =>
  answerTypes.length > 0 && !answerTypes.some(type => type === 'application/json' || type === 'text/event-stream')

const outputOption: OptionDeclaration = {
  flags: '-o, --output <file>',
  summary: 'where it goes (default -, standard output)',
  default: '-',
}

const formatOption: OptionDeclaration = {
  flags: '-o, --format <format>',
  summary: 'default json; yaml is a document for dist import',
  choices: ['json', 'yaml'],
  default: 'json',
}

/** Prints documents in the form of `dist import`. Fails if there are none, because an empty file could be imported, too. */
async function showDocuments(
  context: Context,
  client: AdminClient,
  request: AdminRequest,
  { kind, names }: { readonly kind: string; readonly names: readonly string[] },
) {
  const yaml = await exportDocuments(client, { kind: [kind], id: names })
  if (yaml === '') throw await noDocument(client, request, `${[kind, ...names].join(' ')}`)
  context.output.result({ yaml }, ...yamlLines(yaml))
}

/** Rejects with the error of the server where what is asked for does not exist at all. */
async function noDocument(client: AdminClient, request: AdminRequest, label: string): Promise<Error> {
  const { body } = await client.send(request)
  const reason =
    (body as { readonly builtin?: boolean }).builtin === true
      ? `${label} is built in: every server has it, and an import does not take it`
      : `${label}: nothing is set, the defaults hold`
  return notFoundError(`${reason}. There is no YAML document of it; without --format yaml it is shown as JSON.`)
}

function moreOf(operation: Operation, plan: Plan): string | undefined {
  const { description, actions, takesIfMatch } = operation
  const { secrets, isBodyOfFile, rest: last, options } = plan
  const rest = description.replace(/^.*?\.( |$)/s, '')
  const needed = actions.map(action => (typeof action === 'string' ? action : action.join(' or ')))
  const parts = [
    rest,
    ...secrets.map(
      field =>
        `--${kebab(field.name)}-stdin, --${kebab(field.name)}-file or ${secretVariable(field)} give the secret: others on the ` +
        'machine can read the command line.',
    ),
    takesIfMatch ? 'With --if-match nothing is done unless the document is still the one of that ETag.' : '',
    needed.length === 0 ? '' : `Needs ${needed.join(' and ')}.`,
  ]
  const documents = [...(last === undefined ? [] : [last]), ...options.map(({ field }) => field)]
  const shapes = isBodyOfFile
    ? [`The file holds ${shapeOfFile(operation)}.`]
    : documents.flatMap(field =>
        field.shape === undefined ? [] : [`The file for ${kebab(field.name)} holds ${field.shape}.`],
      )
  return [parts.filter(part => part !== '').join(' '), ...shapes].filter(Boolean).join('\n\n') || undefined
}

function shapeOfFile({ method, body, bodyTypes, response }: Operation): string {
  // The answer of `get` has more detail than `put` requires, and `put` accepts it.
  if (method === 'PUT') return shapeOf(response ?? body!)
  const [document = body!] = resolveSchema(body!).anyOf ?? []
  return `${shapeOf(document)}${bodyTypes.includes('text/plain') ? ', or lines as the export writes them' : ''}`
}

function argumentsOf({ bucket, key, positional, rest, isBodyOfFile }: Plan): readonly ArgumentDeclaration[] {
  const target: ArgumentDeclaration =
    bucket === undefined
      ? { name: 'alias', summary: 'of the server', kind: 'alias' }
      : {
          name: 'target',
          summary: `ALIAS/bucket${key === undefined ? '' : key.isRequired ? '/key' : '[/prefix]'}`,
          kind: 'target',
        }
  const last: ArgumentDeclaration[] = isBodyOfFile
    ? [{ name: 'file', summary: 'with the document as JSON; - is standard input', kind: 'path' }]
    : rest === undefined
      ? []
      : [argumentOfRest(rest)]
  return [
    target,
    ...positional.map(({ field }) => ({
      name: kebab(field.name),
      summary: summaryOf(field),
      kind: 'text' as const,
      isOptional: field.isNullable,
    })),
    ...last,
  ]
}

function argumentOfRest(field: Field): ArgumentDeclaration {
  if (field.kind === 'document') {
    return { name: 'file', summary: `${kebab(field.name)} as JSON; - is standard input`, kind: 'path' }
  }
  return {
    name: placeholder(field),
    summary: summaryOf(field),
    kind: 'text',
    isVariadic: true,
    isOptional: field.mayBeEmpty,
  }
}

/** The description of the schema, otherwise the name, and the allowed values if there is a choice. */
function summaryOf(field: Field, isOption = false): string {
  const { choices, description, isNullable, kind, name } = field
  const values =
    choices !== undefined ? shownChoices(choices).join(', ') : kind === 'switch' && !isOption ? 'on or off' : ''
  const fallback = String(field.default ?? '') === '' || kind === 'switch' ? '' : `default ${field.default}`
  const removes = isNullable ? `${noneWord} takes it away` : ''
  const again = isOption && (kind === 'list' || kind === 'pairs') ? 'again for more' : ''
  const facts = [values, fallback, removes, again].filter(Boolean).join('; ')
  const said = asClause(description).replace(/`([a-z]+[A-Z]\w*)`/g, (_, other: string) => `--${kebab(other)}`)
  if (kind === 'size') return ['such as 10GiB', said.replace(/^bytes(; )?/, '')].filter(Boolean).join('; ')
  return [said || kebab(name).replaceAll('-', ' '), facts && `(${facts})`].filter(Boolean).join(' ')
}

function optionsOf({ options, secrets }: Plan): readonly OptionDeclaration[] {
  return [...options.flatMap(({ field }) => optionsOfField(field)), ...secrets.flatMap(secretOptions)]
}

function optionsOfField(field: Field): readonly OptionDeclaration[] {
  const flag = `--${optionName(field)}`
  const summary = summaryOf(field, true)
  if (field.kind === 'switch') {
    const negated = { flags: `--no-${optionName(field)}`, summary: `${summary}: no`.trim() }
    if (field.default === true) return [{ ...negated, summary }]
    return field.default === false
      ? [{ flags: flag, summary }]
      : [
          { flags: flag, summary },
          { ...negated, isHidden: true },
        ]
  }
  const flags = `${flag} <${placeholder(field)}>`
  if (field.kind === 'list') return [{ flags, summary, parse: text => parseField(field, text), isRepeatable: true }]
  if (field.kind === 'pairs') return [{ flags, summary, isRepeatable: true }]
  if (field.kind === 'document') return [{ flags, summary: `${summary}; a file, - is standard input` }]
  // The parser takes `null` for no value at all.
  return [{ flags, summary, parse: text => parseField(field, text) ?? nullGiven }]
}

function secretOptions(field: Field): readonly OptionDeclaration[] {
  const flag = `--${kebab(field.name)}`
  const refuse = (): never => {
    throw usageError(
      `Others on this machine can read the command line: give the secret with ${flag}-stdin, ${flag}-file or ${secretVariable(field)}.`,
    )
  }
  return [
    { flags: `${flag}-stdin`, summary: 'read it from the first line of standard input' },
    { flags: `${flag}-file <file>`, summary: 'read it from the first line of a file' },
    { flags: `${flag} <secret>`, summary: 'is refused', parse: refuse, isHidden: true },
  ]
}

function ownOptions(
  { id, takesIfMatch }: Operation,
  { isPaged, rest }: Plan,
  isStream: boolean,
): readonly OptionDeclaration[] {
  return [
    ...(rest !== undefined && rest.kind !== 'document' && rest.mayBeEmpty
      ? [{ flags: `--${noneWord}`, summary: 'none at all, instead of naming some' }]
      : []),
    ...(isPaged || isStream
      ? [
          {
            flags: isStream ? '--count <count>' : '--limit <count>',
            summary: `end after so many (default: ${isStream ? 'go on' : 'all'})`,
            parse: parsePositive,
          },
        ]
      : []),
    ...(overrides[id]?.job === undefined
      ? []
      : [{ flags: '--wait', summary: 'until the job has ended; fails where it has not done all' }]),
    ...(overrides[id]?.exportKind === undefined ? [] : [formatOption]),
    ...(takesIfMatch ? [{ flags: '--if-match <etag>', summary: 'only if the document has this ETag' }] : []),
  ]
}

/** Operations that cannot be undone, or that interrupt the work of others. */
function isDestructive({ id, method }: Operation): boolean {
  return method === 'DELETE' || /^(stop|restart|release|reset|import|replace|rotate)[A-Z]/.test(id)
}

function question(name: string, label: string): string {
  const words = name.replace(/^dist /, '').split(' ')
  const verb = words.pop()!
  return [verb[0]!.toUpperCase() + verb.slice(1), ...words, label].filter(Boolean).join(' ')
}

interface AnswerOptions {
  readonly name: string
  readonly label: string
  readonly check: AdminRequest | undefined
  /** Whether the command waits for the end of the job that it starts. */
  readonly waits: boolean
}

async function showAnswer(
  context: Context,
  client: AdminClient,
  request: AdminRequest,
  isDocument: boolean,
  { name, label, check, waits }: AnswerOptions,
): Promise<void> {
  const { output } = context
  const { job, isEcho, notesOf, failureOf, columns, defaults, shown } = overrides[request.operation] ?? {}
  const { body, etag } = await client.send(request).catch(async error => {
    throw check !== undefined && error instanceof AdminError && error.code === 'malformed_policy'
      ? await withPlaces(client, check, error)
      : error
  })
  if (body === undefined) {
    output.done({ status: 'done', operation: request.operation }, `${question(name, label)}: done.`)
    return
  }
  const first = body as Readonly<Record<string, unknown>>
  const answer = waits && job !== undefined ? await waitForJob(context, client, first, job) : first
  if (isEcho) output.done(answer, `${question(name, label)}: done.`)
  else if (columns !== undefined && Array.isArray(answer.items) && answer.items.length > 0)
    output.result(answer, ...tableOf(answer.items, { columns, defaults, width: output.options.width }))
  else {
    const lines = isDocument ? documentLines(answer) : linesOf(shown?.(answer) ?? answer, output.options.width)
    output.result(answer, ...lines)
    if (shown !== undefined) output.note('All that is known, each field of it: --json.')
  }
  const { notApplied } = answer
  if (Array.isArray(notApplied) && notApplied.length > 0) {
    output.note(`Stored, but without effect until a restart, or permanently: ${notApplied.join(', ')}. See the schema.`)
  }
  if (typeof answer.secretKey === 'string') output.note('Keep the secret key: it is not shown again.')
  if (isDocument && etag !== undefined && !output.options.isJson) output.note(`ETag, for --if-match: ${etag}`)
  const notes = [
    ...((await notesOf?.(answer, client, request)) ?? []),
    ...((waits && (await job?.notesOf?.(answer, client))) || []),
  ]
  for (const note of notes) output.note(note)
  const reason = failureOf?.(answer) ?? (waits ? job?.failureOf(answer) : undefined)
  if (reason !== undefined) throw failure('not_done', reason)
}

/** Users edit the answers of these operations and send them back as files. */
export function takesItsAnswer(operation: Operation): boolean {
  const { isBodyOfFile, rest } = planOf(operation)
  if (isBodyOfFile) return true
  const answer = operation.response === undefined ? undefined : resolveSchema(operation.response)
  return rest?.kind === 'document' && Object.keys(answer?.properties ?? {}).length === 1
}
