/** Events of one target that were given up, with the reason of each. */
import { Button, Drawer, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconRefresh, IconTrash } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { useFocusBack } from '../../parts/focus-back.ts'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.events

type Letter = Answer<'listNotifyDeadLetters'>['items'][number]

export interface DeadLettersProps {
  readonly id: string
  readonly count: number
  readonly onClose: () => void
}

export function DeadLetters({ id, count: before, onClose }: DeadLettersProps) {
  useFocusBack()
  const queryClient = useQueryClient()
  const [isDiscarding, setDiscarding] = useState(false)
  const refresh = async () => {
    await queryClient.invalidateQueries({ queryKey: ['dead-letters', id] })
    await queryClient.invalidateQueries({ queryKey: ['notify-targets'] })
  }
  const { data: count = before } = useQuery({
    queryKey: ['notify-targets', id],
    queryFn: async ({ signal }) => {
      const { items } = await call('listNotifyTargets', { signal })
      return items.find(target => target.id === id)?.deadLetters ?? 0
    },
  })
  const retry = useMutation({
    mutationFn: (ids?: readonly string[]) =>
      call('retryNotifyDeadLetters', { params: { id }, body: ids === undefined ? {} : { ids: [...ids] } }),
    async onSuccess({ queued }) {
      // Somebody else may have sent or discarded it.
      const isSent = queued > 0
      notifications.show({ color: isSent ? 'teal' : 'orange', message: isSent ? words.retried(id) : words.retriedNone })
      await refresh()
    },
  })
  return (
    <Drawer
      opened
      onClose={onClose}
      closeOnEscape={!isDiscarding}
      position="right"
      size="xl"
      title={id}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Stack>
        {retry.error !== null && <ProblemAlert error={retry.error} />}
        <ListPage
          title={words.deadTitle(id)}
          queryKey={['dead-letters', id]}
          load={({ cursor, signal }) =>
            call('listNotifyDeadLetters', { params: { id }, query: { cursor, limit: 100 }, signal })
          }
          columns={columnsOf(letter => retry.mutate([letter.id]))}
          idOf={letter => letter.id}
          none={words.noneGivenUp}
        />
        {count > 0 && (
          <Group>
            <Button
              leftSection={<IconRefresh size={16} aria-hidden />}
              loading={retry.isPending}
              onClick={() => retry.mutate(undefined)}
            >
              {words.retryAll}
            </Button>
            <Button
              variant="light"
              color="red"
              leftSection={<IconTrash size={16} aria-hidden />}
              onClick={() => setDiscarding(true)}
            >
              {words.discardAll}
            </Button>
          </Group>
        )}
      </Stack>
      {isDiscarding && (
        <ConfirmDeletion
          title={words.discardTitle(count)}
          action={words.discardAll}
          onConfirm={async () => {
            await call('discardNotifyDeadLetters', { params: { id } })
            await refresh()
          }}
          onClose={() => setDiscarding(false)}
        >
          <Text size="sm">{words.discardText(id)}</Text>
        </ConfirmDeletion>
      )}
    </Drawer>
  )
}

function columnsOf(onRetry: (letter: Letter) => void): Column<Letter>[] {
  return [
    { title: words.event, render: ({ eventName }) => eventName },
    { title: texts.shares.object, render: ({ bucket, key }) => `${bucket}/${key}` },
    { title: words.givenUp, render: ({ givenUpAt }) => formatDate(givenUpAt) },
    { title: words.attempts, isNumber: true, render: ({ attempts }) => attempts },
    { title: words.reason, render: ({ reason }) => reason },
    {
      title: texts.common.actions,
      isActions: true,
      render: letter => (
        <Tool label={`${texts.common.retry} ${letter.key}`} icon={IconRefresh} onClick={() => onRetry(letter)} />
      ),
    },
  ]
}
