/**
 * Case folding for case-insensitive patterns: each character becomes one character, so that `?` matches as many characters as before.
 * Simple folding of Unicode, as in RE2: `K` (Kelvin) is `k`, `ſ` is `s`, all three sigmas are one, `ß` and `ẞ` are one.
 */

const ascii = /^[\0-\x7f]*$/

/** The dotless i and the dotted capital I are kept: their other cases are those of other letters. */
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

/** The other case as well, if it is one character. */
function single(character: string, change: (character: string) => string): string {
  const changed = change(character)
  const [first] = changed
  return first === changed ? changed : character
}
