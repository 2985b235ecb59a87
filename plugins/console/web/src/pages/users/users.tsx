import { Anchor, Button, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconKey, IconPencil, IconPlus, IconQuestionMark, IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay, useMayAny } from '../../app/signed-in.ts'
import { Actions } from '../../parts/actions.tsx'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Names, State } from '../../parts/names.tsx'
import { useShowKey } from '../../parts/secret-once.tsx'
import { SimulatorDrawer } from '../../parts/simulator.tsx'
import { texts } from '../../texts/index.ts'
import { EditUser } from './edit-user.tsx'

export type User = Answer<'listUsers'>['items'][number]

type Open =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'edit' | 'delete' | 'new-secret' | 'simulate'; readonly user: User }

export function Users() {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const mayChange = useMayAny(changes)
  return (
    <>
      <ListPage
        title={texts.users.title}
        actions={
          useMay('admin:CreateUser') && (
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'create' })}>
              {texts.users.create}
            </Button>
          )
        }
        queryKey={['users']}
        hasFilter
        load={({ prefix, cursor, signal }) => call('listUsers', { query: { prefix, cursor }, signal })}
        columns={columnsOf(setOpen, useMay('admin:ListServiceAccounts'))}
        idOf={({ accessKey }) => accessKey}
        {...(mayChange && { onOpen: (user: User) => setOpen({ dialog: 'edit', user }) })}
        none={texts.users.none}
      />
      {open?.dialog === 'create' && <EditUser onClose={close} />}
      {open?.dialog === 'edit' && <EditUser user={open.user} onClose={close} />}
      {open?.dialog === 'delete' && <DeleteUser user={open.user} onClose={close} />}
      {open?.dialog === 'new-secret' && <NewSecret user={open.user} onClose={close} />}
      {open?.dialog === 'simulate' && <SimulatorDrawer user={open.user.accessKey} onClose={close} />}
    </>
  )
}

/** Any of these is for the form. */
const changes = [
  'admin:CreateUser',
  'admin:EnableUser',
  'admin:DisableUser',
  'admin:AttachUserOrGroupPolicy',
  'admin:AddUserToGroup',
  'admin:RemoveUserFromGroup',
]

function columnsOf(setOpen: (open: Open) => void, mayListKeys: boolean): Column<User>[] {
  return [
    {
      title: texts.users.name,
      render: ({ accessKey }) => accessKey,
      note: ({ description }) => description,
    },
    { title: texts.users.policies, render: ({ policyNames }) => <Names names={policyNames} isToldEmpty /> },
    { title: texts.users.groups, render: ({ groups }) => <Names names={groups} /> },
    {
      title: texts.users.keys,
      isNumber: true,
      render: ({ accessKey, accessKeyCount }) =>
        mayListKeys ? (
          <Anchor
            component={Link}
            to="/access-keys"
            {...({ search: { user: accessKey } } as object)}
            aria-label={texts.users.openKeys(accessKey, accessKeyCount)}
          >
            {accessKeyCount}
          </Anchor>
        ) : (
          accessKeyCount
        ),
    },
    {
      title: texts.common.state,
      render: ({ status }) => <State text={texts.common[status]} is={status === 'enabled' ? 'good' : 'neutral'} />,
    },
    { title: texts.common.created, render: ({ createdAt }) => formatDate(createdAt) },
    {
      title: texts.common.actions,
      isActions: true,
      render: user => (
        <Actions
          of={user.accessKey}
          actions={[
            {
              label: texts.common.edit,
              icon: IconPencil,
              needs: changes,
              onClick: () => setOpen({ dialog: 'edit', user }),
            },
            {
              label: texts.users.newSecret,
              icon: IconKey,
              needs: ['admin:CreateUser'],
              onClick: () => setOpen({ dialog: 'new-secret', user }),
            },
            {
              label: texts.simulator.open,
              named: texts.simulator.openFor(user.accessKey),
              icon: IconQuestionMark,
              needs: ['admin:SimulatePolicy'],
              onClick: () => setOpen({ dialog: 'simulate', user }),
            },
            {
              label: texts.common.delete,
              icon: IconTrash,
              needs: ['admin:DeleteUser'],
              isDeletion: true,
              onClick: () => setOpen({ dialog: 'delete', user }),
            },
          ]}
        />
      ),
    },
  ]
}

function DeleteUser({ user, onClose }: { user: User; onClose: () => void }) {
  const queryClient = useQueryClient()
  const remove = async () => {
    await call('deleteUser', { params: { user: user.accessKey } })
    notifications.show({ color: 'teal', message: texts.users.deleted(user.accessKey) })
    await queryClient.invalidateQueries({ queryKey: ['users'] })
  }
  return (
    <ConfirmDeletion title={texts.users.deleteTitle(user.accessKey)} onConfirm={remove} onClose={onClose}>
      <Text size="sm">{texts.users.deleteText(user.accessKeyCount)}</Text>
    </ConfirmDeletion>
  )
}

interface NewSecretProps {
  readonly user: User
  readonly onClose: () => void
}

function NewSecret({ user, onClose }: NewSecretProps) {
  const showKey = useShowKey()
  const change = async () => {
    const { secretKey } = await call('setUserSecretKey', { params: { user: user.accessKey }, body: {} })
    if (secretKey !== undefined) showKey({ accessKey: user.accessKey, secretKey })
  }
  return (
    <ConfirmDeletion
      title={texts.users.newSecretTitle(user.accessKey)}
      action={texts.users.newSecret}
      onConfirm={change}
      onClose={onClose}
    >
      <Text size="sm">{texts.users.newSecretText}</Text>
    </ConfirmDeletion>
  )
}
