/** What fields have that nobody sees. Loaded when one has. */
const names: Readonly<Record<string, string>> = {
  'U+0009': 'a tab',
  'U+00A0': 'a space that does not break',
  'U+00AD': 'a soft hyphen',
  'U+200B': 'a space without width',
  'U+200C': 'a non-joiner without width',
  'U+200D': 'a joiner without width',
  'U+200E': 'a left-to-right mark',
  'U+200F': 'a right-to-left mark',
  'U+202E': 'a mark that turns the text around',
  'U+2060': 'a joiner without width',
  'U+FEFF': 'a byte order mark',
}

export const unseen = {
  has: (found: readonly string[]) => `This has ${found.join(', ')}.`,
  one: (character: string) => `${names[character] ?? 'a character that cannot be seen'} (${character})`,
  spaceFirst: 'a space at the beginning',
  spaceLast: 'a space at the end',
}
