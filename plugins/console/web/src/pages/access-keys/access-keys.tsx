import { Button, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconPlayerPause, IconPlayerPlay, IconPlus, IconRefresh, IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

type AccessKey = Answer<'listAccessKeys'>['items'][number]

type Open =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'rotate' | 'delete'; readonly key: AccessKey }
  | { readonly dialog: 'secret'; readonly accessKey: string; readonly secretKey: string }

export function AccessKeys() {
  const [open, setOpen] = useState<Open>()
  const queryClient = useQueryClient()
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['access-keys'] })
  const close = () => setOpen(undefined)
  const showSecret = (made: { accessKey: string; secretKey: string }) => {
    setOpen({ dialog: 'secret', accessKey: made.accessKey, secretKey: made.secretKey })
    void refresh()
  }
  const toggle = async ({ accessKey, status }: AccessKey) => {
    const body = { status: status === 'enabled' ? ('disabled' as const) : ('enabled' as const) }
    await call('updateAccessKey', { params: { accessKey }, body }).catch(notifyFailure)
    await refresh()
  }
  const mayManageOthers = useMay('admin:ListServiceAccounts')
  return (
    <>
      <ListPage
        title={texts.accessKeys.title}
        head={
          <Text size="sm" c="dimmed">
            {texts.accessKeys.hint}
          </Text>
        }
        actions={
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'create' })}>
            {texts.accessKeys.create}
          </Button>
        }
        queryKey={['access-keys']}
        load={({ cursor, signal }) => call('listAccessKeys', { query: { cursor }, signal })}
        columns={columnsOf(setOpen, toggle)}
        idOf={({ accessKey }) => accessKey}
        none={texts.accessKeys.none}
      />
      {open?.dialog === 'create' && (
        <CreateAccessKey mayManageOthers={mayManageOthers} onClose={close} onMade={showSecret} />
      )}
      {open?.dialog === 'rotate' && (
        <RotateAccessKey accessKey={open.key.accessKey} onClose={close} onMade={showSecret} />
      )}
      {open?.dialog === 'delete' && (
        <ConfirmDeletion
          title={texts.accessKeys.deleteTitle(open.key.accessKey)}
          onConfirm={async () => {
            await call('deleteAccessKey', { params: { accessKey: open.key.accessKey } })
            await refresh()
          }}
          onClose={close}
        >
          <Text size="sm">{texts.accessKeys.deleteText}</Text>
        </ConfirmDeletion>
      )}
      {open?.dialog === 'secret' && (
        <SecretOnce accessKey={open.accessKey} secretKey={open.secretKey} onClose={close} />
      )}
    </>
  )
}

const states = { active: 'good', disabled: 'neutral', expired: 'poor' } as const

function columnsOf(setOpen: (open: Open) => void, toggle: (key: AccessKey) => void): Column<AccessKey>[] {
  return [
    {
      title: texts.signIn.accessKey,
      render: ({ accessKey, name }) => <Titled name={accessKey} note={name} />,
    },
    { title: texts.accessKeys.user, render: ({ user }) => user },
    {
      title: texts.common.state,
      render: ({ state }) => <State text={texts.accessKeys.states[state]} is={states[state]} />,
    },
    {
      title: texts.shares.expires,
      render: ({ expiresAt }) => (expiresAt === null ? texts.common.never : formatDate(expiresAt)),
    },
    {
      title: texts.shares.lastUsed,
      render: ({ lastUsedAt }) => (lastUsedAt === undefined ? texts.common.never : formatDate(lastUsedAt)),
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: key => (
        <>
          <Tool
            label={`${key.status === 'enabled' ? texts.common.disable : texts.common.enable} ${key.accessKey}`}
            icon={key.status === 'enabled' ? IconPlayerPause : IconPlayerPlay}
            onClick={() => toggle(key)}
          />
          <Tool
            label={`${texts.accessKeys.rotate} ${key.accessKey}`}
            icon={IconRefresh}
            onClick={() => setOpen({ dialog: 'rotate', key })}
          />
          <Tool
            label={`${texts.common.delete} ${key.accessKey}`}
            icon={IconTrash}
            onClick={() => setOpen({ dialog: 'delete', key })}
          />
        </>
      ),
    },
  ]
}

interface MadeProps {
  readonly onClose: () => void
  readonly onMade: (made: { accessKey: string; secretKey: string }) => void
}

function CreateAccessKey({ mayManageOthers, onClose, onMade }: MadeProps & { readonly mayManageOthers: boolean }) {
  const form = useForm({ initialValues: { user: '', name: '', expiresAt: '' } })
  const { user, name, expiresAt } = form.values
  const create = async () => {
    const body = {
      ...(user !== '' && { user }),
      ...(name !== '' && { name }),
      ...(expiresAt !== '' && { expiresAt: new Date(expiresAt).toISOString() }),
    }
    onMade(await call('createAccessKey', { body }))
    return 'stay' as const
  }
  return (
    <FormDialog
      form={form}
      title={texts.accessKeys.create}
      submit={texts.common.create}
      onSubmit={create}
      onClose={onClose}
    >
      <TextInput label={texts.common.name} data-autofocus {...form.getInputProps('name')} />
      {mayManageOthers && (
        <TextInput
          label={texts.accessKeys.user}
          description={texts.accessKeys.userHint}
          {...form.getInputProps('user')}
        />
      )}
      <TextInput
        type="datetime-local"
        label={texts.accessKeys.expiresAt}
        description={texts.accessKeys.expiresHint}
        {...form.getInputProps('expiresAt')}
      />
    </FormDialog>
  )
}

function RotateAccessKey({ accessKey, onClose, onMade }: MadeProps & { readonly accessKey: string }) {
  const rotate = async () => {
    onMade(await call('rotateAccessKey', { params: { accessKey }, body: {} }))
    return 'stay' as const
  }
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
