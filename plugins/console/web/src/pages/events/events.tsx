import { Button, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconHistory, IconMailOff, IconPlus, IconSend } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { AddInstance } from '../../parts/add-instance.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatCount, formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { serverInfoQuery } from '../overview/queries.ts'
import { DeadLetters } from './dead-letters.tsx'
import { Queues } from './queues.tsx'
import { Replay } from './replay.tsx'

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
  const test = ({ id }: Target) =>
    run(async () => {
      // The request has worked even where the delivery has not.
      const { delivered, error } = await call('testNotifyTarget', { params: { id } })
      if (!delivered) throw new Error(texts.events.testFailed(id, error))
    }, texts.events.tested(id))
  const [open, setOpen] = useState<{ readonly dialog: 'dead-letters' | 'replay'; readonly target: Target }>()
  const close = () => setOpen(undefined)
  const [isAdding, setAdding] = useState(false)
  const navigate = useNavigate()
  const mayAdd = [useMay('admin:GetConfig'), useMay('admin:ConfigUpdate')].every(may => may)
  const maySeeServer = useMay('admin:ServerInfo')
  const schema = useQuery({
    queryKey: ['config-schema'],
    queryFn: ({ signal }) => call('getConfigSchema', { signal }),
    enabled: mayAdd,
  })
  const kinds = (schema.data ?? []).map(({ name }) => name).filter(name => name.startsWith('notify_'))
  // What is counted begins with the start of the server.
  const server = useQuery({ ...serverInfoQuery, refetchInterval: false, enabled: maySeeServer })
  const startedAt = server.data?.startedAt
  return (
    <Stack gap="xl">
      <ListPage
        title={texts.events.title}
        queryKey={['notify-targets']}
        actions={
          kinds.length > 0 && (
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setAdding(true)}>
              {texts.events.add}
            </Button>
          )
        }
        refetchInterval={5000}
        load={({ signal }) => call('listNotifyTargets', { signal })}
        columns={columnsOf(
          startedAt,
          target => void test(target),
          target => setOpen({ dialog: 'replay', target }),
          target => setOpen({ dialog: 'dead-letters', target }),
        )}
        idOf={({ id }) => id}
        none={texts.events.none}
      />
      <Queues />
      {isAdding && (
        <AddInstance
          kinds={kinds}
          onChosen={name => void navigate({ to: '/settings', search: { open: name } })}
          onClose={() => setAdding(false)}
        />
      )}
      {open?.dialog === 'replay' && <Replay id={open.target.id} onClose={close} />}
      {open?.dialog === 'dead-letters' && (
        <DeadLetters id={open.target.id} count={open.target.deadLetters} onClose={close} />
      )}
    </Stack>
  )
}

function columnsOf(
  startedAt: string | undefined,
  onTest: (target: Target) => void,
  onReplay: (target: Target) => void,
  onShow: (target: Target) => void,
): Column<Target>[] {
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
      render: ({ lastSuccessAt }) =>
        lastSuccessAt === undefined
          ? texts.events.noneSince(startedAt && formatDate(startedAt))
          : formatDate(lastSuccessAt),
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: target => (
        <>
          <Tool label={`${texts.events.test} ${target.id}`} icon={IconSend} onClick={() => onTest(target)} />
          <Tool label={`${texts.events.replayTo} ${target.id}`} icon={IconHistory} onClick={() => onReplay(target)} />
          {target.deadLetters > 0 && (
            <Tool label={`${texts.events.show} ${target.id}`} icon={IconMailOff} onClick={() => onShow(target)} />
          )}
        </>
      ),
    },
  ]
}
