/** A live list of lines: filters above, the newest line first, with a pause. */
import { Button, Group, Stack, Table, Text, Title } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { formatCount } from '../../parts/format.ts'
import { type Column, focusable } from '../../parts/list-page.tsx'
import { texts } from '../../texts/index.ts'
import { useEventStream } from './event-stream.ts'

export interface LivePageProps<Line> {
  readonly title: string
  readonly operation: 'streamTrace' | 'streamLogs'
  readonly event: string
  readonly query: object
  readonly filters: ReactNode
  readonly columns: readonly Column<Line>[]
}

export function LivePage<Line>({ title, operation, event, query, filters, columns }: LivePageProps<Line>) {
  const [isPaused, setPaused] = useState(false)
  const { lines, dropped, isOpen } = useEventStream<Line>(operation, event, query, isPaused)
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
      <Group align="flex-end">{filters}</Group>
      <Text size="sm" c="dimmed" aria-live="polite">
        {isPaused ? texts.operate.paused : isOpen ? texts.operate.live : texts.operate.connecting}
        {dropped > 0 && ` ${texts.operate.dropped(formatCount(dropped))}`}
      </Text>
      {lines.length === 0 ? (
        <Text c="dimmed">{texts.operate.noLines}</Text>
      ) : (
        <Table.ScrollContainer minWidth={720} scrollAreaProps={focusable}>
          <Table verticalSpacing={4} aria-label={title}>
            <Table.Thead>
              <Table.Tr>
                {columns.map(({ title, isNumber }) => (
                  <Table.Th key={title} ta={isNumber === true ? 'right' : 'left'}>
                    {title}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {lines.toReversed().map(line => (
                <Table.Tr key={line.id}>
                  {columns.map(({ title, isNumber, render }) => (
                    <Table.Td key={title} fz="sm" ta={isNumber === true ? 'right' : 'left'}>
                      {render(line)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  )
}
