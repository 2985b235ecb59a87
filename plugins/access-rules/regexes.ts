/**
 * The regular expressions of a bucket's rules: RE2 (no look-around, no back-references), run as one set over a text, so that a text is
 * read once for all of them. Groups are computed only for expressions that matched.
 *
 * The cost of a set per character of a text is at most the number of states that its expressions can be in at once, their *width*. It is
 * measured when rules are stored: by walking the deterministic automaton of each expression if that is small; otherwise the number of
 * its instructions is used. The sum is bounded (`cost.ts`), and a text has at most `textCharsMax` characters.
 */
import { createRequire } from 'node:module'
import type { RE2JS, RE2Set } from 're2js'

/** Longer than any key: 1024 bytes of UTF-8. */
export const textCharsMax = 1024
/** UTF-8 bytes of a pattern, of any type. */
export const patternBytesMax = 1024
/** Maximum memory of all expressions of a bucket together, by estimate before they are measured. */
export const regexBytesMax = 6 * 1024 * 1024

/** Memory of the deterministic automaton of a set, in each thread; beyond it a text is matched without one. */
const automatonBytesMax = 64 * 1024
/** A state that is entered without an automaton takes as long as so many that are part of one. */
const simulatedCost = 3
/** Bounds of the automaton that is walked to measure an expression, and of the steps of the walk. */
const measuredBytesMax = 256 * 1024
const measuredStepsMax = 20_000

export interface Regex {
  readonly source: string
  readonly isCaseInsensitive: boolean
}

export class RegexError extends Error {
  /** Offset in the source; undefined if it is about the whole. */
  readonly position: number | undefined

  constructor(message: string, position?: number) {
    super(message)
    this.position = position
  }
}

export interface CompiledRegex {
  /** Names of its groups. */
  readonly groups: readonly string[]
  readonly instructionCount: number
  /** Approximate memory of its program and of its part in the bucket's set. */
  readonly memoryBytes: number
  /** The groups of the first match; undefined where there is none. Groups that did not take part are left out. */
  capture(text: string): ReadonlyMap<string, string> | undefined
}

type Library = typeof import('re2js')
let loaded: Library | undefined

/** Loaded with the first expression: most servers have none. */
function library(): Library {
  loaded ??= createRequire(import.meta.url)('re2js') as Library
  return loaded
}

/** Throws RegexError. */
export function compileRegex({ source, isCaseInsensitive }: Regex): CompiledRegex {
  const { RE2JS } = library()
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(source, isCaseInsensitive ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (cause) {
    throw syntaxError(source, cause)
  }
  const groups = Object.keys(compiled.namedGroups())
  return {
    groups,
    instructionCount: compiled.programSize(),
    memoryBytes: memoryOf(compiled),
    capture(text) {
      const matcher = compiled.matcher(text)
      if (!matcher.find()) return undefined
      return new Map(
        groups.flatMap(name => {
          const value = matcher.group(name)
          return value === null ? [] : [[name, value] as const]
        }),
      )
    },
  }
}

/** Measured sizes in the library's program. A class such as `\\pL` has hundreds of ranges, and every use of it has a copy of them. */
const instructionBytes = 300
const rangeBytes = 8

/** A structure of the library, like `Automaton`. */
interface Program {
  readonly re2Input: { readonly prog: { readonly inst: readonly { readonly runes?: { readonly length: number } }[] } }
}

function memoryOf(compiled: RE2JS): number {
  const { inst } = (compiled as unknown as Program).re2Input.prog
  return inst.reduce((sum, { runes }) => sum + instructionBytes + (runes?.length ?? 0) * rangeBytes, 0)
}

function syntaxError(source: string, cause: unknown): RegexError {
  if (!(cause instanceof library().RE2JSSyntaxException)) throw cause
  const fragment = cause.input ?? ''
  const found = fragment === source ? -1 : source.indexOf(fragment)
  const position = fragment === '' ? source.length : Math.max(0, found)
  return new RegexError(
    `is no RE2 expression: ${String(cause.error)}${fragment === '' ? '' : `: ${fragment}`}`,
    position,
  )
}

export interface RegexSet {
  /** Indexes of the expressions that match somewhere in the text, ascending. Texts above `textCharsMax` are not for it. */
  match(text: string): readonly number[]
}

/**
 * Of expressions that `compileRegex` has taken. Those that begin with `^` are a set of their own: it ends where none of them can match any
 * more, while the other set begins anew with each character.
 */
export function createRegexSet(regexes: readonly Regex[]): RegexSet {
  const parts = [true, false].flatMap(isAnchored => {
    const indexes = regexes.flatMap((regex, index) => (isAnchoredRegex(regex) === isAnchored ? [index] : []))
    const members = indexes.map(index => regexes[index]!)
    return members.length === 0 ? [] : [{ indexes, set: newSet(members, automatonBytesMax) }]
  })
  if (parts.length === 1) return { match: text => parts[0]!.set.match(text) }
  return {
    match: text =>
      parts.flatMap(({ indexes, set }) => set.match(text).map(index => indexes[index]!)).sort((a, b) => a - b),
  }
}

/** Matches at the beginning of a text alone. May be false where that is so. */
export const isAnchoredRegex = ({ source }: Regex): boolean => /^\^(?![*+?{])/.test(source) && !source.includes('|')

const anchoredLiteral = /^\^([A-Za-z0-9_/ -]+)([*+?{])?/

/** Every text that matches begins with it; empty where nothing is known of that. */
export function literalStartOf(regex: Regex): string {
  if (regex.isCaseInsensitive || !isAnchoredRegex(regex)) return ''
  const [, literal = '', quantifier] = anchoredLiteral.exec(regex.source) ?? []
  return quantifier === undefined ? literal : literal.slice(0, -1)
}

/** All are anchored, or none. */
function newSet(regexes: readonly Regex[], bytesMax: number): RE2Set {
  const { RE2Set } = library()
  const set = new RE2Set(anchorOf(regexes[0]!), 0, bytesMax)
  for (const { source, isCaseInsensitive } of regexes) set.add(isCaseInsensitive ? `(?i)${source}` : source)
  set.compile()
  return set
}

const anchorOf = (regex: Regex): number =>
  isAnchoredRegex(regex) ? library().RE2Set.ANCHOR_START : library().RE2Set.UNANCHORED

/** The structure of the library's automaton. The version of the library is fixed, and a test checks this structure. */
interface Automaton {
  readonly startStates: ReadonlyMap<number, AutomatonState>
  readonly numClasses: number
  /** The first character of each class but the first. */
  readonly classBounds: Int32Array
  step(state: AutomatonState, kind: number, character: number, anchor: number): AutomatonState | null
}

interface AutomatonState {
  readonly nfaStates: readonly number[]
}

/** States that an expression can be in at once, as many as take their time. */
export function widthOf(regex: Regex, instructionCount: number): number {
  const set = newSet([regex], measuredBytesMax)
  const anchor = anchorOf(regex)
  // Makes the first state.
  set.match('')
  const automaton = set.dfa as unknown as Automaton
  const seen = new Set<AutomatonState>(automaton.startStates.values())
  const open = [...seen]
  let width = 1
  let steps = 0
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    width = Math.max(width, state.nfaStates.length)
    for (let kind = 0; kind <= automaton.numClasses; kind++) {
      steps += state.nfaStates.length + 1
      // The class behind the last one is the end of the text.
      const isEnd = kind === automaton.numClasses
      const character = isEnd ? -1 : kind === 0 ? 0 : automaton.classBounds[kind - 1]!
      const next = steps > measuredStepsMax ? null : automaton.step(state, kind, character, anchor)
      if (next === null) return Math.max(width, instructionCount) * simulatedCost
      if (seen.has(next)) continue
      seen.add(next)
      open.push(next)
    }
  }
  return width
}
