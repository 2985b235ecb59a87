/**
 * Case folding for case-insensitive patterns: each character becomes one character, so that `?` matches as many characters as before.
 * Simple folding of Unicode, as in RE2: `K` (Kelvin) is `k`, `ſ` is `s`, all three sigmas are one, `ß` and `ẞ` are one.
 */

const ascii = /^[\0-\x7f]*$/

/** Dotless i and the dotted capital stand for themselves: their cases are those of other letters. */
const alone = new Set(['ı', 'İ'])

export function foldCase(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  let folded = ''
  for (const character of text) folded += foldCharacter(character)
  return folded
}

function foldCharacter(character: string): string {
  if (alone.has(character)) return character
  return single(
    single(
      single(character, c => c.toLowerCase()),
      c => c.toUpperCase(),
    ),
    c => c.toLowerCase(),
  )
}

/** The other case where it is one character, too. */
function single(character: string, change: (character: string) => string): string {
  const changed = change(character)
  const [first] = changed
  return first === changed ? changed : character
}
