/** Text for a program or a shell, to be copied. */
import { Code, Group, Stack, Text } from '@mantine/core'
import { CopyText } from './made-text.tsx'

export interface CopyableProps {
  readonly label: string
  readonly text: string
  /** The copied text, if it differs from the shown one. */
  readonly value?: string
  /** Set if copying is the main action of the page. */
  readonly isPrimary?: boolean
  /** Set if a dialog has just made it: its button gets the focus. */
  readonly isMade?: boolean
}

export function Copyable({ label, text, value = text, isPrimary = false, isMade = false }: CopyableProps) {
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <Code
        block
        tabIndex={0}
        aria-label={label}
        mah={320}
        style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap', overflowY: 'auto' }}
      >
        {text}
      </Code>
      <Group>
        <CopyText value={value} variant={isPrimary ? 'filled' : 'default'} isMade={isMade} />
      </Group>
    </Stack>
  )
}
