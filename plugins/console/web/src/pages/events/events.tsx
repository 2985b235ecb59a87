import { Button, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import {
  IconHistory,
  IconMailOff,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlus,
  IconSend,
  IconTrash,
} from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { type Action, Actions } from '../../parts/actions.tsx'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatCount, formatDate, formatMoment } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Titled } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'
import { serverInfoQuery } from '../overview/queries.ts'
import type { Values } from '../settings/settings.tsx'
import { AuditTargets } from './audit-targets.tsx'
import { DeadLetters } from './dead-letters.tsx'
import { EditTarget } from './edit-target.tsx'
import { Queues } from './queues.tsx'
import { Replay } from './replay.tsx'
import { prefix, subsystemOf } from './target-names.ts'
import { TargetState } from './target-state.tsx'

type Target = Answer<'listNotifyTargets'>['items'][number]

export function Events() {
  const queryClient = useQueryClient()
  const refresh = () =>
    Promise.all([['notify-targets'], ['config']].map(queryKey => queryClient.invalidateQueries({ queryKey })))
  const test = async ({ id, enabled }: Target) => {
    try {
      // The request has worked even where the delivery has not.
      const { delivered, error, warning } = await call('testNotifyTarget', { params: { id } })
      if (!delivered) notifyFailure(error, texts.events.testFailed(id))
      else if (warning !== '') {
        notifications.show({ color: 'orange', message: texts.events.testedInVain(id, warning), autoClose: false })
      } else if (enabled) notifications.show({ color: 'teal', message: texts.events.tested(id) })
      else notifications.show({ color: 'orange', message: texts.events.testedDisabled(id) })
    } catch (error) {
      notifyFailure(error)
    }
    await refresh()
  }
  /** What is wrong with its settings is found when it is enabled: then they are opened. */
  const enable = async (target: Target) => {
    const params = { subsys: subsystemOf(target.id) }
    try {
      await call('updateConfigSubsystem', { params, body: { settings: { enable: 'on' } } })
      notifications.show({ color: 'teal', message: texts.events.isNowEnabled(target.id) })
      await refresh()
    } catch (error) {
      notifyFailure(error)
      if (error instanceof Problem && error.fields.length > 0) await edit(target)
    }
  }
  const disable = async ({ id }: Target) => {
    await call('updateConfigSubsystem', { params: { subsys: subsystemOf(id) }, body: { settings: { enable: 'off' } } })
    await refresh()
  }
  const remove = async ({ id }: Target) => {
    await call('resetConfigSubsystem', { params: { subsys: subsystemOf(id) } })
    await refresh()
    await queryClient.invalidateQueries({ queryKey: ['notify-queues'] })
  }
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const edit = async (target: Target) => {
    try {
      const config = (await call('getConfig', {})) as Readonly<Record<string, Values>>
      setOpen({ dialog: 'edit', target, values: config[subsystemOf(target.id)] ?? {} })
    } catch (error) {
      notifyFailure(error)
    }
  }
  const mayUpdate = useMay('admin:ConfigUpdate')
  const mayAdd = [useMay('admin:GetConfig'), mayUpdate].every(may => may)
  const maySeeServer = useMay('admin:ServerInfo')
  const schema = useQuery({
    queryKey: ['config-schema'],
    queryFn: ({ signal }) => call('getConfigSchema', { signal }),
    enabled: mayAdd,
  })
  const kinds = (schema.data ?? [])
    .filter(({ name }) => name.startsWith(prefix))
    // What most begin with.
    .sort((one, other) => Number(other.name === firstKind) - Number(one.name === firstKind))
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
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'add' })}>
              {texts.events.add}
            </Button>
          )
        }
        refetchInterval={5000}
        load={({ signal }) => call('listNotifyTargets', { signal })}
        columns={columnsOf(startedAt, {
          ...(mayUpdate && { test: target => void test(target) }),
          open: (dialog, target) => setOpen({ dialog, target }),
          ...(kinds.length > 0 && {
            edit: target => void edit(target),
            enable: target => void enable(target),
          }),
        })}
        idOf={({ id }) => id}
        {...(kinds.length > 0 && { onOpen: (target: Target) => void edit(target) })}
        none={kinds.length > 0 ? texts.events.none : texts.events.noneToSee}
      />
      <Queues />
      <AuditTargets startedAt={startedAt} />
      {open?.dialog === 'add' && <EditTarget kinds={kinds} onClose={close} />}
      {open?.dialog === 'edit' && (
        <EditTarget
          kinds={kinds}
          existing={{ id: open.target.id, subsystem: subsystemOf(open.target.id), values: open.values }}
          onClose={close}
        />
      )}
      {open?.dialog === 'disable' && (
        <ConfirmDeletion
          title={texts.events.disableTitle(open.target.id)}
          action={texts.common.disable}
          onConfirm={() => disable(open.target)}
          onClose={close}
        >
          <Text size="sm">{texts.events.disableText}</Text>
        </ConfirmDeletion>
      )}
      {open?.dialog === 'remove' && (
        <ConfirmDeletion
          title={texts.events.removeTitle(open.target.id)}
          action={texts.common.remove}
          onConfirm={() => remove(open.target)}
          onClose={close}
        >
          <Text size="sm">{texts.events.removeText}</Text>
        </ConfirmDeletion>
      )}
      {open?.dialog === 'replay' && <Replay id={open.target.id} onClose={close} />}
      {open?.dialog === 'dead-letters' && <DeadLetters id={open.target.id} onClose={close} />}
    </Stack>
  )
}

const firstKind = `${prefix}webhook`

type Asked = 'dead-letters' | 'replay' | 'disable' | 'remove'

type Open =
  | { readonly dialog: 'add' }
  | { readonly dialog: Asked; readonly target: Target }
  | { readonly dialog: 'edit'; readonly target: Target; readonly values: Values }

interface Deeds {
  readonly open: (dialog: Asked, target: Target) => void
  /** Absent for callers who may not change the settings. */
  readonly test?: (target: Target) => void
  readonly edit?: (target: Target) => void
  readonly enable?: (target: Target) => void
}

function columnsOf(startedAt: string | undefined, deeds: Deeds): Column<Target>[] {
  return [
    { title: texts.events.target, render: ({ id }) => id, note: ({ endpoint }) => endpoint },
    {
      title: texts.common.state,
      render: target => <TargetState {...target} />,
    },
    { title: texts.events.pending, isNumber: true, render: ({ pendingEvents }) => formatCount(pendingEvents) },
    { title: texts.events.deadLetters, isNumber: true, render: ({ deadLetters }) => formatCount(deadLetters) },
    {
      title: texts.events.lastError,
      render: ({ lastError, lastErrorAt }) =>
        lastError !== '' && (
          <Titled name={lastError} note={lastErrorAt === undefined ? '' : formatMoment(lastErrorAt)} />
        ),
    },
    {
      title: texts.events.lastSuccess,
      render: ({ lastSuccessAt }) =>
        lastSuccessAt === undefined
          ? texts.events.noneSince(startedAt && formatDate(startedAt))
          : formatMoment(lastSuccessAt),
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: target => <TargetActions of={target} {...deeds} />,
    },
  ]
}

function TargetActions({ of, test, open, edit, enable }: Deeds & { readonly of: Target }) {
  const { id, enabled, deadLetters } = of
  const ask = (dialog: Asked) => () => open(dialog, of)
  const actions: Action[] = []
  if (test !== undefined) actions.push({ label: texts.events.test, icon: IconSend, onClick: () => test(of) })
  if (deadLetters > 0) {
    actions.push({ label: texts.events.showGivenUp, icon: IconMailOff, onClick: ask('dead-letters') })
  }
  if (test !== undefined) actions.push({ label: texts.events.replay, icon: IconHistory, onClick: ask('replay') })
  if (edit !== undefined) actions.push({ label: texts.common.edit, icon: IconPencil, onClick: () => edit(of) })
  if (enable !== undefined) {
    actions.push(
      enabled
        ? { label: texts.common.disable, icon: IconPlayerPause, onClick: ask('disable') }
        : { label: texts.common.enable, icon: IconPlayerPlay, onClick: () => enable(of) },
      { label: texts.common.remove, icon: IconTrash, isDeletion: true, onClick: ask('remove') },
    )
  }
  return <Actions of={id} actions={actions} />
}
