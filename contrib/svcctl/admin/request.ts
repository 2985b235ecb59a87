/** Makes the request of typed arguments and options. */
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { formatRemote, type RemoteTarget, requireBucket, requireBucketOnly, requireKey } from '../target.ts'
import type { PlacedField, Plan } from './arguments.ts'
import type { AdminRequest } from './client.ts'
import { type Field, kebab, noneWord, optionName, placeholder } from './fields.ts'
import type { Operation } from './operations.ts'
import { overrides } from './overrides.ts'
import { fieldsOfDocument, parseArgument, parseJson, parsePairs, readDocument, secretOf } from './values.ts'

/** Options by name in camelCase, as the parser returns them. */
export type Options = Readonly<Record<string, unknown>>

const camel = (text: string): string => text.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** An option that clears a field. */
export const nullGiven = Symbol('null')

export interface Prepared {
  readonly request: AdminRequest
  readonly target: RemoteTarget
  /** The subject of the request, for messages. */
  readonly label: string
  /** A request that checks the text of the file; only if the whole body is one file that the server can check. */
  readonly check: AdminRequest | undefined
}

export async function requestOf(
  context: Context,
  { id, method, path, body, bodyTypes, pathParameters }: Operation,
  plan: Plan,
  args: readonly string[],
  options: Options,
): Promise<Prepared> {
  const { bucket, key, positional, rest, restPlace, isBodyOfFile, secrets } = plan
  const [targetText, ...others] = args
  const target = context.remote(targetText!)
  const values: Record<'path' | 'query' | 'body', Record<string, unknown>> = { path: {}, query: {}, body: {} }
  if (bucket === undefined) requireAlias(target)
  else values[bucket.place][bucket.name] = key === undefined ? requireBucketOnly(target) : requireBucket(target)
  if (key !== undefined && (key.isRequired || target.key !== '')) {
    values[key.place][key.name] = key.isRequired ? requireKey(target) : target.key
  }
  positional.forEach(({ field, place }, index) => {
    const text = others[index]
    values[place][field.name] = text === undefined ? null : parseArgument(field, text)
  })
  const behind = others.slice(positional.length)
  let check: AdminRequest | undefined
  let document: unknown
  if (isBodyOfFile) {
    const text = await readDocument(context, behind[0]!)
    document = documentOf(text, behind[0]!, bodyTypes)
    check = overrides[id]?.check?.(text, target.bucket)
  } else if (rest !== undefined) Object.assign(values[restPlace], await restOf(context, rest, behind, options))
  for (const { field, place } of plan.options) {
    const value = await optionOf(context, { field, place }, options)
    if (value !== undefined) values[place][field.name] = value
  }
  for (const field of secrets) {
    const secret = await secretOf(context, field, {
      isStdin: options[camel(`${kebab(field.name)}-stdin`)] === true,
      file: options[camel(`${kebab(field.name)}-file`)] as string | undefined,
    })
    if (secret !== undefined) values.body[field.name] = secret
  }
  const complete = overrides[id]?.complete
  const names = pathParameters.map(({ name }) => name)
  return {
    target,
    check,
    label: [bucket === undefined ? '' : formatRemote(target), ...others.slice(0, positional.length)]
      .filter(Boolean)
      .join(' '),
    request: {
      operation: id,
      method,
      path: names.reduce((text, name) => text.replace(`{${name}}`, encodeName(String(values.path[name]))), path),
      query: Object.entries({ ...overrides[id]?.query, ...values.query }).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).map(one => [name, String(one)] as const),
      ),
      body:
        body === undefined ? undefined : (document ?? (complete === undefined ? values.body : complete(values.body))),
      ifMatch: options.ifMatch as string | undefined,
    },
  }
}

/** If the server also accepts text, a value that is not JSON is sent as a JSON string. */
function documentOf(text: string, argument: string, bodyTypes: readonly string[]): unknown {
  if (bodyTypes.includes('text/plain') && !/^\s*[{["]/.test(text)) return text
  return parseJson(text, argument)
}

function requireAlias({ alias, bucket }: RemoteTarget): void {
  if (bucket !== '') throw usageError(`${alias}/${bucket}: this is about the server, so name the alias alone.`)
}

async function restOf(context: Context, field: Field, texts: readonly string[], options: Options) {
  if (field.kind === 'document') return fieldsOfDocument(field, await readDocument(context, texts[0]!), texts[0]!)
  if (texts.length === 0 && options[noneWord] !== true) {
    throw usageError(`Name at least one ${placeholder(field)}, or use --${noneWord}.`)
  }
  if (texts.length > 0 && options[noneWord] === true) throw usageError(`Use either values or --${noneWord}, not both.`)
  const value = field.kind === 'pairs' ? parsePairs(field, texts) : texts.map(text => parseArgument(field, text))
  return { [field.name]: value }
}

async function optionOf(context: Context, { field }: PlacedField, options: Options): Promise<unknown> {
  const given = options[camel(optionName(field))]
  if (given === undefined) return undefined
  if (given === nullGiven) return null
  // Commander gives `true` for an absent option that is only declared as `--no-…`.
  if (field.kind === 'switch' && field.default === true && given === true) return undefined
  if (field.kind === 'pairs') return parsePairs(field, given as readonly string[])
  if (field.kind !== 'document') return given
  if (field.isNullable && given === noneWord) return null
  return fieldsOfDocument(field, await readDocument(context, given as string), given as string)[field.name]
}
