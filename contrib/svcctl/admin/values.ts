/** Reads files, secrets and typed text as values of a request. */
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { askSecret, firstLineOf, readSecret } from '../prompt.ts'
import { type Field, kebab, parseField } from './fields.ts'

const documentBytesMax = 16 << 20

/** Text of the file, or of standard input for `-`. `@` in front of a path is taken as other tools take it. */
export async function readDocument({ io, path }: Context, argument: string): Promise<string> {
  const source: Readable =
    argument === '-' ? io.stdin : createReadStream(path(argument.startsWith('@') ? argument.slice(1) : argument))
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > documentBytesMax) throw usageError(`${argument} is larger than any document of the Admin API.`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}

export function parseJson(text: string, argument: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usageError(`${argument === '-' ? 'Standard input' : argument} is no JSON: ${(error as Error).message}.`)
  }
}

/**
 * The fields in the file of the last argument. The file holds the value of the field, or the server's answer to a read of the
 * document: an object with that field.
 */
export function fieldsOfDocument(field: Field, text: string, argument: string): Record<string, unknown> {
  const { name, takesText } = field
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    if (takesText) return { [name]: text } // The server reports the place of the error.
    parsed = parseJson(text, argument)
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) && Object.hasOwn(parsed, name)) {
    return { [name]: (parsed as Record<string, unknown>)[name] }
  }
  return { [name]: takesText ? text : parsed }
}

/** `NAME=VALUE`; for lists, a name may have several. */
export function parsePairs({ hasLists }: Field, texts: readonly string[]): Record<string, unknown> {
  const pairs = new Map<string, string[]>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) throw usageError(`${JSON.stringify(text)} is not of the form NAME=VALUE.`)
    const name = text.slice(0, at)
    pairs.set(name, [...(pairs.get(name) ?? []), text.slice(at + 1)])
  }
  for (const [name, values] of pairs) {
    if (!hasLists && values.length > 1) throw usageError(`${JSON.stringify(name)} is given twice.`)
  }
  return Object.fromEntries([...pairs].map(([name, values]) => [name, hasLists ? values : values[0]]))
}

export function parseArgument(field: Field, text: string): unknown {
  try {
    return parseField(field, text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw usageError(`${kebab(field.name).toUpperCase()}: ${JSON.stringify(text)} ${error.message}.`)
  }
}

/** `SVCCTL_NEW_SECRET_KEY`: never the variable with the secret of the alias. */
export const secretVariable = ({ name }: Field): string =>
  `SVCCTL_NEW_${kebab(name).replace(/^new-/, '').replaceAll('-', '_').toUpperCase()}`

/** From standard input, a file or the environment; asked for where it is needed. Undefined: the server makes one. */
export async function secretOf(
  context: Context,
  field: Field,
  given: { readonly isStdin: boolean; readonly file: string | undefined },
): Promise<string | undefined> {
  const { io, path } = context
  const flag = kebab(field.name)
  const secret = given.isStdin
    ? await readSecret(io)
    : given.file !== undefined
      ? await firstLineOf(createReadStream(path(given.file)))
      : io.env[secretVariable(field)] ||
        (field.isRequired
          ? await askSecret(io, `${flag}: `, `--${flag}-stdin, --${flag}-file or ${secretVariable(field)}`)
          : undefined)
  if (secret === '') throw usageError(`${flag}: it is empty.`)
  return secret
}
