/** One heal job: what it was asked for, and the records that it left damaged or lost. */
import { Drawer, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Copyable } from '../../parts/copyable.tsx'
import { Facts } from '../../parts/facts.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatCount, formatDate } from '../../parts/format.ts'
import { inShell } from '../../parts/in-shell.ts'
import { type Column, ItemTable } from '../../parts/item-table.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.operate

export type Job = Answer<'listHealJobs'>['items'][number]
type Item = Job['items'][number]

export const jobsMs = 2000
const itemsShown = 50

/** Without `recursive` a job does not go below the buckets, or below the folder. */
export function scopeOf({ request: { bucket = '', prefix = '', recursive = false } }: Job): string {
  if (bucket === '') return recursive ? words.everything : words.bucketsAlone
  return recursive ? `${bucket}/${prefix}` : words.notBelow(`${bucket}/${prefix}`)
}

export const modeOf = ({ request: { deep = false, dryRun = false } }: Job): string =>
  [deep ? words.everyByte : words.byRecords, ...(dryRun ? [words.onlyLooked] : [])].join(', ')

/** `job`: undefined while none is open: a panel that stays gives the focus back when it closes. */
export function HealJob({ job, onClose }: { readonly job: Job | undefined; readonly onClose: () => void }) {
  return (
    <Drawer
      opened={job !== undefined}
      onClose={onClose}
      position="right"
      size="xl"
      title={job && words.jobTitle(scopeOf(job))}
      styles={{ title: { overflowWrap: 'anywhere' } }}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      {job !== undefined && <Opened listed={job} />}
    </Drawer>
  )
}

function Opened({ listed }: { listed: Job }) {
  const { data, error } = useQuery({
    queryKey: ['heal-job', listed.id],
    queryFn: ({ signal }) => call('getHealJob', { params: { id: listed.id }, signal }),
    initialData: listed,
    refetchInterval: ({ state }) => state.data?.finished !== true && jobsMs,
  })
  const left = data.items.filter(({ healed }) => !healed)
  return (
    <Stack>
      {error !== null && <ProblemAlert error={error} isStale />}
      <Facts
        facts={[
          [texts.common.state, data.error === '' ? data.state : `${data.state}: ${data.error}`],
          [words.mode, modeOf(data)],
          [words.started, formatDate(data.startedAt)],
          [words.ended, data.finishedAt && formatDate(data.finishedAt)],
          [words.scanned, formatCount(data.scanned)],
          [words.damaged, formatCount(data.damaged)],
          [words.healed, formatCount(data.healed)],
          [words.failed, formatCount(data.failed)],
          [words.lost, formatCount(data.dangling)],
        ]}
      />
      <Title order={3} size="h5">
        {data.request.dryRun === true ? words.foundDamaged : words.notHealed}
      </Title>
      {left.length === 0 ? (
        <Text c="dimmed">{data.finished ? words.noneLeft : words.noneLeftYet}</Text>
      ) : (
        <ItemTable
          label={words.notHealed}
          // Of damage that can be healed there may be much: what is lost is not to be looked for behind it.
          items={[...left].sort((a, b) => Number(b.dangling) - Number(a.dangling)).slice(0, itemsShown)}
          columns={columnsOf(data)}
          idOf={({ kind, bucket, object, versionId = '' }) => JSON.stringify([kind, bucket, object, versionId])}
          minWidth={480}
          isDense
        />
      )}
      {left.some(({ kind, dangling, removed }) => kind === 'object' && dangling && !removed) && (
        <>
          <Text size="sm">{words.lostAdvice}</Text>
          <Copyable label={words.deleteLost} text={removalOf(data)} />
        </>
      )}
      {left.length > itemsShown && <Text size="sm">{words.moreItems(left.length - itemsShown)}</Text>}
      {data.itemsTruncated && <Text size="sm">{words.itemsTruncated(data.items.length)}</Text>}
    </Stack>
  )
}

/** Of what it has looked at alone. */
const removalOf = ({ request: { bucket, prefix = '' } }: Job): string =>
  [
    'svcctl admin heal start ALIAS',
    ...(bucket === undefined ? [] : [`--bucket ${bucket}`]),
    ...(prefix === '' ? [] : [`--prefix ${inShell(prefix)}`]),
    '--recursive --deep --remove --wait',
  ].join(' ')

function columnsOf({ request: { dryRun } }: Job): Column<Item>[] {
  return [
    {
      title: words.item,
      place: 'name',
      render: ({ kind, bucket, object, versionId = 'null' }) => (
        <Titled
          name={kind === 'object' ? `${bucket}/${object}` : kind === 'bucket' ? bucket : words.itemKinds[kind]}
          note={versionId === 'null' ? '' : words.version(versionId)}
        />
      ),
    },
    {
      title: texts.common.state,
      place: 'beside',
      render: ({ dangling, removed, error }) => (
        <Titled
          name={
            removed ? (
              <State text={words.itemStates.removed} is="bad" />
            ) : dangling ? (
              <State text={words.itemStates.lost} is="bad" />
            ) : (
              <State text={dryRun === true ? words.itemStates.damaged : words.itemStates.notHealed} is="poor" />
            )
          }
          note={error}
        />
      ),
    },
    {
      title: words.shards,
      render: ({ drives }) => (
        <span style={{ overflowWrap: 'anywhere' }}>
          {drives
            .filter(({ after }) => after !== 'ok')
            .map(({ endpoint, after }) => words.shardOn(endpoint, after))
            .join(', ')}
        </span>
      ),
    },
  ]
}
