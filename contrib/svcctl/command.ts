/** Declaration of a command, one per file: the parser, the help, the shell completion and the reference are derived from it. */
import type { Context } from './context.ts'
import { parseDuration, parseSize } from './units.ts'

/** The kind of completion. */
export type ArgumentKind = 'alias' | 'target' | 'target-or-path' | 'path' | 'text'

export interface ArgumentDeclaration {
  readonly name: string
  readonly summary: string
  readonly kind: ArgumentKind
  readonly isOptional?: boolean
  /** One or more; the last argument only. */
  readonly isVariadic?: boolean
  /** The only values that it may have. */
  readonly choices?: readonly string[]
}

export interface OptionDeclaration {
  /** `-r, --recursive`, or with a value: `--expire <duration>`. */
  readonly flags: string
  readonly summary: string
  /** Converts the text; throws RangeError or a usage error. */
  readonly parse?: (text: string) => unknown
  readonly default?: unknown
  readonly choices?: readonly string[]
  /** May be given several times; the value is a list. */
  readonly isRepeatable?: boolean
  /** Neither in the help nor in completion. */
  readonly isHidden?: boolean
}

export interface CommandDeclaration<O = Record<string, unknown>> {
  /** The name with its groups: `alias set`. */
  readonly name: string
  /** Last words that stand for that of the name: `ls` for `list`. */
  readonly otherNames?: readonly string[]
  /** Neither in the help nor in completion. */
  readonly isHidden?: boolean
  /** One sentence. */
  readonly summary: string
  /** More, where it takes more. */
  readonly description?: string
  readonly arguments: readonly ArgumentDeclaration[]
  readonly options: readonly OptionDeclaration[]
  /** Said where there are more arguments than it takes: a sentence. */
  readonly excessHint?: string
  /** How people typed what the request has at a place, for the server's words about it: `body/expiresInSeconds` is `--expire`. */
  readonly typed?: Readonly<Record<string, string>>
  readonly examples: readonly [string, ...string[]]
  /** Arguments as given; a variadic argument is a list. */
  run(context: Context, args: readonly string[], options: O): Promise<void>
}

/** Options in camelCase, with the type that the command declares; its `parse` functions guarantee that type. */
export function defineCommand<O extends object>(declaration: CommandDeclaration<O>): CommandDeclaration {
  return declaration as unknown as CommandDeclaration
}

/** The summary of the group that the first word names; other groups are described by their commands. */
export const groups: Readonly<Record<string, string>> = {
  access: 'Access rules of buckets, and blocked public access.',
  admin: 'Administration: users, policies, buckets and their settings, the server.',
  alias: 'Names for servers and credentials.',
  dist: 'Buckets on names of their own: websites, S3 endpoints, certificates, keys for signed URLs.',
  share: 'Links for people without credentials.',
}

/** Seconds. */
export const parseSeconds = (text: string): number => {
  const milliseconds = parseDuration(text)
  if (milliseconds < 1000 || milliseconds % 1000 !== 0) throw new RangeError('is no whole number of seconds')
  return milliseconds / 1000
}

export const parsePositive = (text: string): number => {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new RangeError('is no number from 1 to 99999')
  return Number(text)
}

/** `name=value`. */
export function parsePair(separator: '=' | ':') {
  return (text: string): readonly [string, string] => {
    const at = text.indexOf(separator)
    if (at < 1) throw new RangeError(`is not of the form NAME${separator}VALUE`)
    return [text.slice(0, at), text.slice(at + 1).trim()]
  }
}

export { parseDuration, parseSize }
