import { Button, Checkbox, Stack, Text, TextInput } from '@mantine/core'
import { IconPlayerStop, IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { notifyFailure } from '../../parts/failure.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatCount, formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { redundancyQuery, serverInfoQuery } from '../overview/queries.ts'
import { HealJob, type Job, jobsMs, modeOf, scopeOf } from './heal-job.tsx'

export function Healing() {
  const queryClient = useQueryClient()
  const [isStarting, setStarting] = useState(false)
  const [opened, setOpened] = useState<Job>()
  const info = useQuery({ ...serverInfoQuery, enabled: useMay('admin:ServerInfo') })
  const isSingle = info.data?.mode === 'snsd'
  // What a job has found or healed is told when it ends.
  const redundancy = useQuery({
    ...redundancyQuery,
    enabled: info.data !== undefined && !isSingle,
    refetchInterval: jobsMs,
  })
  const cancel = async ({ id }: Job) => {
    await call('cancelHealJob', { params: { id } }).catch(notifyFailure)
    await queryClient.invalidateQueries({ queryKey: ['heal'] })
  }
  return (
    <>
      <ListPage
        title={texts.operate.healing}
        actions={
          !isSingle && (
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setStarting(true)}>
              {texts.operate.startHeal}
            </Button>
          )
        }
        head={redundancy.data !== undefined && <Redundancy ledger={redundancy.data} />}
        queryKey={['heal']}
        refetchInterval={jobsMs}
        load={({ cursor, signal }) => call('listHealJobs', { query: { cursor }, signal })}
        columns={columnsOf(cancel)}
        idOf={({ id }) => id}
        onOpen={setOpened}
        none={isSingle ? texts.operate.nothingToHeal : texts.operate.noJobs}
      />
      <HealJob job={opened} onClose={() => setOpened(undefined)} />
      {isStarting && <StartHeal onClose={() => setStarting(false)} />}
    </>
  )
}

function Redundancy({ ledger }: { ledger: Answer<'getRedundancy'> }) {
  const { summary, records, belowRecords, isFull, failingRecords } = ledger
  const whole = records === 0 ? 100 : ((records - belowRecords) / records) * 100
  return (
    <Stack gap={4}>
      <Text>{summary}</Text>
      <ProgressBar value={whole} color={isFull ? 'teal' : 'orange'} aria-label={summary} />
      {failingRecords > 0 && (
        <Text size="sm" c="dimmed">
          {texts.operate.findLost}
        </Text>
      )}
    </Stack>
  )
}

const states = { running: 'neutral', completed: 'good', failed: 'bad', canceled: 'neutral' } as const

function columnsOf(onCancel: (job: Job) => void): Column<Job>[] {
  return [
    {
      title: texts.operate.scope,
      render: scopeOf,
    },
    { title: texts.operate.mode, render: modeOf },
    {
      title: texts.common.state,
      render: ({ state, error, drives }) => {
        const offline = drives.reduce((sum, drive) => sum + drive.offline, 0)
        if (state === 'completed' && offline > 0) return <State text={texts.operate.offlineShards(offline)} is="poor" />
        return <State text={error === '' ? state : `${state}: ${error}`} is={states[state]} />
      },
    },
    { title: texts.operate.scanned, isNumber: true, render: ({ scanned }) => formatCount(scanned) },
    { title: texts.operate.damaged, isNumber: true, render: ({ damaged }) => formatCount(damaged) },
    { title: texts.operate.healed, isNumber: true, render: ({ healed }) => formatCount(healed) },
    { title: texts.operate.failed, isNumber: true, render: ({ failed }) => formatCount(failed) },
    { title: texts.operate.started, render: ({ startedAt }) => formatDate(startedAt) },
    {
      title: texts.common.actions,
      isActions: true,
      render: job =>
        !job.finished && <Tool label={texts.common.cancel} icon={IconPlayerStop} onClick={() => onCancel(job)} />,
    },
  ]
}

function StartHeal({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient()
  const form = useForm({
    initialValues: { bucket: '', prefix: '', deep: false, dryRun: false },
    related: [['bucket', 'prefix']],
  })
  const start = async () => {
    const { bucket: typed, prefix, deep, dryRun } = form.values
    const bucket = typed.trim()
    const scope = { ...(bucket !== '' && { bucket }), ...(prefix !== '' && { prefix }) }
    await call('startHeal', { body: { ...scope, recursive: true, deep, dryRun } })
    await queryClient.invalidateQueries({ queryKey: ['heal'] })
  }
  return (
    <FormDialog
      form={form}
      title={texts.operate.startHeal}
      submit={texts.operate.start}
      onSubmit={start}
      onClose={onClose}
    >
      <TextInput
        label={texts.operate.bucket}
        description={texts.operate.bucketHint}
        {...form.getInputProps('bucket')}
      />
      <TextInput label={texts.operate.prefix} {...form.getInputProps('prefix')} />
      <Checkbox
        label={texts.operate.deep}
        description={texts.operate.deepHint}
        {...form.getInputProps('deep', { type: 'checkbox' })}
      />
      <Checkbox label={texts.operate.dryRun} {...form.getInputProps('dryRun', { type: 'checkbox' })} />
    </FormDialog>
  )
}
