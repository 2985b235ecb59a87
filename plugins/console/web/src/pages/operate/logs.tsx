import { NativeSelect, Switch, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { LogLine } from '../../../../../logs/api.ts'
import { countSet } from '../../parts/filters.tsx'
import { formatTime } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'
import { LivePage } from './live-page.tsx'
import { messageOf } from './log-message.ts'

/** As many as the page keeps. */
const linesFirst = 500

export function Logs() {
  const [level, setLevel] = useState('')
  const [component, setComponent] = useState('')
  const [hasAudit, setAudit] = useState(false)
  const [asked] = useDebouncedValue(component.trim(), 300)
  return (
    <LivePage
      title={texts.operate.logs}
      operation="streamLogs"
      event="log"
      query={{ level, component: asked, last: linesFirst, audit: hasAudit || asked === 'audit' }}
      filtersSet={countSet(level, component, hasAudit)}
      none={texts.operate.noLogLines}
      filters={
        <>
          <NativeSelect
            label={texts.operate.level}
            data={[{ value: '', label: texts.operate.all }, 'debug', 'info', 'warn', 'error']}
            value={level}
            onChange={event => setLevel(event.currentTarget.value)}
          />
          <TextInput
            label={texts.operate.component}
            value={component}
            onChange={event => setComponent(event.currentTarget.value)}
          />
          <Switch
            label={texts.operate.showAudit}
            checked={hasAudit}
            onChange={event => setAudit(event.currentTarget.checked)}
            mb={8}
          />
        </>
      }
      columns={columns}
    />
  )
}

const colours: Record<string, 'bad' | 'poor' | 'neutral'> = { error: 'bad', fatal: 'bad', warn: 'poor' }

const columns: Column<LogLine>[] = [
  { title: texts.operate.time, place: 'beside', render: ({ time }) => formatTime(time) },
  {
    title: texts.operate.level,
    place: 'name',
    render: ({ level }) => <State text={level} is={colours[level] ?? 'neutral'} />,
  },
  { title: texts.operate.component, place: 'name', render: ({ component }) => component },
  {
    title: texts.operate.message,
    place: 'across',
    render: ({ msg, error, ...line }) => <Titled name={messageOf(msg, error)} note={detailsOf(line)} />,
  },
]

const detailsLengthMax = 200
/** The page shows these in columns of their own, or they are the same in each line. */
const ownColumns = new Set(['id', 'time', 'node', 'level', 'component', 'pid', 'hostname', 'stack'])

/** The other fields of the line as `name=value`; the fields of an object follow its name. */
function detailsOf(line: Readonly<Record<string, unknown>>): string {
  const text = Object.entries(line)
    .filter(([name]) => !ownColumns.has(name))
    .flatMap(([name, value]): [string, unknown][] =>
      isObject(value) ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one]) : [[name, value]],
    )
    .filter(([, value]) => value !== undefined && value !== null && value !== '' && !isObject(value))
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
  return text.length > detailsLengthMax ? `${text.slice(0, detailsLengthMax)}…` : text
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
