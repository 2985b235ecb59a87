/** Every drive with its state, what is rebuilt on it, and how it is replaced. */
import { Alert, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes, formatCount, formatDate } from '../../parts/format.ts'
import { type Column, ItemTable } from '../../parts/item-table.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { Section } from '../../parts/section.tsx'
import { texts } from '../../texts/index.ts'
import { type Drive, redundancyQuery, serverInfoQuery } from '../overview/queries.ts'
import { areFolders, isShared, type MayFail as MayFailFacts, mayFailOf } from './may-fail.ts'
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
  const drivesOf = (pool: number, set: number) =>
    drives.filter(({ poolIdx, setIdx }) => poolIdx === pool && setIdx === set)
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
            <MayFail
              pool={pool}
              set={set}
              redundancy={ofSet(pool.index, set.index)}
              isShared={isShared(drivesOf(pool.index, set.index))}
            />
            <Whole redundancy={ofSet(pool.index, set.index)} />
            <ItemTable
              label={`${texts.overview.pool(pool.index)}, ${texts.overview.set(set.index)}`}
              items={drivesOf(pool.index, set.index).sort((a, b) => a.diskIdx - b.diskIdx)}
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
          isShared={isShared(drivesOf(chosen.poolIdx, chosen.setIdx))}
          areFolders={areFolders(drivesOf(chosen.poolIdx, chosen.setIdx))}
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
      render: drive => drive.total > 0 && <Used drive={drive} />,
    },
    { title: words.free, isNumber: true, render: ({ total, free }) => total > 0 && formatBytes(free) },
    {
      title: words.progress,
      render: drive => <Rebuilt drive={drive} />,
      isKnown: ({ healingProgress }) => healingProgress !== undefined,
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: drive => (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={words.replace(drive.path)}
          onClick={() => onReplace(drive)}
        >
          {words.replaceThis}
        </Button>
      ),
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

/** What the file system keeps for itself nobody can use either: it is told apart, and counts as used. */
function Used({ drive: { total, used, free } }: { drive: Drive }) {
  const taken = total - free
  const label = words.usedOf(formatBytes(taken), formatBytes(total))
  const reserved = words.reserved(formatBytes(taken - used))
  const color = taken / total > 0.9 ? 'red' : 'cyan'
  return (
    <Stack gap={2} miw={120}>
      <Text size="sm">{label}</Text>
      <ProgressBar
        value={(used / total) * 100}
        size="sm"
        color={color}
        aria-label={label}
        {...(taken > used && { more: { value: ((taken - used) / total) * 100, label: reserved } })}
      />
      {taken > used && (
        <Text size="xs" c="dimmed">
          {reserved}
        </Text>
      )}
    </Stack>
  )
}

function MayFail(given: MayFailFacts) {
  const told = mayFailOf(given)
  if (told === undefined) return null
  return (
    <Text size="sm" {...(told.isGrave && { fw: 600 })}>
      {told.text}
    </Text>
  )
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
