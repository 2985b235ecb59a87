/** One number that a page is about. */
import { Paper, Skeleton, Text } from '@mantine/core'

export interface FigureProps {
  readonly label: string
  /** Undefined until it is known. */
  readonly value: string | undefined
  readonly note?: string
}

export function Figure({ label, value, note }: FigureProps) {
  return (
    <Paper withBorder p="md" role="group" aria-label={label}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Skeleton visible={value === undefined}>
        <Text size="xl" fw={700} className="numbers">
          {value ?? '…'}
        </Text>
      </Skeleton>
      {note !== undefined && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Paper>
  )
}
