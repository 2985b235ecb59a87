/** Keys that sign links to distributions. */
import { Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { IconDownload, IconPencil, IconPlus, IconTrash, IconX } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Actions } from '../../parts/actions.tsx'
import { choicesOf } from '../../parts/choices.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Name } from '../../parts/name.tsx'
import { Names, State } from '../../parts/names.tsx'
import { saveAs } from '../../parts/save-as.ts'
import { ShownOnce } from '../../parts/secret-once.tsx'
import { useShowSecret } from '../../parts/secrets-in-turn.ts'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { EditKeyGroup } from './edit-key-group.tsx'

const words = texts.keyGroups

type KeyGroup = Answer<'listKeyGroups'>['items'][number]
type Key = KeyGroup['keys'][number]

type Open =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'add-key' | 'edit' | 'delete'; readonly group: KeyGroup }
  | { readonly dialog: 'remove-key'; readonly group: KeyGroup; readonly key: Key }

export function KeyGroups() {
  const [open, setOpen] = useState<Open>()
  const queryClient = useQueryClient()
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['key-groups'] })
  const close = () => setOpen(undefined)
  return (
    <>
      <ListPage
        title={words.title}
        actions={
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'create' })}>
            {words.create}
          </Button>
        }
        queryKey={['key-groups']}
        load={({ cursor, signal }) => call('listKeyGroups', { query: { cursor }, signal })}
        columns={columnsOf(setOpen)}
        idOf={({ id }) => id}
        onOpen={group => setOpen({ dialog: 'edit', group })}
        none={words.none}
      />
      {open?.dialog === 'create' && <CreateGroup onClose={close} onDone={refresh} />}
      {open?.dialog === 'edit' && <EditKeyGroup id={open.group.id} onClose={close} />}
      {open?.dialog === 'add-key' && <AddKey group={open.group} onClose={close} onDone={refresh} />}
      {open?.dialog === 'remove-key' && (
        <ConfirmDeletion
          title={words.removeTitle(open.key.name || open.key.id)}
          action={texts.common.remove}
          onConfirm={async () => {
            await call('removeKeyGroupKey', { params: { id: open.group.id, keyId: open.key.id } })
            await refresh()
          }}
          onClose={close}
        >
          <Text size="sm">{words.removeText}</Text>
        </ConfirmDeletion>
      )}
      {open?.dialog === 'delete' && (
        <ConfirmDeletion
          title={words.deleteTitle(open.group.id)}
          onConfirm={async () => {
            await call('deleteKeyGroup', { params: { id: open.group.id } })
            await refresh()
          }}
          onClose={close}
        >
          <Text size="sm">{words.deleteText}</Text>
        </ConfirmDeletion>
      )}
    </>
  )
}

function columnsOf(setOpen: (open: Open) => void): Column<KeyGroup>[] {
  return [
    { title: texts.common.name, render: ({ id }) => id, note: ({ comment }) => comment },
    {
      title: words.keys,
      render: group =>
        group.keys.length === 0 ? (
          <State text={words.noKey} is="poor" />
        ) : (
          <Stack gap={4}>
            {group.keys.map(key => (
              <Group key={key.id} gap={6} wrap="nowrap">
                <div className="titled">
                  <Text size="sm">
                    <Name>{key.name || key.id}</Name> · {key.algorithm}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {words.keyPairId(key.id)}
                  </Text>
                </div>
                {!key.enabled && <State text={texts.common.disabled} is="neutral" />}
                {key.hasPrivateKey && <State text={words.canSign} is="neutral" />}
                <Tool
                  size="sm"
                  label={words.removeKey(key.name || key.id)}
                  icon={IconX}
                  onClick={() => setOpen({ dialog: 'remove-key', group, key })}
                />
              </Group>
            ))}
          </Stack>
        ),
    },
    { title: texts.common.used, render: ({ usedBy }) => <Names names={usedBy} /> },
    { title: texts.common.updated, render: ({ updatedAt }) => formatDate(updatedAt) },
    {
      title: texts.common.actions,
      isActions: true,
      render: group => (
        <Actions
          of={group.id}
          actions={[
            {
              label: words.addKey,
              named: words.addKeyTo(group.id),
              icon: IconPlus,
              onClick: () => setOpen({ dialog: 'add-key', group }),
            },
            { label: texts.common.edit, icon: IconPencil, onClick: () => setOpen({ dialog: 'edit', group }) },
            {
              label: texts.common.delete,
              icon: IconTrash,
              isDeletion: true,
              onClick: () => setOpen({ dialog: 'delete', group }),
            },
          ]}
        />
      ),
    },
  ]
}

interface DialogProps {
  readonly onClose: () => void
  readonly onDone: () => Promise<void>
}

function CreateGroup({ onClose, onDone }: DialogProps) {
  const form = useForm({ initialValues: { id: '', comment: '' } })
  const create = async () => {
    const { id, comment } = form.getValues()
    await call('createKeyGroup', { body: { id: id.trim(), ...(comment !== '' && { comment }) } })
    await onDone()
  }
  return (
    <FormDialog title={words.create} submit={texts.common.create} form={form} onSubmit={create} onClose={onClose}>
      <TextInput label={texts.common.name} required data-autofocus autoComplete="off" {...form.getInputProps('id')} />
      <TextInput label={texts.common.description} {...form.getInputProps('comment')} />
    </FormDialog>
  )
}

interface AddKeyProps extends DialogProps {
  readonly group: KeyGroup
}

function AddKey({ group, onClose, onDone }: AddKeyProps) {
  const showSecret = useShowSecret()
  const form = useForm({
    initialValues: {
      origin: 'generate' as keyof typeof words.origins,
      algorithm: 'ed25519' as 'ed25519' | 'rsa',
      name: '',
      publicKey: '',
    },
  })
  const { origin } = form.values
  const add = async () => {
    const { name, algorithm, publicKey } = form.getValues()
    const named = name === '' ? {} : { name }
    const body =
      origin === 'upload'
        ? { ...named, publicKey }
        : { ...named, generate: true, algorithm, storePrivateKey: origin === 'generate' }
    const key = await call('addKeyGroupKey', { params: { id: group.id }, body })
    await onDone()
    // The server has kept it, where it says that it signs.
    const { privateKey } = key
    if (origin !== 'once' || privateKey === undefined) return
    showSecret(onKept => <PrivateKey name={key.name || key.id} pem={privateKey} onClose={onKept} />)
  }
  return (
    <FormDialog title={words.addKeyTo(group.id)} submit={words.addKey} form={form} onSubmit={add} onClose={onClose}>
      <NativeSelect label={words.origin} data={choicesOf(words.origins)} {...form.getInputProps('origin')} />
      <TextInput label={words.keyName} {...form.getInputProps('name')} />
      {origin === 'upload' ? (
        <Textarea label={words.publicKey} autosize minRows={4} required {...form.getInputProps('publicKey')} />
      ) : (
        <NativeSelect label={words.algorithm} data={['ed25519', 'rsa']} {...form.getInputProps('algorithm')} />
      )}
    </FormDialog>
  )
}

function PrivateKey({ name, pem, onClose }: { name: string; pem: string; onClose: () => void }) {
  return (
    <ShownOnce
      title={words.privateKey}
      text={words.onlyNow}
      more={
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          onClick={() => saveAs(`${name}.pem`, pem)}
        >
          {texts.common.download}
        </Button>
      }
      onClose={onClose}
    >
      <Textarea
        label={words.privateKey}
        value={pem}
        readOnly
        autosize
        styles={{ input: { fontFamily: 'monospace' } }}
      />
    </ShownOnce>
  )
}
