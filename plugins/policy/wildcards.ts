/**
 * Matches patterns with wildcards: `*` is any run of characters, `?` one character (one UTF-16 unit). A pattern is split at its stars: the
 * first piece must be at the beginning of the text, the last at its end; the others are searched from left to right, each at the first
 * possible place. There is no backtracking, so a match takes time proportional to the length of the text for any pattern: pieces without
 * `?` are found by `indexOf`, pieces with `?` by bit-parallel search (Baeza-Yates and Gonnet, "shift-and").
 *
 * The pieces between two stars are what a match costs. `patternCost` counts them, so that a document has a bound (document.ts).
 */

/** Wildcards among the parts of a pattern: one character, and any run of characters. */
export const anyOne = 1
export const anyRun = 2
/** A string matches itself. */
export type PatternPart = string | typeof anyOne | typeof anyRun

/** The part between two stars. */
type Piece = string | CodePiece

export class WildcardPattern {
  readonly #pieces: readonly Piece[]
  readonly #lengthMin: number

  constructor(parts: readonly PatternPart[]) {
    const pieces: Piece[] = []
    let text = ''
    let codes: number[] | undefined
    const close = () => {
      pieces.push(codes === undefined ? text : new CodePiece(codes))
      text = ''
      codes = undefined
    }
    for (const part of parts) {
      if (part === anyRun) close()
      else if (part === anyOne) {
        codes ??= codesOf(text)
        codes.push(anyCode)
      } else if (codes === undefined) text += part
      else codes.push(...codesOf(part))
    }
    close()
    // Several stars in a row are equal to one.
    this.#pieces = pieces.filter((piece, index) => piece.length > 0 || index === 0 || index === pieces.length - 1)
    this.#lengthMin = pieces.reduce((sum, piece) => sum + piece.length, 0)
  }

  matches(text: string): boolean {
    const pieces = this.#pieces
    const first = pieces[0]
    if (pieces.length === 1) return text.length === first.length && stands(first, text, 0)
    if (text.length < this.#lengthMin || !stands(first, text, 0)) return false
    const last = pieces[pieces.length - 1]
    const end = text.length - last.length
    let from = first.length
    for (let index = 1; index < pieces.length - 1; index++) {
      const piece = pieces[index]
      const found = typeof piece === 'string' ? text.indexOf(piece, from) : piece.find(text, from, end)
      if (found < 0) return false
      from = found + piece.length
    }
    return from <= end && stands(last, text, end)
  }
}

/** What a comparison costs beside a short one: a unit for each piece between two stars, more for each that has a `?`. */
export function patternCost(parts: readonly (PatternPart | object)[]): number {
  let [cost, length, hasAnyOne, isBetween] = [0, 0, false, false]
  for (const part of parts) {
    if (part === anyRun) {
      if (isBetween && length > 0) cost += hasAnyOne ? wordCost * Math.ceil(length / 32) : 1
      length = 0
      hasAnyOne = false
      isBetween = true
    } else if (part === anyOne) {
      length++
      hasAnyOne = true
    } else length += typeof part === 'string' ? part.length : variableLength
  }
  return cost
}

/** Cost of 32 characters of a piece with `?`. */
const wordCost = 8
/** The value of a variable is not known when a policy is stored. */
const variableLength = 2048

/** Only `*` and `?` are wildcards. */
export function plainPattern(text: string): WildcardPattern {
  return new WildcardPattern(splitWildcards(text))
}

export function splitWildcards(text: string): PatternPart[] {
  const parts: PatternPart[] = []
  let from = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code !== 0x2a && code !== 0x3f) continue
    if (index > from) parts.push(text.slice(from, index))
    parts.push(code === 0x2a ? anyRun : anyOne)
    from = index + 1
  }
  if (from < text.length) parts.push(text.slice(from))
  return parts
}

function codesOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
}

function stands(piece: Piece, text: string, at: number): boolean {
  return typeof piece === 'string' ? text.startsWith(piece, at) : piece.stands(text, at)
}

/** In place of a character code: any character. */
const anyCode = -1

/** A piece with `?`. */
class CodePiece {
  readonly #codes: readonly number[]
  /** For the search: of each code the bits of the places where it may stand. Made when it is searched for: most patterns begin or end with it. */
  #rows: ReadonlyMap<number, Int32Array> | undefined
  #wild: Int32Array | undefined

  constructor(codes: readonly number[]) {
    this.#codes = codes
  }

  get length(): number {
    return this.#codes.length
  }

  stands(text: string, at: number): boolean {
    const codes = this.#codes
    for (let index = 0; index < codes.length; index++) {
      if (codes[index] !== anyCode && codes[index] !== text.charCodeAt(at + index)) return false
    }
    return true
  }

  /** The first match from `from` on that ends at `end` or before, or -1. Bit i: the first i + 1 codes match up to here. */
  find(text: string, from: number, end: number): number {
    const { length } = this
    const [rows, wild] = this.#tables()
    const words = wild.length
    const state = new Int32Array(words)
    const lastWord = words - 1
    const lastBit = 1 << ((length - 1) & 31)
    for (let at = from; at < end; at++) {
      const row = rows.get(text.charCodeAt(at)) ?? wild
      let carry = 1
      for (let word = 0; word < words; word++) {
        const before = state[word]
        state[word] = ((before << 1) | carry) & row[word]
        carry = before >>> 31
      }
      if ((state[lastWord] & lastBit) !== 0) return at + 1 - length
    }
    return -1
  }

  #tables(): readonly [ReadonlyMap<number, Int32Array>, Int32Array] {
    if (this.#rows !== undefined && this.#wild !== undefined) return [this.#rows, this.#wild]
    const codes = this.#codes
    const wild = new Int32Array((codes.length + 31) >>> 5)
    const rows = new Map<number, Int32Array>()
    for (const [index, code] of codes.entries()) if (code === anyCode) wild[index >>> 5] |= 1 << (index & 31)
    for (const [index, code] of codes.entries()) {
      if (code === anyCode) continue
      const row = rows.get(code) ?? wild.slice()
      row[index >>> 5] |= 1 << (index & 31)
      rows.set(code, row)
    }
    this.#rows = rows
    this.#wild = wild
    return [rows, wild]
  }
}
