import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { TraceLine } from '../../../../../trace/api.ts'
import { countSet } from '../../parts/filters.tsx'
import { formatBytes, formatSeconds, formatTime } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { State } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'
import { LivePage } from './live-page.tsx'

/** As `errors` of the stream: this status and those above. */
const statusOfErrors = 400

export function Trace() {
  const [type, setType] = useState('')
  const [bucket, setBucket] = useState('')
  const [asked] = useDebouncedValue(bucket.trim(), 300)
  const [errors, setErrors] = useState(false)
  return (
    <LivePage
      title={texts.operate.trace}
      operation="streamTrace"
      event="trace"
      query={{ bucket: asked }}
      narrowing={{ type, ...(errors && { errors }) }}
      shows={line => (type === '' || line.type === type) && (!errors || line.status >= statusOfErrors)}
      filtersSet={countSet(type, bucket, errors)}
      none={texts.operate.noTraceLines}
      filters={
        <>
          <NativeSelect
            label={texts.operate.type}
            data={[{ value: '', label: texts.operate.all }, 's3', 'admin', 'web']}
            value={type}
            onChange={event => setType(event.currentTarget.value)}
          />
          <TextInput
            label={texts.operate.bucket}
            value={bucket}
            onChange={event => setBucket(event.currentTarget.value)}
          />
          <Checkbox
            label={texts.operate.onlyErrors}
            checked={errors}
            onChange={event => setErrors(event.currentTarget.checked)}
            mb={8}
          />
        </>
      }
      columns={columns}
    />
  )
}

const columns: Column<TraceLine>[] = [
  { title: texts.operate.time, render: ({ time }) => formatTime(time) },
  {
    title: texts.operate.status,
    place: 'beside',
    render: ({ status, error }) => (
      <State
        text={error === undefined ? String(status) : `${status} ${error}`}
        is={status >= 500 ? 'bad' : status >= 400 ? 'poor' : 'good'}
      />
    ),
  },
  { title: texts.operate.operation, place: 'name', render: ({ operation }) => operation },
  {
    title: texts.operate.request,
    place: 'across',
    render: ({ method, path }) => <div className="long-path">{`${method} ${path}`}</div>,
  },
  { title: texts.operate.duration, isNumber: true, render: ({ durationMs }) => formatSeconds(durationMs / 1000) },
  {
    title: texts.operate.bytes,
    isNumber: true,
    render: ({ bytesReceived, bytesSent }) => `${formatBytes(bytesReceived)} / ${formatBytes(bytesSent)}`,
  },
  { title: texts.operate.user, render: ({ user }) => user },
  { title: texts.operate.client, render: ({ client }) => client },
]
