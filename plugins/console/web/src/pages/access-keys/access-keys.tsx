import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { IconPencil, IconPlayerPause, IconPlayerPlay, IconPlus, IconRefresh, IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { Actions } from '../../parts/actions.tsx'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { lastUseOf } from '../../parts/last-use.ts'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { useShowKey } from '../../parts/secret-once.tsx'
import { texts } from '../../texts/index.ts'
import { UserInput } from './user-input.tsx'

const EditAccessKey = lazy(async () => ({ default: (await import('./edit-access-key.tsx')).EditAccessKey }))

export type AccessKey = Answer<'listAccessKeys'>['items'][number]

type Open =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'edit' | 'rotate' | 'disable' | 'delete'; readonly key: AccessKey }

/** The keys of the caller, or of the user in the address. */
export function AccessKeys() {
  const { user = '' } = useSearch({ from: '/inside/access-keys' })
  const [open, setOpen] = useState<Open>()
  const queryClient = useQueryClient()
  const refresh = async () => {
    await Promise.all(['access-keys', 'users'].map(key => queryClient.invalidateQueries({ queryKey: [key] })))
  }
  const close = () => setOpen(undefined)
  const showKey = useShowKey()
  const showMade = (made: { accessKey: string; secretKey: string }) => {
    showKey(made)
    void refresh()
  }
  const set = ({ accessKey }: AccessKey, status: AccessKey['status']) =>
    call('updateAccessKey', { params: { accessKey }, body: { status } })
  const toggle = async (key: AccessKey) => {
    if (key.status === 'enabled') return setOpen({ dialog: 'disable', key })
    await set(key, 'enabled').catch(notifyFailure)
    await refresh()
  }
  const isOwn = user === ''
  const may = {
    create: useMay('admin:CreateServiceAccount') || isOwn,
    update: useMay('admin:UpdateServiceAccount') || isOwn,
    delete: useMay('admin:RemoveServiceAccount') || isOwn,
  }
  return (
    <>
      <ListPage
        title={texts.accessKeys.title}
        head={
          <Stack gap="xs">
            <Text size="sm" c="dimmed">
              {texts.accessKeys.hint}
            </Text>
            {useMay('admin:ListServiceAccounts') && <WhoseKeys user={user} />}
          </Stack>
        }
        actions={
          may.create && (
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'create' })}>
              {texts.accessKeys.create}
            </Button>
          )
        }
        queryKey={['access-keys', user]}
        load={({ cursor, signal }) => call('listAccessKeys', { query: { cursor, ...(!isOwn && { user }) }, signal })}
        columns={columnsOf(setOpen, toggle, may)}
        idOf={({ accessKey }) => accessKey}
        {...(may.update && { onOpen: (key: AccessKey) => setOpen({ dialog: 'edit', key }) })}
        none={isOwn ? texts.accessKeys.none : texts.accessKeys.noneOf(user)}
      />
      <Suspense>
        {open?.dialog === 'create' && <EditAccessKey user={user} onClose={close} onMade={showMade} />}
        {open?.dialog === 'edit' && <EditAccessKey accessKey={open.key} onClose={close} onChanged={refresh} />}
      </Suspense>
      {open?.dialog === 'rotate' && (
        <RotateAccessKey accessKey={open.key.accessKey} onClose={close} onMade={showMade} />
      )}
      {open?.dialog === 'disable' && (
        <ConfirmDeletion
          title={texts.accessKeys.disableTitle(open.key.accessKey)}
          action={texts.common.disable}
          onConfirm={async () => void (await set(open.key, 'disabled'))}
          onDone={refresh}
          onClose={close}
        >
          <Text size="sm">{texts.accessKeys.disableText}</Text>
        </ConfirmDeletion>
      )}
      {open?.dialog === 'delete' && (
        <ConfirmDeletion
          title={texts.accessKeys.deleteTitle(open.key.accessKey)}
          onConfirm={async () => void (await call('deleteAccessKey', { params: { accessKey: open.key.accessKey } }))}
          onDone={refresh}
          onClose={close}
        >
          <Text size="sm">{texts.accessKeys.deleteText}</Text>
        </ConfirmDeletion>
      )}
    </>
  )
}

/** Whose keys are listed is part of the address, so that the page of a user can lead here. */
function WhoseKeys({ user }: { user: string }) {
  const navigate = useNavigate()
  const choose = (name: string) => void navigate({ to: '/access-keys', search: name === '' ? {} : { user: name } })
  return (
    <Group align="flex-end" gap="sm">
      <UserInput key={user} label={texts.accessKeys.of} user={user} onChoose={choose} />
      {user !== '' && (
        <Anchor component={Link} to="/access-keys" underline="always" size="sm" pb={8}>
          {texts.accessKeys.showOwn}
        </Anchor>
      )}
    </Group>
  )
}

const states = { active: 'good', disabled: 'neutral', expired: 'poor' } as const

function columnsOf(
  setOpen: (open: Open) => void,
  toggle: (key: AccessKey) => void | Promise<void>,
  may: { readonly update: boolean; readonly delete: boolean },
): Column<AccessKey>[] {
  return [
    {
      title: texts.signIn.accessKey,
      render: ({ accessKey }) => accessKey,
      note: ({ name }) => name,
    },
    { title: texts.accessKeys.user, render: ({ user }) => user },
    {
      title: texts.accessKeys.rights,
      render: ({ policy }) => (policy === null ? texts.accessKeys.allRights : texts.accessKeys.lessRights),
    },
    {
      title: texts.common.state,
      render: ({ state }) => <State text={texts.accessKeys.states[state]} is={states[state]} />,
    },
    {
      title: texts.shares.expires,
      render: ({ expiresAt }) => (expiresAt === null ? texts.common.never : formatDate(expiresAt)),
    },
    { title: texts.shares.lastUsed, render: key => lastUseOf(key) },
    {
      title: texts.common.actions,
      isActions: true,
      render: key => (
        <Actions
          of={key.accessKey}
          actions={[
            ...(may.update
              ? [
                  {
                    label: texts.accessKeys.rotate,
                    icon: IconRefresh,
                    onClick: () => setOpen({ dialog: 'rotate', key }),
                  },
                  { label: texts.common.edit, icon: IconPencil, onClick: () => setOpen({ dialog: 'edit', key }) },
                  key.status === 'enabled'
                    ? { label: texts.common.disable, icon: IconPlayerPause, onClick: () => toggle(key) }
                    : { label: texts.common.enable, icon: IconPlayerPlay, onClick: () => toggle(key) },
                ]
              : []),
            ...(may.delete
              ? [
                  {
                    label: texts.common.delete,
                    icon: IconTrash,
                    isDeletion: true,
                    onClick: () => setOpen({ dialog: 'delete', key }),
                  },
                ]
              : []),
          ]}
        />
      ),
    },
  ]
}

interface RotateProps {
  readonly accessKey: string
  readonly onClose: () => void
  readonly onMade: (made: { accessKey: string; secretKey: string }) => void
}

function RotateAccessKey({ accessKey, onClose, onMade }: RotateProps) {
  const rotate = async () => onMade(await call('rotateAccessKey', { params: { accessKey }, body: {} }))
  return (
    <ConfirmDeletion
      title={texts.accessKeys.rotateTitle(accessKey)}
      action={texts.accessKeys.rotate}
      onConfirm={rotate}
      onClose={onClose}
    >
      <Text size="sm">{texts.users.newSecretText}</Text>
    </ConfirmDeletion>
  )
}
