import { TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconSend } from '@tabler/icons-react'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatDate } from '../../parts/format.ts'
import { type Column, ListPage } from '../../parts/list-page.tsx'
import { Names } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

type Provider = Answer<'listDnsProviders'>['items'][number]

export function DnsProviders() {
  const [tested, setTested] = useState<Provider>()
  return (
    <>
      <ListPage
        title={texts.publishing.dnsProviders}
        queryKey={['dns-providers']}
        load={({ cursor, signal }) => call('listDnsProviders', { query: { cursor }, signal })}
        columns={columnsOf(setTested)}
        idOf={({ name }) => name}
        none={texts.publishing.noDnsProviders}
      />
      {tested !== undefined && <TestProvider name={tested.name} onClose={() => setTested(undefined)} />}
    </>
  )
}

function columnsOf(onTest: (provider: Provider) => void): Column<Provider>[] {
  return [
    { title: texts.common.name, render: ({ name }) => name },
    { title: texts.operate.type, render: ({ type }) => type },
    { title: texts.common.used, render: ({ usedBy }) => <Names names={usedBy} /> },
    { title: texts.common.updated, render: ({ updatedAt }) => formatDate(updatedAt) },
    {
      title: texts.common.actions,
      isActions: true,
      render: provider => (
        <Tool label={`${texts.events.test} ${provider.name}`} icon={IconSend} onClick={() => onTest(provider)} />
      ),
    },
  ]
}

function TestProvider({ name, onClose }: { name: string; onClose: () => void }) {
  const [domain, setDomain] = useState('')
  const test = async () => {
    const { ok, record, step, error, durationMs } = await call('testDnsProvider', {
      params: { name },
      body: { domain: domain.trim() },
    })
    if (!ok) throw new Error(texts.publishing.testFailed(step, error))
    notifications.show({ color: 'teal', message: texts.publishing.testWorked(record, durationMs) })
  }
  return (
    <FormDialog title={name} submit={texts.events.test} onSubmit={test} onClose={onClose}>
      <TextInput
        label={texts.publishing.domain}
        required
        data-autofocus
        value={domain}
        onChange={event => setDomain(event.currentTarget.value)}
      />
    </FormDialog>
  )
}
