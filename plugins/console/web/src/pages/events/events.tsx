import { notifications } from '@mantine/notifications'
import { IconRefresh, IconSend } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatCount, formatDate } from '../../parts/format.ts'
import { type Column, ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

type Target = Answer<'listNotifyTargets'>['items'][number]

export function Events() {
  const queryClient = useQueryClient()
  const run = async (work: () => Promise<unknown>, message: string) => {
    try {
      await work()
      notifications.show({ color: 'teal', message })
    } catch (error) {
      notifyFailure(error)
    }
    await queryClient.invalidateQueries({ queryKey: ['notify-targets'] })
  }
  const test = ({ id }: Target) => run(() => call('testNotifyTarget', { params: { id } }), texts.events.tested(id))
  const retry = ({ id }: Target) =>
    run(() => call('retryNotifyDeadLetters', { params: { id }, body: {} }), texts.events.retried(id))
  return (
    <ListPage
      title={texts.events.title}
      queryKey={['notify-targets']}
      refetchInterval={5000}
      load={({ signal }) => call('listNotifyTargets', { signal })}
      columns={columnsOf(test, retry)}
      idOf={({ id }) => id}
      none={texts.events.none}
    />
  )
}

function columnsOf(onTest: (target: Target) => void, onRetry: (target: Target) => void): Column<Target>[] {
  return [
    { title: texts.events.target, render: ({ id }) => id },
    { title: texts.operate.type, render: ({ type }) => type },
    { title: texts.events.endpoint, render: ({ endpoint }) => endpoint },
    {
      title: texts.common.state,
      render: ({ enabled, online }) => (
        <State
          text={enabled ? (online ? texts.events.online : texts.events.offline) : texts.common.disabled}
          is={enabled ? (online ? 'good' : 'bad') : 'neutral'}
        />
      ),
    },
    { title: texts.events.pending, isNumber: true, render: ({ pendingEvents }) => formatCount(pendingEvents) },
    { title: texts.events.deadLetters, isNumber: true, render: ({ deadLetters }) => formatCount(deadLetters) },
    { title: texts.events.lastError, render: ({ lastError }) => lastError },
    {
      title: texts.events.lastSuccess,
      render: ({ lastSuccessAt }) => (lastSuccessAt === undefined ? texts.common.never : formatDate(lastSuccessAt)),
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: target => (
        <>
          <Tool label={`${texts.events.test} ${target.id}`} icon={IconSend} onClick={() => onTest(target)} />
          {target.deadLetters > 0 && (
            <Tool label={`${texts.events.retry} ${target.id}`} icon={IconRefresh} onClick={() => onRetry(target)} />
          )}
        </>
      ),
    },
  ]
}
