/**
 * YAML 1.2 (core) in and out, of which JSON is a part. Bounded for hostile text: its size, the number of documents, aliases, values and
 * levels, and no work that grows with the square of any of them.
 */
import { createRequire } from 'node:module'
import type { Composer, LineCounter, ParsedNode } from 'yaml'
import { type DocumentProblem, problemsMax } from './errors.ts'

export const textBytesMax = 1024 * 1024
export const documentsMax = 2000
const aliasesMax = 100
const valuesMax = 200_000
/**
 * Lines, and what may begin a value within one: the library takes ten microseconds and 1.5 KB for each, also for a comment or an empty
 * line. So many are 0.7 s of the processor and 90 MB at worst, and about a thousand distributions.
 */
export const placesMax = 60_000
/** What to do with a text that is too long. Parts in the mode `replace` would remove each other's documents. */
const divide = 'divide it into files that are imported one after the other with the mode merge'
const depthMax = 64

export type Path = readonly (string | number)[]

export interface TextDocument {
  /** Plain JSON; undefined where it has problems. */
  readonly value: unknown
  /** From 1, of what stands at the path, or of what it would stand in. */
  place(path: Path): { readonly line: number; readonly column: number }
}

export interface ReadText {
  readonly documents: readonly TextDocument[]
  readonly problems: readonly DocumentProblem[]
}

type Yaml = typeof import('yaml')
let loaded: Yaml | undefined

/** Loaded with the first text: a server that nobody gives one does without its 70 modules. */
function yaml(): Yaml {
  loaded ??= createRequire(import.meta.url)('yaml') as Yaml
  return loaded
}

const start = { line: 1, column: 1 }

export function readYaml(text: string): ReadText {
  const { Composer, LineCounter, Parser } = yaml()
  const lines = new LineCounter()
  const documents: TextDocument[] = []
  const problems: DocumentProblem[] = []
  const report = (message: string, { line, column } = start): void => {
    problems.push({ element: '', line, column, message })
  }
  if (Buffer.byteLength(text) > textBytesMax) {
    report(`has more than ${textBytesMax} bytes: ${divide}`)
    return { documents, problems }
  }
  const excess = excessLine(text)
  if (excess !== undefined) {
    report(`has more than ${placesMax} lines, keys and list items, all together: ${divide}`, {
      line: excess,
      column: 1,
    })
    return { documents, problems }
  }
  if (isTooDeep(text)) {
    report(`is nested deeper than ${depthMax} levels`)
    return { documents, problems }
  }
  let aliases = 0
  const tokens = new Parser(lines.addNewLine).parse(text)
  // The check of the library compares each key with each other one.
  const composer = new Composer({ version: '1.2', schema: 'core', strict: true, uniqueKeys: false, stringKeys: true })
  boundErrors(composer)
  try {
    for (const document of composer.compose(tokens)) {
      if (document.contents === null && document.errors.length === 0) continue
      if (documents.length === documentsMax) {
        report(`has more than ${documentsMax} documents: ${divide}`)
        break
      }
      for (const { pos, message } of document.errors) report(clauseOf(message), placeAt(lines, pos[0]))
      if (document.errors.length > 0) break
      aliases += countAliases(document.contents)
      if (aliases > aliasesMax) {
        report(`has more than ${aliasesMax} aliases (*name)`)
        break
      }
      const twice = repeatedKey(document.contents)
      if (twice !== undefined) {
        report(`has the key ${JSON.stringify(twice.key).slice(0, 80)} twice in one place`, placeAt(lines, twice.offset))
        break
      }
      const value: unknown = document.toJS({ maxAliasCount: aliasesMax })
      const hostile = hostility(value)
      if (hostile !== undefined) {
        report(hostile, placeAt(lines, document.contents?.range[0] ?? 0))
        break
      }
      documents.push(...split(document.contents, value, lines))
    }
  } catch (error) {
    if (error instanceof TooManyErrors) {
      report(`${clauseOf(error.message)} (the first of more than ${problemsMax} errors)`, placeAt(lines, error.offset))
      return { documents: [], problems }
    }
    if (!(error instanceof RangeError || error instanceof ReferenceError || error instanceof SyntaxError)) throw error
    report(error instanceof RangeError ? 'is nested too deeply' : clauseOf((error as Error).message))
  }
  if (documents.length > documentsMax) report(`has more than ${documentsMax} documents: ${divide}`)
  return { documents, problems }
}

/** The first of them. */
class TooManyErrors extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

/** The library collects every error, at a cost that grows with the square of their number: half a minute for 1 MiB of commas. */
function boundErrors(composer: Composer): void {
  type Source = number | readonly [number, ...number[]] | { readonly offset: number }
  const inside = composer as unknown as { onError(source: Source, code: string, message: string, w?: boolean): void }
  const collect = inside.onError
  let first: TooManyErrors | undefined
  let count = 0
  inside.onError = (source, code, message, isWarning) => {
    const offset = typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0]
    first ??= new TooManyErrors(offset, message)
    if (++count > problemsMax) throw first
    collect(source, code, message, isWarning)
  }
}

/** A list stands for its items, as JSON cannot have several documents. */
function split(root: ParsedNode | null, value: unknown, lines: LineCounter): TextDocument[] {
  const at = (prefix: Path) => (path: Path) => placeOf(root, [...prefix, ...path], lines)
  if (!Array.isArray(value)) return [{ value, place: at([]) }]
  return value.map((item, index) => ({ value: item as unknown, place: at([index]) }))
}

const placeAt = (lines: LineCounter, offset: number) => {
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

function placeOf(root: ParsedNode | null, path: Path, lines: LineCounter) {
  const { isMap, isScalar } = yaml()
  let node: unknown = root
  let offset = root?.range[0] ?? 0
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : String(key)) === String(part))
      if (pair === undefined) break
      offset = (pair.key as ParsedNode | null)?.range?.[0] ?? offset
      node = pair.value
    } else {
      const items = (node as { readonly items?: readonly ParsedNode[] } | null)?.items
      const item = items?.[Number(part)]
      if (item === undefined) break
      offset = item.range?.[0] ?? offset
      node = item
    }
  }
  return placeAt(lines, offset)
}

/** Line breaks; brackets and commas; colons, hyphens, question marks, exclamation marks, ampersands and asterisks that may be indicators. */
const places = /\n|[[{,]|:(?=[\s\]},]|$)|(?<=["']):|(?<![^\s[{,])[-?!&*]/g

/**
 * The line that is one too many for the library; undefined if none is. An upper bound of the tokens: what is quoted counts as well, and
 * documents of the kinds that there are come nowhere near.
 */
export function excessLine(text: string): number | undefined {
  let line = 1
  let count = 0
  for (const [indicator] of text.matchAll(places)) {
    if (++count > placesMax) return line
    if (indicator === '\n') line++
  }
  return undefined
}

/**
 * A lower bound of the levels, before anything that calls itself for each level: brackets outside of quotes, and indentations. Text that is
 * quoted or folded may count as well; documents of the kinds that there are come nowhere near.
 */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (const line of text.split('\n')) {
    let lead = 0
    for (const character of line) {
      if (character === ' ') continue
      if (character !== '-' && character !== '?' && character !== ':') break
      if (++lead > depthMax) return true
    }
    for (const character of line) {
      if (character === '[' || character === '{') {
        if (++depth > depthMax * 4) return true
      } else if ((character === ']' || character === '}') && depth > 0) depth--
    }
  }
  return false
}

function countAliases(root: ParsedNode | null): number {
  let count = 0
  yaml().visit(root, { Alias: () => void count++ })
  return count
}

function repeatedKey(root: ParsedNode | null): { readonly key: unknown; readonly offset: number } | undefined {
  let found: { readonly key: unknown; readonly offset: number } | undefined
  const { isAlias, isScalar, visit } = yaml()
  visit(root, {
    Map(_, { items }) {
      const keys = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key) || isAlias(key)) continue
        const name = String(key.value)
        if (keys.has(name)) {
          found = { key: name, offset: key.range?.[0] ?? 0 }
          return visit.BREAK
        }
        keys.add(name)
      }
      return undefined
    },
  })
  return found
}

/** Why a value is no plain JSON of reasonable size; values that aliases repeat count each time. */
function hostility(root: unknown): string | undefined {
  let level: unknown[] = [root]
  let count = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depthMax) return `is nested deeper than ${depthMax} levels`
    count += level.length
    if (count > valuesMax) return `has more than ${valuesMax} values`
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value === 'number' && !Number.isFinite(value)) return 'has a number that JSON cannot have'
      if (typeof value === 'bigint') return 'has a number that is too large'
      if (typeof value !== 'object' || value === null) continue
      if (Object.hasOwn(value, '__proto__')) return 'has a key __proto__'
      const children = Object.values(value)
      if (count + next.length + children.length > valuesMax) return `has more than ${valuesMax} values`
      for (const child of children) next.push(child)
    }
    level = next
  }
  return undefined
}

/** The message without the excerpt of the text behind it, which may contain a secret. */
function clauseOf(message: string): string {
  const [sentence = ''] = message.split('\n')
  return `is no YAML: ${sentence.replace(/ at line \d+, column \d+:?$/, '').slice(0, 200)}`
}

/** A document with a comment before it. */
export function writeYaml(value: object, comment: string): string {
  const { Document } = yaml()
  const document = new Document(value, { version: '1.2', schema: 'core', aliasDuplicateObjects: false })
  if (comment !== '') document.commentBefore = comment
  return document.toString({ lineWidth: 0 })
}
