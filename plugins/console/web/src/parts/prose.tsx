/** A sentence of the server, with what stands between backticks as code. */
import { Code } from '@mantine/core'

export function Prose({ text }: { text: string }) {
  const parts = text.split('`')
  // An odd one out is a backtick of the sentence itself.
  if (parts.length % 2 === 0) return text
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one sentence have no identity but their place
  return parts.map((part, index) => (index % 2 === 0 ? part : <Code key={index}>{part}</Code>))
}
