/** Events of one target that were given up, with the reason of each. */
import { Button, Drawer, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconRefresh, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
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

type Letters = Answer<'listNotifyDeadLetters'>
type Letter = Letters['items'][number]
/** What “all” means: what is given up later is in no list that was looked at. */
type Seen = Pick<Letters, 'count' | 'newest'>

export interface DeadLettersProps {
  readonly id: string
  readonly onClose: () => void
}

export function DeadLetters({ id, onClose }: DeadLettersProps) {
  useFocusBack()
  const queryClient = useQueryClient()
  const [seen, setSeen] = useState<Seen>()
  const [discarding, setDiscarding] = useState<Seen>()
  const refresh = async () => {
    await queryClient.invalidateQueries({ queryKey: ['dead-letters', id] })
    await queryClient.invalidateQueries({ queryKey: ['notify-targets'] })
  }
  const retry = useMutation({
    mutationFn: (which: { ids: string[] } | { through: string }) =>
      call('retryNotifyDeadLetters', { params: { id }, body: which }),
    async onSuccess({ queued, left, reason }, which) {
      // Somebody else may have sent or discarded it.
      const isSent = queued > 0 && reason === ''
      const message = isSent
        ? words.retried(queued, id)
        : queued > 0
          ? words.retriedWaiting(queued, id, reason)
          : 'ids' in which
            ? words.retriedNone
            : reason
      tell(isSent, message, 'ids' in which ? 0 : left)
      await refresh()
    },
  })
  const discard = async ({ newest }: Seen) => {
    const { discarded, left } = await call('discardNotifyDeadLetters', { params: { id }, query: { through: newest } })
    tell(discarded > 0, discarded > 0 ? words.discarded(discarded) : words.discardedNone, left)
  }
  return (
    <Drawer
      opened
      onClose={onClose}
      closeOnEscape={discarding === undefined}
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
          // What is sent again may be given up again at once.
          refetchInterval={listMs}
          load={async ({ cursor, signal }) => {
            const page = await call('listNotifyDeadLetters', { params: { id }, query: { cursor, limit: 100 }, signal })
            setSeen(page)
            return page
          }}
          columns={columnsOf(letter => retry.mutate({ ids: [letter.id] }))}
          idOf={letter => letter.id}
          none={words.noneGivenUp}
        />
        {seen !== undefined && seen.count > 0 && (
          <Group>
            <Button
              leftSection={<IconRefresh size={16} aria-hidden />}
              loading={retry.isPending}
              onClick={() => retry.mutate({ through: seen.newest })}
            >
              {words.retryAll}
            </Button>
            <Button
              variant="light"
              color="red"
              leftSection={<IconTrash size={16} aria-hidden />}
              onClick={() => setDiscarding(seen)}
            >
              {words.discardAll}
            </Button>
          </Group>
        )}
      </Stack>
      {discarding !== undefined && (
        <ConfirmDeletion
          title={words.discardTitle(discarding.count)}
          action={words.discardAll}
          onConfirm={() => discard(discarding)}
          onDone={refresh}
          onClose={() => setDiscarding(undefined)}
        >
          <Text size="sm">{words.discardText(id)}</Text>
        </ConfirmDeletion>
      )}
    </Drawer>
  )
}

const listMs = 5000

/** `later`: how many were given up since the list was read. */
function tell(isDone: boolean, message: string, later: number): void {
  notifications.show({
    color: isDone && later === 0 ? 'teal' : 'orange',
    message: later === 0 ? message : `${message} ${words.givenUpLater(later)}`,
  })
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
