/** Every drive with its state, what is rebuilt on it, and how it is replaced. */
import { Alert, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { IconReplace } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes, formatCount, formatDate } from '../../parts/format.ts'
import { type Column, ItemTable } from '../../parts/item-table.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { Section } from '../../parts/section.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { type Drive, redundancyQuery, serverInfoQuery } from '../overview/queries.ts'
import { progressOf, redundancyOf, Whole } from './rebuild.tsx'
import { ReplaceGuide } from './replace-guide.tsx'

const words = texts.drives

export function DrivesPage() {
  const { replace } = useSearch({ from: '/inside/drives' })
  const navigate = useNavigate()
  const { data, error, refetch } = useQuery(serverInfoQuery)
  // One drive alone has no redundancy to tell of.
  const { data: all } = useQuery({ ...redundancyQuery, enabled: data !== undefined && data.mode !== 'snsd' })
  const show = (path?: string) =>
    void navigate({ to: '/drives', search: path === undefined ? {} : { replace: path }, replace: true })
  const drives = data?.nodes.flatMap(node => node.disks) ?? []
  const shared = drives.filter(({ sharesFileSystem }) => sharesFileSystem).map(({ path }) => path)
  const chosen = drives.find(({ path }) => path === replace)
  const ofSet = (pool: number, set: number) => redundancyOf(all, pool, set)
  return (
    <Stack>
      <div>
        <Title order={1} size="h2">
          {words.title}
        </Title>
        <Text size="sm" c="dimmed">
          {words.hint}
        </Text>
      </div>
      {error !== null && data === undefined && <ProblemAlert error={error} onRetry={() => refetch()} />}
      {error === null && data === undefined && <Skeleton h={240} />}
      {shared.length > 0 && <Alert color="orange">{words.sharedFileSystem(shared.join(', '))}</Alert>}
      {all !== undefined && all.sets.length > 1 && !all.isFull && <Text>{words.ofAllSets(all.summary)}</Text>}
      {data?.pools.flatMap(pool =>
        pool.erasureSets.map(set => (
          <Section
            key={`${pool.index} ${set.index}`}
            title={`${texts.overview.pool(pool.index)}, ${texts.overview.setDrives(set.index, set.online, set.drives, set.healing)}`}
            {...(set.state !== 'ok' && { hint: texts.overview.setState(pool.index, set.index, set.state) })}
          >
            <Whole redundancy={ofSet(pool.index, set.index)} />
            <ItemTable
              label={`${texts.overview.pool(pool.index)}, ${texts.overview.set(set.index)}`}
              items={drives
                .filter(({ poolIdx, setIdx }) => poolIdx === pool.index && setIdx === set.index)
                .sort((a, b) => a.diskIdx - b.diskIdx)}
              columns={columnsOf(({ path }) => show(path))}
              idOf={({ endpoint }) => endpoint}
            />
          </Section>
        )),
      )}
      {data !== undefined && chosen !== undefined && (
        <ReplaceGuide
          drive={chosen}
          pool={data.pools.find(({ index }) => index === chosen.poolIdx)!}
          redundancy={ofSet(chosen.poolIdx, chosen.setIdx)}
          onClose={() => show()}
        />
      )}
    </Stack>
  )
}

function columnsOf(onReplace: (drive: Drive) => void): Column<Drive>[] {
  return [
    {
      title: words.path,
      render: ({ path, poolIdx, setIdx, diskIdx }) => (
        <Titled name={path} note={words.placeOf(poolIdx, setIdx, diskIdx)} />
      ),
    },
    { title: texts.common.state, render: drive => <DriveState drive={drive} /> },
    {
      title: words.used,
      // What the file system keeps for itself nobody can use either.
      render: ({ free, total }) => total > 0 && <Used used={total - free} total={total} />,
    },
    { title: words.free, isNumber: true, render: drive => drive.total > 0 && <Free drive={drive} /> },
    { title: words.progress, render: drive => <Rebuilt drive={drive} /> },
    {
      title: texts.common.actions,
      isActions: true,
      render: drive => <Tool label={words.replace(drive.path)} icon={IconReplace} onClick={() => onReplace(drive)} />,
    },
  ]
}

function DriveState({ drive: { state, error, healing } }: { drive: Drive }) {
  const isOnline = state === 'online'
  return (
    <Titled
      name={
        <Group gap={4}>
          <State text={words.states[state]} is={isOnline ? (error === '' ? 'good' : 'poor') : 'bad'} />
          {healing && <State text={words.rebuilding} is="poor" />}
        </Group>
      }
      note={error}
      isBad
    />
  )
}

function Used({ used, total }: { used: number; total: number }) {
  const label = words.usedOf(formatBytes(used), formatBytes(total))
  const full = (used / total) * 100
  return (
    <Stack gap={2} miw={120}>
      <Text size="sm">{label}</Text>
      <ProgressBar value={full} size="sm" color={full > 90 ? 'red' : 'cyan'} aria-label={label} />
    </Stack>
  )
}

/** Used, free and what the file system keeps for itself are the size of it. */
function Free({ drive: { total, used, free } }: { drive: Drive }) {
  const reserved = total - used - free
  return <Titled name={formatBytes(free)} note={reserved > 0 ? words.reserved(formatBytes(reserved)) : ''} />
}

function Rebuilt({ drive }: { drive: Drive }) {
  const { healingProgress } = drive
  if (healingProgress === undefined) return null
  const { started, objectsFailed, bucket, object } = healingProgress
  const notes = [
    words.since(formatDate(started)),
    ...(objectsFailed > 0 ? [words.failed(formatCount(objectsFailed))] : []),
    ...(bucket === '' ? [] : [words.last(bucket, object)]),
  ]
  return <Titled name={progressOf(drive)} note={notes.join(', ')} />
}
