/** Below a field: what its value has that nobody sees. The server takes it for a part of the name. */
import { Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconEyeOff } from '@tabler/icons-react'
import { unseen as words } from '../texts/en/unseen.ts'
import { nameOf } from './shown-text.ts'

/** Between two words a space is at the end for a moment. */
const restMs = 700

export interface UnseenNoteProps {
  readonly value: string
  readonly hasLines: boolean
  /** Whether a space at its begin or end is worth a word. */
  readonly hasEnds: boolean
}

export function UnseenNote({ value, hasLines, hasEnds }: UnseenNoteProps) {
  const [rested] = useDebouncedValue(value, restMs)
  const isAtRest = hasEnds && rested === value
  const said = [
    ...unseenIn(value, hasLines).map(words.one),
    ...(isAtRest && value.startsWith(' ') ? [words.spaceFirst] : []),
    ...(isAtRest && value.endsWith(' ') && value.trim() !== '' ? [words.spaceLast] : []),
  ]
  if (said.length === 0) return null
  return (
    <Text
      component="div"
      size="xs"
      role="status"
      className="hidden-note"
      mt={4}
      style={{ display: 'flex', gap: 4, alignItems: 'center' }}
    >
      <IconEyeOff size={14} aria-hidden style={{ flexShrink: 0 }} />
      {words.has(said)}
    </Text>
  )
}

/** What nobody sees in a field: also joiners where nothing joins, spaces of other widths, and fillers. */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u
const joiner = /\u200c|\u200d|\ufe0e|\ufe0f/u
const ofAscii = /[ -~]/u

/** The characters of a value that its field does not show, as `U+200B`, each once. Those of lines are none in a text of several lines. */
function unseenIn(value: string, hasLines: boolean): string[] {
  const characters = [...value]
  const found = characters.filter((character, index) => {
    if (!unseen.test(character) || (hasLines && /[\n\r\t]/.test(character))) return false
    // Persian, Indic scripts and emoji need them between their letters.
    const before = characters[index - 1] ?? ' '
    return !joiner.test(character) || ofAscii.test(before)
  })
  return [...new Set(found)].map(nameOf)
}
