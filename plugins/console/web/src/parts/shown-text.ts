/**
 * Text that somebody else has written, made fit to be shown: characters that have no shape of their own, or change the direction of their
 * neighbours, are named instead. Joiners stay: Persian, Indic scripts and emoji need them. Source: Unicode Standard Annex 9; Unicode
 * Technical Report 36, section 2.
 */

const hidden = /[\p{Cc}\p{Zl}\p{Zp}]|(?!\u200c|\u200d|[\u0600-\u0605\u06dd\u08e2])\p{Cf}|\p{Cs}/u
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

/** For sentences and attributes, which have no elements. What is written from right to left is isolated: the sentence around it stays as it is. */
export function shownText(text: string): string {
  if (isPlain(text)) return text
  const named = piecesOf(text)
    .map((piece, index) => (index % 2 === 0 ? piece : `[${piece}]`))
    .join('')
  return rightToLeft.test(named) ? `\u2068${named}\u2069` : named
}
