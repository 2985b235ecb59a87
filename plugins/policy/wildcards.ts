/**
 * Matches patterns with wildcards: `*` is any run of characters, `?` one character (one UTF-16 unit). A pattern is split at its stars: the
 * first piece must be at the beginning of the text, the last at its end; the others are searched from left to right, each at the first
 * possible place. There is no backtracking, so a match takes time proportional to the length of the text for any pattern: pieces without
 * `?` are found by `indexOf`, pieces with `?` by bit-parallel search (Baeza-Yates and Gonnet, "shift-and").
 */

/** Wildcards among the parts of a pattern: one character, and any run of characters. */
export const anyOne = 1
export const anyRun = 2
/** A string matches itself. */
export type PatternPart = string | typeof anyOne | typeof anyRun

/** The part between two stars: text, or character codes of which -1 is any character. */
type Piece = string | readonly number[]

export class WildcardPattern {
  readonly #pieces: readonly Piece[]
  readonly #lengthMin: number

  constructor(parts: readonly PatternPart[]) {
    const pieces: Piece[] = []
    let text = ''
    let codes: number[] | undefined
    const close = () => {
      pieces.push(codes ?? text)
      text = ''
      codes = undefined
    }
    for (const part of parts) {
      if (part === anyRun) close()
      else if (part === anyOne) {
        codes ??= codesOf(text)
        codes.push(-1)
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
      const found = typeof piece === 'string' ? text.indexOf(piece, from) : findCodes(piece, text, from, end)
      if (found < 0) return false
      from = found + piece.length
    }
    return from <= end && stands(last, text, end)
  }
}

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
  if (typeof piece === 'string') return text.startsWith(piece, at)
  for (let index = 0; index < piece.length; index++) {
    if (piece[index] !== -1 && piece[index] !== text.charCodeAt(at + index)) return false
  }
  return true
}

/** The first match of the codes from `from` on that ends at `end` or before, or -1. Bit i: the first i + 1 codes match up to here. */
function findCodes(codes: readonly number[], text: string, from: number, end: number): number {
  const words = (codes.length + 31) >>> 5
  const wild = new Int32Array(words)
  const rows = new Map<number, Int32Array>()
  for (const [index, code] of codes.entries()) if (code === -1) wild[index >>> 5] |= 1 << (index & 31)
  for (const [index, code] of codes.entries()) {
    if (code === -1) continue
    const row = rows.get(code) ?? wild.slice()
    row[index >>> 5] |= 1 << (index & 31)
    rows.set(code, row)
  }
  const state = new Int32Array(words)
  const lastWord = words - 1
  const lastBit = 1 << ((codes.length - 1) & 31)
  for (let at = from; at < end; at++) {
    const row = rows.get(text.charCodeAt(at)) ?? wild
    let carry = 1
    for (let word = 0; word < words; word++) {
      const before = state[word]
      state[word] = ((before << 1) | carry) & row[word]
      carry = before >>> 31
    }
    if ((state[lastWord] & lastBit) !== 0) return at + 1 - codes.length
  }
  return -1
}
