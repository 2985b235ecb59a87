/** Patterns of paths. Operators write them, so each is compared in time linear in the path: RE2, or the ends of texts. */
import { RE2JS } from 're2js'
import type { PathPattern } from './document.ts'

export type PathMatcher = (path: string) => boolean

const patternBytesMax = 1024

/** Compares decoded paths with their leading slash. Throws a sentence without subject for what is no pattern. */
export function compilePattern({ type, pattern, caseInsensitive = false }: PathPattern): PathMatcher {
  if (Buffer.byteLength(pattern) > patternBytesMax) throw new TypeError(`is longer than ${patternBytesMax} bytes`)
  if (type === 'prefix') return compilePrefix(pattern, caseInsensitive)
  if (type === 'glob' && !pattern.startsWith('/') && !pattern.startsWith('*')) {
    throw new TypeError('must begin with / or *: paths begin with a slash')
  }
  const flags = RE2JS.DOTALL | (caseInsensitive ? RE2JS.CASE_INSENSITIVE : 0)
  const text = type === 'glob' ? `\\A(?:${translateGlob(pattern)})\\z` : pattern
  try {
    const compiled = RE2JS.compile(text, flags)
    return path => compiled.test(path)
  } catch (error) {
    throw new TypeError(`is no pattern of RE2: ${(error as Error).message}`)
  }
}

function compilePrefix(prefix: string, caseInsensitive: boolean): PathMatcher {
  if (!prefix.startsWith('/')) throw new TypeError('must begin with /: paths begin with a slash')
  if (!caseInsensitive) return path => path.startsWith(prefix)
  const folded = prefix.toLowerCase()
  return path => path.toLowerCase().startsWith(folded)
}

/** `*` any run without a slash, `**` any run, `?` one character but a slash, `{a,b}` alternatives. */
export function translateGlob(glob: string): string {
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
