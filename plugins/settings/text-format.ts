/**
 * Settings as lines of text, for files that people edit: `logger level=debug format="json"`. A line has the name of a subsystem and any
 * number of keys with values, possibly none; a subsystem may have several lines. A value with spaces, quotes or `#` is a JSON string. `#`
 * at the beginning of a word starts a comment to the end of the line.
 */
import type { SettingsMap } from './api.ts'
import type { SettingProblem } from './changes.ts'

const bare = /^[^\s"#\\\p{Cc}][^\s"\\\p{Cc}]*$/u
/** A word of a line outside of comments: up to the `=` or the end of the word. */
const word = /[^\s="#][^\s="]*/y
const quoted = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/uy
const unquoted = /[^\s"\\\p{Cc}]*/uy
/** Further problems are not reported. */
const problemsMax = 100

/** One line for each key, by subsystem; one for a subsystem without values. */
export function formatSettings(map: SettingsMap): string {
  const lines = Object.entries(map).flatMap(([name, settings]) => {
    const pairs = Object.entries(settings)
    return pairs.length === 0 ? [name] : pairs.map(([key, value]) => `${name} ${key}=${writeText(value)}`)
  })
  return lines.map(line => `${line}\n`).join('')
}

function writeText(value: string): string {
  if (value === '' || bare.test(value)) return value
  // JSON does not escape DEL and the control characters after it, which are invisible in a file and cannot be read again.
  return JSON.stringify(value).replaceAll(/\p{Cc}/gu, control => `\\u00${control.charCodeAt(0).toString(16)}`)
}

/** The settings in the lines, and the problems: `line 3`, and a sentence without values. */
export function parseSettings(text: string): {
  readonly map: SettingsMap
  readonly problems: readonly SettingProblem[]
} {
  const subsystems = new Map<string, Map<string, string>>()
  const problems: SettingProblem[] = []
  const lines = text.split(/\r?\n/)
  for (let i = 0; i < lines.length && problems.length < problemsMax; i++) {
    try {
      readLine(lines[i]!, subsystems)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      problems.push({ element: `line ${i + 1}`, message: error.message })
    }
  }
  const map = Object.fromEntries([...subsystems].map(([name, pairs]) => [name, Object.fromEntries(pairs)]))
  return { map, problems }
}

function readLine(line: string, subsystems: Map<string, Map<string, string>>): void {
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(line)?.[0]
    at += found?.length ?? 0
    return found
  }
  const skipSpace = () => {
    while (at < line.length && /\s/.test(line[at]!)) at++
    return at < line.length && line[at] !== '#'
  }
  if (!skipSpace()) return
  const name = take(word)
  if (name === undefined || line[at] === '=') throw new SyntaxError('must begin with the name of a subsystem')
  const pairs = subsystems.get(name) ?? new Map<string, string>()
  subsystems.set(name, pairs)
  while (skipSpace()) {
    if (!/\s/.test(line[at - 1]!)) throw new SyntaxError('must have a space between a value and what follows')
    const key = take(word)
    if (key === undefined || line[at] !== '=') throw new SyntaxError('must have keys of the form key=value')
    at++
    const value = line[at] === '"' ? take(quoted) : take(unquoted)
    if (value === undefined) throw new SyntaxError(`has a value of ${key} with a quote that does not end`)
    if (at < line.length && !/\s/.test(line[at]!)) {
      throw new SyntaxError(`has a value of ${key} that must be in quotes as a whole`)
    }
    if (pairs.has(key)) throw new SyntaxError(`sets ${key} of ${name} again`)
    pairs.set(key, value.startsWith('"') ? (JSON.parse(value) as string) : value)
  }
}
