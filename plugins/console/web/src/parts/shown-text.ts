/**
 * Text that somebody else has written, made fit to be shown: characters that have no shape of their own, or change the direction of their
 * neighbours, are named instead. Joiners stay where Persian, Indic scripts and emoji need them, and so do those that choose the shape of an emoji
 * or of a Han character. Source: Unicode Standard Annexes 9 and 44 (Default_Ignorable_Code_Point); Unicode Technical Report 36, section 2.
 */

const hidden = new RegExp(
  [
    '[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Cs}\\u2800]',
    '(?![\\u200c\\u200d\\ufe0e\\ufe0f\\u0600-\\u0605\\u06dd\\u08e2\\u{e0100}-\\u{e01ef}])[\\p{Cf}\\p{DI}]',
    '(?<=^|[ -~])[\\u200c\\u200d]',
    '(?<![\\p{ExtPict}\\p{EMod}])[\\ufe0e\\ufe0f](?!\\u20e3)',
    '(?<!\\p{Script=Han})[\\u{e0100}-\\u{e01ef}]',
  ].join('|'),
  'u',
)
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
const plain = /^[ -~]*$/

/** Whether it may stand in a sentence as it is. */
export const isPlain = (text: string): boolean => plain.test(text) || !(hidden.test(text) || rightToLeft.test(text))

export const nameOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

/** Pieces of the text; those at odd places are names of characters, such as `U+202E`. */
export function piecesOf(text: string): string[] {
  return text
    .split(new RegExp(`(${hidden.source})`, 'u'))
    .map((piece, index) => (index % 2 === 0 ? piece : nameOf(piece)))
}

/** Of a whole text, whose lines and tabs stay. */
export const shownLines = (text: string): string =>
  text.replace(new RegExp(hidden, 'gu'), character =>
    '\n\r\t'.includes(character) ? character : `[${nameOf(character)}]`,
  )

/** JSON that says the same: what has no shape of its own is escaped. */
export const shownJson = (value: unknown): string =>
  JSON.stringify(value, undefined, 2).replace(new RegExp(hidden, 'gu'), character =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()].map(at => escaped(character.charCodeAt(at))).join(''),
  )

const escaped = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`

/** For sentences and attributes, which have no elements. What is written from right to left is isolated: the sentence around it stays as it is. */
export function shownText(text: string): string {
  if (isPlain(text)) return text
  const named = piecesOf(text)
    .map((piece, index) => (index % 2 === 0 ? piece : `[${piece}]`))
    .join('')
  return rightToLeft.test(named) ? `\u2068${named}\u2069` : named
}
