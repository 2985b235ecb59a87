/** Below every field of text: what it has that nobody sees. The server takes it for a part of the name. */
import { type ComboboxRenderPillInput, Pill, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconEyeOff } from '@tabler/icons-react'
import { isValidElement, type ReactNode } from 'react'
import { texts } from '../texts/index.ts'
import { Name } from './name.tsx'
import { unseenIn } from './shown-text.ts'

const words = texts.common

/** Between two words a space is at the end for a moment. */
const restMs = 700

interface InputProps {
  readonly value?: unknown
  readonly type?: string
  readonly multiline?: boolean
}

/** For `inputContainer` of the theme: the field itself, and the note. */
export function withUnseenNote(input: ReactNode): ReactNode {
  if (!isValidElement<InputProps>(input)) return input
  const { value, type = 'text', multiline = false } = input.props
  if (typeof value !== 'string' || (type !== 'text' && type !== 'search')) return input
  return (
    <>
      {input}
      <UnseenNote value={value} hasLines={multiline} hasEnds={!multiline && type === 'text'} />
    </>
  )
}

/** For `renderPill` of the theme: an entry of a list shows what it has itself. */
export function namedPill({ value, onRemove, disabled = false, reorderProps }: ComboboxRenderPillInput): ReactNode {
  return (
    <Pill withRemoveButton={!disabled} onRemove={onRemove} {...reorderProps}>
      <Name>{String(value)}</Name>
    </Pill>
  )
}

interface UnseenNoteProps {
  readonly value: string
  readonly hasLines: boolean
  /** Whether a space at its begin or end is worth a word. */
  readonly hasEnds: boolean
}

function UnseenNote({ value, hasLines, hasEnds }: UnseenNoteProps) {
  const [rested] = useDebouncedValue(value, restMs)
  const isAtRest = hasEnds && rested === value
  const said = [
    ...unseenIn(value, hasLines).map(words.unseen),
    ...(isAtRest && value.startsWith(' ') ? [words.spaceFirst] : []),
    ...(isAtRest && value.endsWith(' ') && value.trim() !== '' ? [words.spaceLast] : []),
  ]
  if (said.length === 0) return null
  return (
    <Text component="div" size="xs" role="status" className="hidden-note">
      <IconEyeOff size={14} aria-hidden style={{ flexShrink: 0 }} />
      {words.unseenIn(said)}
    </Text>
  )
}
