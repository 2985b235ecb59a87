/** A live list of lines: filters above, the newest line first, with a pause. */
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { Filters } from '../../parts/filters.tsx'
import { formatCount } from '../../parts/format.ts'
import { type Column, ItemTable } from '../../parts/item-table.tsx'
import { texts } from '../../texts/index.ts'
import { useEventStream } from './event-stream.ts'

export interface LivePageProps<Line> {
  readonly title: string
  readonly operation: 'streamTrace' | 'streamLogs'
  readonly event: string
  readonly query: object
  /** Parameters that leave lines out: lines that are there are shown or not as `shows` says, and come back. */
  readonly narrowing?: object
  /** Whether the server would send the line with the narrowing of now. */
  readonly shows?: (line: Line) => boolean
  readonly filters: ReactNode
  readonly filtersSet: number
  /** Why there may be no line, and what makes one. */
  readonly none: string
  readonly columns: readonly Column<Line>[]
}

export function LivePage<Line>({
  title,
  operation,
  event,
  query,
  narrowing = {},
  shows = () => true,
  filters,
  filtersSet,
  none,
  columns,
}: LivePageProps<Line>) {
  const [isPaused, setPaused] = useState(false)
  const { lines: kept, dropped, isOpen } = useEventStream<Line>(operation, event, { query, narrowing }, isPaused)
  const lines = kept.filter(shows)
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {title}
        </Title>
        <Button
          variant="default"
          leftSection={isPaused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />}
          onClick={() => setPaused(!isPaused)}
        >
          {isPaused ? texts.operate.resume : texts.operate.pause}
        </Button>
      </Group>
      <Filters set={filtersSet}>
        <Group align="flex-end">{filters}</Group>
      </Filters>
      <Text size="sm" c="dimmed" aria-live="polite">
        {isPaused ? texts.operate.paused : isOpen ? texts.operate.live : texts.operate.connecting}
        {dropped > 0 && ` ${texts.operate.dropped(formatCount(dropped))}`}
      </Text>
      {lines.length === 0 ? (
        <Text c="dimmed">{kept.length > 0 ? texts.operate.noneFits : none}</Text>
      ) : (
        <ItemTable
          label={title}
          items={lines.toReversed()}
          columns={columns}
          idOf={({ id }) => String(id)}
          isDense
          minWidth={720}
        />
      )}
    </Stack>
  )
}
