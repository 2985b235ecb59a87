import { Alert, Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconAlertTriangle, IconCheck, IconPlayerStop, IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
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
import { replacingTexts } from '../../texts/replacing.ts'
import { healthOf } from '../overview/health.ts'
import { type Drive, redundancyQuery, serverInfoQuery } from '../overview/queries.ts'
import { HealJob, type Job, jobsMs, modeOf, scopeOf } from './heal-job.tsx'

export function Healing() {
  const queryClient = useQueryClient()
  const [isStarting, setStarting] = useState(false)
  const [opened, setOpened] = useState<Job>()
  const info = useQuery({ ...serverInfoQuery, enabled: useMay('admin:ServerInfo') })
  const isSingle = info.data?.mode === 'snsd'
  const lost = info.data?.nodes.flatMap(({ disks }) => disks.filter(({ state }) => state !== 'online')) ?? []
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
            <Button
              // No job brings a drive back.
              variant={lost.length > 0 ? 'default' : 'filled'}
              leftSection={<IconPlus size={16} aria-hidden />}
              onClick={() => setStarting(true)}
            >
              {texts.operate.startHeal}
            </Button>
          )
        }
        head={
          (redundancy.data !== undefined || lost.length > 0) && (
            <Redundancy
              ledger={redundancy.data}
              lost={lost}
              {...(info.data && lost.length > 0 && { safety: healthOf(info.data, redundancy.data, true).text })}
            />
          )
        }
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

interface RedundancyProps {
  /** Undefined as long as the server has not told: counting may take long, and what a drive that failed needs is known before. */
  readonly ledger: Answer<'getRedundancy'> | undefined
  /** Drives that are to be brought back or replaced before anything can be rebuilt on them. */
  readonly lost: readonly Drive[]
  /** In the words of the overview, where drives are lost: whether what is stored can be read. */
  readonly safety?: string
}

function Redundancy({ ledger, lost, safety }: RedundancyProps) {
  const { records = 0, belowRecords = 0, failingRecords = 0, lostRecords = 0 } = ledger ?? {}
  const isFull = ledger?.isFull === true
  const summary = ledger?.summary ?? lost.map(({ path, state }) => texts.overview.driveLost(path, state, '')).join(', ')
  const isAtRisk = lost.length > 0 || failingRecords > 0 || lostRecords > 0
  const color = isFull ? 'teal' : isAtRisk ? 'red' : 'orange'
  const label = texts.operate.complete(records - belowRecords, records)
  const Icon = isFull ? IconCheck : IconAlertTriangle
  return (
    <Alert color={color} icon={<Icon aria-hidden />} role={isFull ? 'status' : 'alert'}>
      <Stack gap="xs">
        {safety !== undefined && (
          <Text size="sm" fw={600}>
            {safety}
          </Text>
        )}
        <Text size="sm" {...(!isFull && safety === undefined && { fw: 600 })}>
          {summary}
        </Text>
        {/* Of damage that only a job has found the numbers do not tell yet. */}
        {records > 0 && isFull === (belowRecords === 0) && (
          <Stack gap={4}>
            <Text size="sm">{label}</Text>
            <ProgressBar value={((records - belowRecords) / records) * 100} color={color} aria-label={label} />
            <Text size="sm">{replacingTexts.notCounted}</Text>
          </Stack>
        )}
        {failingRecords > 0 && <Text size="sm">{texts.operate.findLost}</Text>}
        {lost.length > 0 && (
          <Group gap="xs">
            {lost.map(({ endpoint, path }) => (
              <Button
                key={endpoint}
                component={Link}
                to="/drives"
                {...({ search: { replace: path } } as object)}
                variant="default"
                size="sm"
                h="auto"
                py={6}
                styles={{ label: { whiteSpace: 'normal', overflowWrap: 'anywhere', lineHeight: 1.4 } }}
              >
                {texts.drives.replace(path)}
              </Button>
            ))}
          </Group>
        )}
      </Stack>
    </Alert>
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
    { title: texts.operate.lost, isNumber: true, render: ({ dangling }) => formatCount(dangling) },
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
