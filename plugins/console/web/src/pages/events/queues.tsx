/** Events that wait for targets which are no more. */
import { Text } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { formatBytes, formatCount } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.eventQueues

type Queue = Answer<'listNotifyQueues'>['items'][number]

export function Queues() {
  const queryClient = useQueryClient()
  const mayDiscard = useMay('admin:ConfigUpdate')
  const [discarded, setDiscarded] = useState<Queue>()
  return (
    <>
      <ListPage
        title={words.title}
        isPart
        head={
          <Text size="sm" c="dimmed">
            {words.hint}
          </Text>
        }
        queryKey={['notify-queues']}
        // Also so that it is read once more when the first time failed.
        refetchInterval={5000}
        load={async ({ signal }) => {
          const { items } = await call('listNotifyQueues', { signal })
          return { items: items.filter(({ target }) => target !== 'configured') }
        }}
        columns={columnsOf(mayDiscard ? setDiscarded : undefined)}
        idOf={({ id }) => id}
      />
      {discarded !== undefined && (
        <ConfirmDeletion
          title={words.discardTitle(discarded.id)}
          typed={discarded.id}
          action={texts.common.delete}
          onConfirm={async () => {
            await call('discardNotifyQueue', { params: { id: discarded.id } })
            await queryClient.invalidateQueries({ queryKey: ['notify-queues'] })
          }}
          onClose={() => setDiscarded(undefined)}
        >
          <Text size="sm">{words.discardText(discarded.pendingEvents + discarded.deadLetters)}</Text>
        </ConfirmDeletion>
      )}
    </>
  )
}

function columnsOf(onDiscard: ((queue: Queue) => void) | undefined): Column<Queue>[] {
  return [
    { title: texts.events.target, render: ({ id }) => id },
    { title: texts.common.state, render: ({ target }) => <State text={words.states[target]} is="poor" /> },
    { title: words.waiting, isNumber: true, render: ({ pendingEvents }) => formatCount(pendingEvents) },
    { title: words.size, isNumber: true, render: ({ pendingBytes }) => formatBytes(pendingBytes) },
    { title: texts.events.deadLetters, isNumber: true, render: ({ deadLetters }) => formatCount(deadLetters) },
    {
      title: texts.common.actions,
      isActions: true,
      // Of one that is only not loaded the server keeps what waits.
      render: queue =>
        onDiscard !== undefined &&
        queue.target === 'removed' && (
          <Tool label={words.discard(queue.id)} icon={IconTrash} onClick={() => onDiscard(queue)} />
        ),
    },
  ]
}
