/** Text for a program or a shell, to be copied. */
import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core'
import { IconCopy } from '@tabler/icons-react'
import { texts } from '../texts/index.ts'

export interface CopyableProps {
  readonly label: string
  readonly text: string
  /** The copied text, if it differs from the shown one. */
  readonly value?: string
  /** Set if copying is the main action of the page. */
  readonly isPrimary?: boolean
}

export function Copyable({ label, text, value = text, isPrimary = false }: CopyableProps) {
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
        <CopyButton value={value}>
          {({ copied, copy }) => (
            <Button
              variant={isPrimary ? 'filled' : 'default'}
              leftSection={<IconCopy size={16} aria-hidden />}
              onClick={copy}
            >
              {copied ? texts.common.copied : texts.common.copy}
            </Button>
          )}
        </CopyButton>
      </Group>
    </Stack>
  )
}
