import { Button, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconPencil, IconPlus, IconSend, IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Actions } from '../../parts/actions.tsx'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Names } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'
import { EditProvider } from './edit-provider.tsx'

export type Provider = Answer<'listDnsProviders'>['items'][number]

type Open = { readonly dialog: 'create' } | { readonly dialog: 'edit' | 'test' | 'delete'; readonly provider: Provider }

export function DnsProviders() {
  const [open, setOpen] = useState<Open>()
  const queryClient = useQueryClient()
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['dns-providers'] })
  const close = () => setOpen(undefined)
  return (
    <>
      <ListPage
        title={texts.publishing.dnsProviders}
        actions={
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'create' })}>
            {texts.publishing.addProvider}
          </Button>
        }
        queryKey={['dns-providers']}
        load={({ cursor, signal }) => call('listDnsProviders', { query: { cursor }, signal })}
        columns={columnsOf(setOpen)}
        idOf={({ name }) => name}
        onOpen={provider => setOpen({ dialog: 'edit', provider })}
        none={texts.publishing.noDnsProviders}
      />
      {open?.dialog === 'create' && <EditProvider onClose={close} onDone={refresh} />}
      {open?.dialog === 'edit' && <EditProvider provider={open.provider} onClose={close} onDone={refresh} />}
      {open?.dialog === 'test' && <TestProvider name={open.provider.name} onClose={close} />}
      {open?.dialog === 'delete' && (
        <ConfirmDeletion
          title={texts.publishing.deleteTitle(open.provider.name)}
          onConfirm={async () => {
            await call('deleteDnsProvider', { params: { name: open.provider.name } })
            await refresh()
          }}
          onClose={close}
        >
          <Text size="sm">{texts.publishing.deleteProviderText}</Text>
        </ConfirmDeletion>
      )}
    </>
  )
}

function columnsOf(setOpen: (open: Open) => void): Column<Provider>[] {
  return [
    { title: texts.common.name, render: ({ name }) => name, note: ({ comment = '' }) => comment },
    { title: texts.operate.type, render: ({ type }) => type },
    { title: texts.common.used, render: ({ usedBy }) => <Names names={usedBy} /> },
    { title: texts.common.updated, render: ({ updatedAt }) => formatDate(updatedAt) },
    {
      title: texts.common.actions,
      isActions: true,
      render: provider => (
        <Actions
          of={provider.name}
          actions={[
            { label: texts.events.test, icon: IconSend, onClick: () => setOpen({ dialog: 'test', provider }) },
            { label: texts.common.edit, icon: IconPencil, onClick: () => setOpen({ dialog: 'edit', provider }) },
            {
              label: texts.common.delete,
              icon: IconTrash,
              isDeletion: true,
              onClick: () => setOpen({ dialog: 'delete', provider }),
            },
          ]}
        />
      ),
    },
  ]
}

function TestProvider({ name, onClose }: { name: string; onClose: () => void }) {
  const form = useForm({ initialValues: { domain: '' } })
  const test = async () => {
    const { ok, record, step, error, durationMs } = await call('testDnsProvider', {
      params: { name },
      body: { domain: form.getValues().domain.trim() },
    })
    if (!ok) throw new Error(texts.publishing.testFailed(step, error))
    notifications.show({ color: 'teal', message: texts.publishing.testWorked(record, durationMs) })
  }
  return (
    <FormDialog
      title={name}
      submit={texts.events.test}
      // Nothing is lost with it.
      form={{ setErrors: form.setErrors, isDirty: () => false }}
      onSubmit={test}
      onClose={onClose}
    >
      <TextInput label={texts.publishing.domain} required data-autofocus {...form.getInputProps('domain')} />
    </FormDialog>
  )
}
