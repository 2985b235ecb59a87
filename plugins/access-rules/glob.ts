/**
 * Patterns with wildcards, matched against the whole text by a bit-parallel automaton. A state is the number of pattern characters that
 * have matched, a star is a state that may repeat, and a set of states has one bit for each: a character of text costs one step per 32
 * characters of pattern, for any pattern and text.
 */

/** `path`: `*` does not pass `/`, `**` does. `text`: `*` passes everything. In both `?` is one character, in `path` no `/`. */
export type GlobKind = 'path' | 'text'

export class GlobError extends Error {
  /** Offset in the pattern. */
  readonly position: number

  constructor(message: string, position: number) {
    super(message)
    this.position = position
  }
}

export interface Glob {
  matches(text: string): boolean
  /** Steps for each character of the text, at most; 0 where the text is only compared. */
  readonly costPerCharacter: number
  /** The common prefix of all texts that match. */
  readonly literalStart: string
  /** Approximate memory of its tables. */
  readonly memoryBytes: number
}

const slash = 0x2f
const asciiCount = 128
/** Finding the row of a character takes as long as so many steps: of one that is ASCII, of another. */
const lookupCost = 2
const mapLookupCost = 4
const anyOne = -1
/** Memory of one sequence: without wildcards but a star; with tables; of each row of these, beside its bits. */
const literalBytes = 500
const tablesBytes = 1500
const rowBytes = 200
/** Maximum number of patterns that the braces of one expand to. */
const alternativesMax = 64

interface Sequence {
  /** Code points, or `anyOne`. */
  readonly tokens: readonly number[]
  /** For each state whether it may stay: 0 no, 1 but for `/`, 2 always. */
  readonly stays: readonly (0 | 1 | 2)[]
}

/** Throws GlobError. */
export function compileGlob(pattern: string, kind: GlobKind): Glob {
  const parts = kind === 'path' ? expandBraces(pattern) : [pattern]
  const matchers = parts.map(part => compileSequence(parse(part, kind), kind))
  const costPerCharacter = matchers.reduce((sum, one) => sum + one.costPerCharacter, 0)
  if (matchers.length === 1) return matchers[0]!
  const literalStart = matchers.map(one => one.literalStart).reduce(commonStart)
  const memoryBytes = matchers.reduce((sum, one) => sum + one.memoryBytes, 0)
  return { costPerCharacter, literalStart, memoryBytes, matches: text => matchers.some(one => one.matches(text)) }
}

/** `a{b,c}d` is `abd` and `acd`. A backslash takes the meaning from the next character, here and in `parse`. */
function expandBraces(pattern: string): readonly string[] {
  let heads = ['']
  let at = 0
  for (const { start, end, choices } of findBraces(pattern)) {
    const literal = pattern.slice(at, start)
    heads = heads.flatMap(head => choices.map(choice => head + literal + choice))
    if (heads.length > alternativesMax)
      throw new GlobError(`the braces stand for more than ${alternativesMax} patterns`, start)
    at = end
  }
  return heads.map(head => head + pattern.slice(at))
}

interface Braces {
  readonly start: number
  readonly end: number
  readonly choices: readonly string[]
}

function findBraces(pattern: string): readonly Braces[] {
  const found: Braces[] = []
  let open = -1
  let choices: string[] = []
  let from = 0
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]
    if (character === '\\') {
      if (at === pattern.length - 1)
        throw new GlobError('ends with a backslash, which has nothing to take the meaning from', at)
      at++
    } else if (character === '{') {
      if (open >= 0) throw new GlobError('has braces inside of braces', at)
      open = at
      choices = []
      from = at + 1
    } else if (character === '}') {
      if (open < 0) throw new GlobError('has a closing brace that nothing opened', at)
      found.push({ start: open, end: at + 1, choices: [...choices, pattern.slice(from, at)] })
      open = -1
    } else if (character === ',' && open >= 0) {
      choices.push(pattern.slice(from, at))
      from = at + 1
    }
  }
  if (open >= 0) throw new GlobError('has an opening brace that nothing closes', open)
  return found
}

function parse(pattern: string, kind: GlobKind): Sequence {
  const tokens: number[] = []
  const stays: (0 | 1 | 2)[] = [0]
  const characters = [...pattern]
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index]!
    if (character === '*') {
      const isDouble = kind === 'text' || characters[index + 1] === '*'
      while (characters[index + 1] === '*') index++
      stays[tokens.length] = isDouble ? 2 : (Math.max(1, stays[tokens.length]!) as 1 | 2)
      continue
    }
    if (character === '?') tokens.push(anyOne)
    else if (character === '\\' && kind === 'path') tokens.push(characters[++index]!.codePointAt(0)!)
    else tokens.push(character.codePointAt(0)!)
    stays.push(0)
  }
  return { tokens, stays }
}

function compileSequence(sequence: Sequence, kind: GlobKind): Glob {
  const { tokens, stays } = sequence
  const stars = stays.flatMap((stay, state) => (stay === 0 ? [] : [state]))
  if (!tokens.includes(anyOne)) {
    const text = String.fromCodePoint(...tokens)
    if (stars.length === 0)
      return { costPerCharacter: 0, literalStart: text, memoryBytes: literalBytes, matches: other => other === text }
    if (stars.length === 1 && stays[stars[0]!] === 2) return compileOneStar(tokens, stars[0]!)
  }
  return compileBits(sequence, kind)
}

/** A beginning, anything, an end. */
function compileOneStar(tokens: readonly number[], star: number): Glob {
  const start = String.fromCodePoint(...tokens.slice(0, star))
  const end = String.fromCodePoint(...tokens.slice(star))
  const lengthMin = start.length + end.length
  return {
    costPerCharacter: 0,
    literalStart: start,
    memoryBytes: literalBytes,
    matches: text => text.length >= lengthMin && text.startsWith(start) && text.endsWith(end),
  }
}

function compileBits({ tokens, stays }: Sequence, kind: GlobKind): Glob {
  const words = (tokens.length >>> 5) + 1
  const set = (bits: Int32Array, state: number) => {
    bits[state >>> 5]! |= 1 << (state & 31)
  }
  const wild = new Int32Array(words)
  const rows = new Map<number, Int32Array>()
  for (const token of new Set(tokens)) if (token !== anyOne) rows.set(token, new Int32Array(words))
  const isPath = kind === 'path'
  if (isPath && !rows.has(slash)) rows.set(slash, new Int32Array(words))
  for (const [state, token] of tokens.entries()) {
    if (token !== anyOne) {
      set(rows.get(token)!, state)
      continue
    }
    set(wild, state)
    for (const [code, row] of rows) if (!isPath || code !== slash) set(row, state)
  }
  const staysAlways = new Int32Array(words)
  const staysInSegment = new Int32Array(words)
  for (const [state, stay] of stays.entries()) {
    if (stay === 2) set(staysAlways, state)
    if (stay !== 0) set(staysInSegment, state)
  }
  const start = literalStart(tokens, stays)
  const last = tokens.length
  const states = new Int32Array(words)
  // Nearly all characters of keys: an array is read faster than a map.
  const isAscii = [...rows.keys()].every(code => code < asciiCount)
  const asciiRows = Array.from({ length: asciiCount }, (_, code) => rows.get(code) ?? wild)
  return {
    costPerCharacter: words + (isAscii ? lookupCost : mapLookupCost),
    literalStart: start,
    memoryBytes: tablesBytes + (rows.size + 4) * (rowBytes + 4 * words),
    matches(text) {
      if (!text.startsWith(start)) return false
      states.fill(0)
      states[0] = 1
      for (let at = 0; at < text.length; at++) {
        const code = text.codePointAt(at)!
        if (code > 0xffff) at++
        const row = code < asciiCount ? asciiRows[code]! : ((isAscii ? undefined : rows.get(code)) ?? wild)
        const staying = isPath && code === slash ? staysAlways : staysInSegment
        if (advance(states, row, staying) === 0) return false
      }
      return (states[last >>> 5]! & (1 << (last & 31))) !== 0
    },
  }
}

/** Takes one character; 0 if no state is left. */
function advance(states: Int32Array, row: Int32Array, staying: Int32Array): number {
  let carry = 0
  let any = 0
  for (let word = 0; word < states.length; word++) {
    const before = states[word]!
    const moved = before & row[word]!
    const after = (moved << 1) | carry | (before & staying[word]!)
    carry = moved >>> 31
    states[word] = after
    any |= after
  }
  return any
}

function commonStart(a: string, b: string): string {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return a.slice(0, length)
}

/** One comparison with this prefix refuses most texts. */
function literalStart(tokens: readonly number[], stays: Sequence['stays']): string {
  let end = 0
  while (end < tokens.length && stays[end] === 0 && tokens[end] !== anyOne) end++
  return String.fromCodePoint(...tokens.slice(0, end))
}
