/**
 * The directives of `Cache-Control` (RFC 9111 section 5.2, RFC 5861, RFC 8246), of `CDN-Cache-Control` (RFC 9213), and of its predecessor
 * `Surrogate-Control` (W3C Note "Edge Architecture Specification", 2001).
 *
 * Malformed input is read so that the cache stores less: an invalid number is 0, the smallest of several values counts, and quoted text has no
 * directives. Names are case-insensitive. Qualified forms (`no-cache="set-cookie"`) count for the whole answer.
 */
import { parseDictionary } from 'structured-headers'

/** Times in seconds; undefined if the directive is missing. */
export interface Directives {
  readonly maxAge: number | undefined
  readonly sMaxAge: number | undefined
  readonly staleWhileRevalidate: number | undefined
  readonly staleIfError: number | undefined
  readonly minFresh: number | undefined
  /** Infinity if the directive has no argument. */
  readonly maxStale: number | undefined
  /** Lower-case names of all directives. */
  readonly names: ReadonlySet<string>
}

/** Larger numbers of seconds count as this one (RFC 9111 section 1.2.2). */
export const secondsMax = 2 ** 31

type Argument = string | true

export const noDirectives: Directives = fromArguments([])

/** `field`: all lines of the field, joined with commas. */
export function parseCacheControl(field: string | undefined): Directives {
  if (field === undefined) return noDirectives
  return fromArguments(split(field).map(readItem))
}

/** Undefined if the field is missing, empty or malformed: then `Cache-Control` counts. */
export function parseTargetedCacheControl(field: string | undefined): Directives | undefined {
  if (field === undefined) return undefined
  let dictionary: ReturnType<typeof parseDictionary>
  try {
    dictionary = parseDictionary(field)
  } catch {
    // Malformed fields are ignored as a whole (RFC 9213 section 2.1).
    return undefined
  }
  if (dictionary.size === 0) return undefined
  const items: [string, Argument][] = []
  for (const [name, [value]] of dictionary) {
    if (value === false) continue
    // A value that is not a number becomes a text that is not a number.
    items.push([name, value === true ? true : typeof value === 'number' ? String(value) : '?'])
  }
  return fromArguments(items)
}

/**
 * Undefined if the field has none of `max-age`, `no-store` and `no-store-remote`: then `Cache-Control` counts. A directive with a target
 * (`max-age=60;edge`) is for the cache that has asked for it, which this one never does.
 */
export function parseSurrogateControl(field: string | undefined): Directives | undefined {
  if (field === undefined) return undefined
  const items = split(field)
    .filter(item => !withoutQuoted(item).includes(';'))
    .map(readItem)
    .map(([name, argument]): [string, Argument] => {
      if (name === 'no-store-remote') return ['no-store', argument]
      // `max-age=60+30`: fresh for 60 s, and usable for 30 s more, which are ignored.
      return name === 'max-age' && argument !== true ? [name, argument.replace(/^(\d+)\+\d+$/, '$1')] : [name, argument]
    })
  return items.some(([name]) => name === 'max-age' || name === 'no-store') ? fromArguments(items) : undefined
}

const withoutQuoted = (item: string) => item.replaceAll(/"(?:[^"\\]|\\.)*"?/gs, '')

function fromArguments(items: readonly (readonly [string, Argument])[]): Directives {
  const seconds = (wanted: string, withoutArgument = 0): number | undefined => {
    let smallest: number | undefined
    for (const [name, argument] of items) {
      if (name !== wanted) continue
      const value = argument === true ? withoutArgument : /^\d+$/.test(argument) ? Number(argument) : 0
      smallest = Math.min(smallest ?? Infinity, value)
    }
    return smallest === undefined || smallest === Infinity ? smallest : Math.min(smallest, secondsMax)
  }
  return {
    maxAge: seconds('max-age'),
    sMaxAge: seconds('s-maxage'),
    staleWhileRevalidate: seconds('stale-while-revalidate'),
    staleIfError: seconds('stale-if-error'),
    minFresh: seconds('min-fresh'),
    maxStale: seconds('max-stale', Infinity),
    names: new Set(items.map(([name]) => name)),
  }
}

/** Splits at commas outside of quoted strings; an unterminated string reaches to the end of the field. */
function split(field: string): string[] {
  const items: string[] = []
  let start = 0
  let isQuoted = false
  for (let i = 0; i < field.length; i++) {
    const character = field[i]
    if (isQuoted && character === '\\') i++
    else if (character === '"') isQuoted = !isQuoted
    else if (character === ',' && !isQuoted) {
      items.push(field.slice(start, i))
      start = i + 1
    }
  }
  items.push(field.slice(start))
  return items.map(item => item.trim()).filter(item => item !== '')
}

function readItem(item: string): [string, Argument] {
  const equals = item.indexOf('=')
  if (equals < 0) return [item.toLowerCase(), true]
  // White space around `=` is not allowed: the argument then is no number, and the name still counts.
  const name = item.slice(0, equals)
  const argument = item.slice(equals + 1)
  if (name !== name.trimEnd() || argument !== argument.trimStart()) return [name.trimEnd().toLowerCase(), '?']
  const quoted = /^"((?:[^"\\]|\\.)*)"$/s.exec(argument)?.[1]
  return [name.toLowerCase(), quoted === undefined ? argument : quoted.replaceAll(/\\(.)/gs, '$1')]
}
