/** Patterns of paths, written by operators: each is compared in time linear in the path, by RE2 or by prefix. */
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { encodedPattern, widthOf } from 'svc/plugins/access-rules/api'
import type { PathPattern } from './document.ts'

export type PathMatcher = (path: string) => boolean

const patternBytesMax = 1024

/** Matches decoded paths with their leading slash. Throws a sentence without subject for an invalid pattern. */
export function compilePattern({ type, pattern, caseInsensitive = false }: PathPattern): PathMatcher {
  if (Buffer.byteLength(pattern) > patternBytesMax) throw new TypeError(`is longer than ${patternBytesMax} bytes`)
  if (type === 'prefix') return compilePrefix(pattern, caseInsensitive)
  if (type === 'glob' && !pattern.startsWith('/') && !pattern.startsWith('*')) {
    throw new TypeError('must begin with / or *: paths begin with a slash')
  }
  const compiled = compileRe2(type === 'glob' ? globExpression(pattern) : pattern, caseInsensitive)
  return path => compiled.test(path)
}

/** As `compilePattern`, for one that somebody gives: percent-encoded, as from an address bar, it would match nothing, and close nothing. */
export function readPattern(given: PathPattern): PathMatcher {
  const problem = newPatternProblem(given)
  if (problem === undefined) return compilePattern(given)
  throw new TypeError(problem)
}

/** Why nobody may give this pattern anew, though it can be compared. */
export function newPatternProblem(given: PathPattern): string | undefined {
  const problem = encodingProblem(given)
  return problem && `${problem} (a % that is part of a name is ? in a glob, [%] in a regular expression)`
}

/** A clause about a pattern that is percent-encoded, which says what to write. */
export function encodingProblem(given: PathPattern): string | undefined {
  const found = encodedPattern(given)
  if (found === undefined) return undefined
  const advice =
    found.decoded === undefined
      ? 'write the characters themselves, with a backslash before those that mean something else here'
      : `write ${JSON.stringify(found.decoded)}`
  return `is percent-encoded, but compared with decoded paths: ${advice}`
}

/** Loaded with the first glob or regular expression: most servers have none. */
const library = (): typeof import('re2js') => createRequire(import.meta.url)('re2js')

function compileRe2(text: string, isCaseInsensitive: boolean): RE2JS {
  requireFewRepeats(text)
  const { RE2JS } = library()
  try {
    return RE2JS.compile(text, RE2JS.DOTALL | (isCaseInsensitive ? RE2JS.CASE_INSENSITIVE : 0))
  } catch (error) {
    throw new TypeError(`is no pattern of RE2: ${(error as Error).message}`)
  }
}

const globExpression = (glob: string): string => `\\A(?:${translateGlob(glob)})\\z`

/** A counted repetition is compiled as copies: a bound on the counts keeps the compilation of a pattern short. */
const repeatsMax = 1000

function requireFewRepeats(text: string): void {
  const counts = [...text.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].map(([, least, most]) => Number(most || least))
  if (counts.reduce((sum, count) => sum + count, 0) > repeatsMax)
    throw new TypeError(`repeats more than ${repeatsMax} times in all: use * or + where the number does not matter`)
}

/** States that a pattern can be in at once: so much work each character of a path costs at most. 0 for prefixes. */
export function patternWidth({ type, pattern, caseInsensitive = false }: PathPattern): number {
  if (type === 'prefix') return 0
  const text = type === 'glob' ? globExpression(pattern) : pattern
  const source = `(?s)${text}`
  return widthOf({ source, isCaseInsensitive: caseInsensitive }, compileRe2(text, caseInsensitive).programSize())
}

function compilePrefix(prefix: string, caseInsensitive: boolean): PathMatcher {
  if (!prefix.startsWith('/')) throw new TypeError('must begin with /: paths begin with a slash')
  if (!caseInsensitive) return path => path.startsWith(prefix)
  const folded = prefix.toLowerCase()
  return path => path.toLowerCase().startsWith(folded)
}

/** `*` any run without a slash, `**` any run, `?` one character but a slash, `{a,b}` alternatives. */
export function translateGlob(glob: string): string {
  const { RE2JS } = library()
  let text = ''
  let isOpen = false
  for (let index = 0; index < glob.length; index++) {
    const character = glob[index]
    if (character === '*' && glob[index + 1] === '*') {
      text += '.*'
      index++
    } else if (character === '*') text += '[^/]*'
    else if (character === '?') text += '[^/]'
    else if (character === '{') {
      if (isOpen) throw new TypeError('has braces within braces')
      isOpen = true
      text += '(?:'
    } else if (character === '}' && isOpen) {
      isOpen = false
      text += ')'
    } else if (character === ',' && isOpen) text += '|'
    else text += RE2JS.quote(character)
  }
  if (isOpen) throw new TypeError('has a { without its }')
  return text
}
