import { Button, NativeSelect, SimpleGrid, Text, TextInput, type TextInputProps } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import { call, withoutEmpty } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { choicesOf } from '../../parts/choices.ts'
import { notifyFailure } from '../../parts/failure.tsx'
import { countSet, Filters } from '../../parts/filters.tsx'
import { formatMoment } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Name } from '../../parts/name.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { saveAs } from '../../parts/save-as.ts'
import { texts } from '../../texts/index.ts'
import { AuditEntry } from './audit-entry.tsx'

const words = texts.operate

type Entry = Answer<'searchAudit'>['items'][number]

/** An export has so many records at most; svcctl has all. */
const exportedMax = 10_000
/** Of the objects that one request deleted; the export has more. */
const keysShown = 5

/** Records to show. By default reads are left out, because the console itself reads all the time. */
const queriesOf = { changes: { changes: true }, errors: { errors: true }, all: {} } as const

const nothing = { user: '', action: '', bucket: '', requestId: '', since: '', until: '' }

export function Audit() {
  const [shown, setShown] = useState<keyof typeof queriesOf>('changes')
  const [given, setGiven] = useState(nothing)
  const [opened, setOpened] = useState<Entry>()
  const [{ since, until, ...fields }] = useDebouncedValue(given, 300)
  const query = {
    ...withoutEmpty({ ...fields, since: timeOf(since), until: timeOf(until) }),
    ...queriesOf[shown],
  }
  const field = (name: keyof typeof nothing, label: string, more: TextInputProps = {}) => (
    <TextInput
      label={label}
      value={given[name]}
      onChange={event => setGiven({ ...given, [name]: event.currentTarget.value.trim() })}
      {...more}
    />
  )
  const list = (
    <ListPage
      title={words.audit}
      actions={
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          onClick={() => exportRecords(query).catch(notifyFailure)}
        >
          {words.export}
        </Button>
      }
      head={
        <>
          <Text size="sm" c="dimmed">
            {words.auditHint}
          </Text>
          <Filters set={countSet(shown !== 'changes', ...Object.values(given))}>
            <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
              <NativeSelect
                label={words.shown}
                data={choicesOf(words.auditShown)}
                value={shown}
                onChange={event => setShown(event.currentTarget.value as keyof typeof queriesOf)}
              />
              {field('since', words.from, { type: 'datetime-local' })}
              {field('until', words.until, {
                type: 'datetime-local',
                error: isReversed(given) && words.untilBeforeFrom,
              })}
              {field('user', words.user)}
              {field('action', words.operation, { placeholder: words.operationExample })}
              {field('bucket', words.bucket)}
              {field('requestId', words.requestId)}
            </SimpleGrid>
          </Filters>
        </>
      }
      queryKey={['audit', query]}
      load={({ cursor, signal }) => call('searchAudit', { query: { ...query, cursor, limit: 100 }, signal })}
      columns={columns}
      idOf={({ requestId, time }) => `${requestId} ${time}`}
      none={words.noRecords}
      isDense
      onOpen={setOpened}
    />
  )
  return (
    <>
      {list}
      <AuditEntry entry={opened} onClose={() => setOpened(undefined)} />
    </>
  )
}

const isReversed = ({ since, until }: typeof nothing): boolean => since !== '' && until !== '' && until < since

/** Converts the local time of the field; empty if there is none, or if it is no valid date. */
function timeOf(local: string): string {
  const time = new Date(local)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
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
  { title: words.time, render: entry => <span className="one-line">{formatMoment(entry.event_time)}</span> },
  { title: words.operation, place: 'name', render: ({ api }) => api },
  {
    title: words.on,
    place: 'across',
    // Of what is in no bucket the path says which it is.
    render: ({ bucket = '', object = '', path, tags }) => (
      <Titled
        name={
          <span className="long-path">
            <Name>{bucket === '' ? path : object === '' ? bucket : `${bucket}/${object}`}</Name>
          </span>
        }
        note={objectsOf(tags as Readonly<Record<string, string | undefined>>)}
      />
    ),
  },
  {
    title: words.user,
    render: ({ identity }) => (
      <span className="short-name">
        <Name>{identity.user || identity.accessKey || words.anonymous}</Name>
      </span>
    ),
  },
  { title: words.client, render: ({ clientIp }) => clientIp },
  {
    title: words.status,
    place: 'beside',
    render: ({ status, errorCode, tags }) => (
      <Titled
        name={
          <State
            text={errorCode === undefined ? String(status) : `${status} ${errorCode}`}
            is={status >= 500 ? 'bad' : status >= 400 ? 'poor' : 'good'}
          />
        }
        note={refusalOf(tags)}
      />
    ),
  },
]

/** Objects beside the one that a record has room for; empty where there are none. */
function objectsOf({ deleted, deletedCount, source }: Readonly<Record<string, string | undefined>>): string {
  if (source !== undefined) return words.copiedFrom(source)
  if (deleted === undefined) return ''
  const keys: readonly string[] = JSON.parse(deleted)
  return words.deletedObjects(keys.slice(0, keysShown).join(', '), Number(deletedCount), keysShown)
}

/** Which rule and which part of the policies refused it; empty where nothing did. */
function refusalOf(tags: Entry['tags']): string {
  const { deniedBy, accessRule } = tags as Readonly<Record<string, string | undefined>>
  const by = [accessRule, deniedBy].filter(one => one !== undefined && one !== '')
  return by.length === 0 ? '' : words.decidedBy(by.join(', '))
}
