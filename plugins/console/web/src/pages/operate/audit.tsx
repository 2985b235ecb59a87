import { Button, Checkbox, Group, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import { call, withoutEmpty } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { type Column, ListPage } from '../../parts/list-page.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { saveAs } from '../../parts/save-as.ts'
import { texts } from '../../texts/index.ts'

type Entry = Answer<'searchAudit'>['items'][number]

/** An export has so many records at most; svcctl has all. */
const exportedMax = 10_000

export function Audit() {
  const [given, setGiven] = useState({ user: '', action: '', bucket: '', errors: false })
  const [filter] = useDebouncedValue(given, 300)
  const { errors, ...fields } = filter
  const query = { ...withoutEmpty(fields), ...(errors && { errors }) }
  const field = (name: 'user' | 'action' | 'bucket', label: string) => (
    <TextInput
      label={label}
      value={given[name]}
      onChange={event => setGiven({ ...given, [name]: event.currentTarget.value.trim() })}
    />
  )
  return (
    <ListPage
      title={texts.operate.audit}
      actions={
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          onClick={() => exportRecords(query).catch(notifyFailure)}
        >
          {texts.operate.export}
        </Button>
      }
      head={
        <Group align="flex-end">
          {field('user', texts.operate.user)}
          {field('action', texts.operate.operation)}
          {field('bucket', texts.operate.bucket)}
          <Checkbox
            label={texts.operate.onlyErrors}
            checked={given.errors}
            onChange={event => setGiven({ ...given, errors: event.currentTarget.checked })}
            mb={8}
          />
        </Group>
      }
      queryKey={['audit', query]}
      load={({ cursor, signal }) => call('searchAudit', { query: { ...query, cursor, limit: 100 }, signal })}
      columns={columns}
      idOf={({ requestId, time }) => `${requestId} ${time}`}
      none={texts.operate.noRecords}
    />
  )
}

async function exportRecords(query: object): Promise<void> {
  const lines: string[] = []
  let cursor = ''
  do {
    const page = await call('searchAudit', { query: { ...query, cursor, limit: 1000 } })
    lines.push(...page.items.map(item => JSON.stringify(item)))
    cursor = page.nextCursor
  } while (cursor !== '' && lines.length < exportedMax)
  saveAs('audit.ndjson', `${lines.join('\n')}\n`, 'application/x-ndjson')
}

const columns: Column<Entry>[] = [
  { title: texts.operate.time, render: entry => formatDate(entry.event_time) },
  { title: texts.operate.operation, render: ({ api }) => api },
  {
    title: texts.operate.bucket,
    render: ({ bucket = '', object = '' }) => (object === '' ? bucket : `${bucket}/${object}`),
  },
  {
    title: texts.operate.user,
    render: ({ identity }) => identity.user || identity.accessKey || texts.operate.anonymous,
  },
  { title: texts.operate.client, render: ({ clientIp }) => clientIp },
  {
    title: texts.operate.status,
    render: ({ status, errorCode }) => (
      <State
        text={errorCode === undefined ? String(status) : `${status} ${errorCode}`}
        is={status >= 500 ? 'bad' : status >= 400 ? 'poor' : 'good'}
      />
    ),
  },
  {
    title: texts.operate.decidedBy,
    render: ({ tags }) => {
      const { deniedBy = '', accessRule = '' } = tags as Readonly<Record<string, string>>
      return accessRule === '' ? deniedBy : <Titled name={accessRule} note={deniedBy} />
    },
  },
]
