/** `match` of a rule, and `captureEquals`, which compares the groups of its pattern. */
import { isPrincipalKey, type NormalizeKey } from 'svc/plugins/policy/api'
import { foldCase } from './fold-case.ts'
import { compileGlob, GlobError } from './glob.ts'
import { quote } from './principals.ts'
import type { Problems } from './problems.ts'
import {
  type CompiledRegex,
  compileRegex,
  literalStartOf,
  patternBytesMax,
  type Regex,
  RegexError,
  regexBytesMax,
} from './regexes.ts'
import type { RequestView } from './request-view.ts'
import type { AccessRuleMatch } from './rule.ts'

export interface Pattern {
  /** Every key, and every listing. */
  readonly isEverything: boolean
  /** Texts above `textCharsMax` are not asked about. */
  matches(view: RequestView): boolean
  /** Every text that matches begins with it; empty where nothing is known of that. */
  readonly literalStart: string
  /** For a glob: steps per character. */
  readonly costPerCharacter: number
  /** For a glob: approximate memory of its tables. */
  readonly memoryBytes: number
  /** Set for a regex. */
  readonly regex: CompiledRegex | undefined
  /** Its place in the set of the bucket; -1 of other types. */
  readonly regexIndex: number
}

/** The expressions of a bucket, without duplicates. Their indexes are those of the combined set. */
export class RegexList {
  readonly regexes: Regex[] = []
  readonly compiled: CompiledRegex[] = []
  readonly #indexes = new Map<string, number>()
  #memoryBytes = 0

  /** No other is compiled. */
  get isFull(): boolean {
    return this.#memoryBytes > regexBytesMax
  }

  /** Throws RegexError, also for the one that is too much. */
  add(regex: Regex): number {
    const name = `${regex.isCaseInsensitive} ${regex.source}`
    const known = this.#indexes.get(name)
    if (known !== undefined) return known
    const compiled = compileRegex(regex)
    this.compiled.push(compiled)
    this.#indexes.set(name, this.regexes.length)
    this.#memoryBytes += compiled.memoryBytes
    if (this.isFull) {
      const size = `take more than ${regexBytesMax / 2 ** 20} MiB`
      const why =
        'counted repetitions such as x{1000} are written out, and classes such as \\pL take much wherever they stand'
      throw new RegexError(`makes the regexes of the bucket too large, they ${size}: ${why}`)
    }
    return this.regexes.push(regex) - 1
  }
}

const noRegex = {
  isEverything: false,
  literalStart: '',
  costPerCharacter: 0,
  memoryBytes: 0,
  regex: undefined,
  regexIndex: -1,
}
const everything: Pattern = { ...noRegex, isEverything: true, matches: () => true }

export function readMatch(
  match: AccessRuleMatch | undefined,
  normalizeKey: NormalizeKey,
  regexes: RegexList,
  problems: Problems,
): Pattern {
  if (match === undefined) return everything
  const { type, caseInsensitive = false } = match
  const bytes = Buffer.byteLength(match.pattern)
  if (bytes > patternBytesMax) {
    problems.add('match.pattern', `has ${bytes} bytes; at most ${patternBytesMax} are allowed`)
    return everything
  }
  if (!match.pattern.isWellFormed()) problems.add('match.pattern', 'is no Unicode text')
  const pattern = normalizeKey(match.pattern)
  try {
    switch (type) {
      case 'prefix':
        return pattern === '' ? everything : prefixPattern(pattern, caseInsensitive)
      case 'glob':
        return globPattern(pattern, caseInsensitive)
      default:
        return regexPattern({ source: pattern, isCaseInsensitive: caseInsensitive }, regexes)
    }
  } catch (error) {
    if (!(error instanceof GlobError) && !(error instanceof RegexError)) throw error
    problems.add('match.pattern', error.message, error.position)
    return everything
  }
}

function prefixPattern(prefix: string, isCaseInsensitive: boolean): Pattern {
  const folded = foldCase(prefix)
  const matches: Pattern['matches'] = isCaseInsensitive
    ? view => view.folded.startsWith(folded)
    : ({ text }) => text.startsWith(prefix)
  return { ...noRegex, matches, literalStart: isCaseInsensitive ? '' : prefix }
}

function globPattern(pattern: string, isCaseInsensitive: boolean): Pattern {
  if (pattern === '**') return everything
  const glob = compileGlob(isCaseInsensitive ? foldCase(pattern) : pattern, 'path')
  const matches: Pattern['matches'] = isCaseInsensitive
    ? view => glob.matches(view.folded)
    : ({ text }) => glob.matches(text)
  const { costPerCharacter, memoryBytes, literalStart } = glob
  return { ...noRegex, matches, costPerCharacter, memoryBytes, literalStart: isCaseInsensitive ? '' : literalStart }
}

function regexPattern(regex: Regex, regexes: RegexList): Pattern {
  // The rules are refused already: to compile the rest would take time and tell nothing.
  if (regex.source === '' || regexes.isFull) return everything
  const index = regexes.add(regex)
  return {
    ...noRegex,
    literalStart: literalStartOf(regex),
    matches: view => view.matchedRegexes.includes(index),
    regex: regexes.compiled[index],
    regexIndex: index,
  }
}

/** A text, or the value of one of the caller's keys. */
type Wanted = { readonly text: string } | { readonly key: string }

export interface CaptureCondition {
  readonly regex: CompiledRegex
  readonly wanted: ReadonlyMap<string, Wanted>
  readonly normalizeKey: NormalizeKey
}

const propertyForm = /^\$\{([A-Za-z]{2,16}:[A-Za-z0-9_./-]{1,100})\}$/

export function readCaptureEquals(
  captureEquals: Readonly<Record<string, string>>,
  { regex }: Pattern,
  type: AccessRuleMatch['type'] | undefined,
  normalizeKey: NormalizeKey,
  problems: Problems,
): CaptureCondition | undefined {
  const entries = Object.entries(captureEquals)
  if (entries.length === 0) problems.add('conditions.captureEquals', 'is empty: leave it out')
  if (regex === undefined) {
    // A regex that is wrong has been told already.
    if (type !== 'regex') {
      const needed = 'needs a match of the type "regex", with named groups such as (?P<user>…)'
      problems.add('conditions.captureEquals', needed)
    }
    return undefined
  }
  const wanted = new Map<string, Wanted>()
  for (const [group, text] of entries) {
    const field = `conditions.captureEquals.${group.slice(0, 80)}`
    if (!regex.groups.includes(group)) problems.add(field, `the pattern has no group of the name ${quote(group)}`)
    if (Buffer.byteLength(text) > patternBytesMax) problems.add(field, `has more than ${patternBytesMax} bytes`)
    const property = propertyForm.exec(text)
    if (property !== null && isPrincipalKey(property[1]!.toLowerCase()))
      wanted.set(group, { key: property[1]!.toLowerCase() })
    else {
      const at = text.indexOf('${')
      if (at >= 0) {
        const known = 'aws:username, aws:userid, aws:groups, aws:PrincipalType, aws:PrincipalArn, jwt:… and ldap:…'
        problems.add(field, `${quote(text)} is no property of the caller: there are ${known}, as a whole value`, at)
      }
      wanted.set(group, { text: normalizeKey(text) })
    }
  }
  return { regex, wanted, normalizeKey }
}

export function capturesEqual(
  { regex, wanted, normalizeKey }: CaptureCondition,
  { text, request }: RequestView,
): boolean {
  const captures = regex.capture(text)
  if (captures === undefined) return false
  for (const [group, value] of wanted) {
    const captured = captures.get(group)
    if (captured === undefined) return false
    // A property comes from a directory, in whatever form of Unicode; what is captured is in that of keys.
    const values = 'text' in value ? [value.text] : (request.values(value.key)?.map(normalizeKey) ?? [])
    if (!values.includes(captured)) return false
  }
  return true
}
