/** Whether what is typed into the search is found in a name or in a sentence. Words in any order. */

/** Sentences have shorter ones in them whatever they are about. */
const wordMin = 4

/** In a name, anywhere. */
export function matches(label: string, text: string): boolean {
  const lower = label.toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every(word => lower.includes(word))
}

/** In sentences: each word at the beginning of one, and not only such as every sentence has. */
export function isAbout(sentences: string, text: string): boolean {
  const asked = wordsOf(text)
  const said = wordsOf(sentences)
  return asked.some(({ length }) => length >= wordMin) && asked.every(word => said.some(one => one.startsWith(word)))
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
