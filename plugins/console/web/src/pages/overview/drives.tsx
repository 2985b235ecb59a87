/** Pools, sets and drives as a picture: a box for each drive with its name, filled as the drive is, which leads to it; of one that has failed, to its replacement. */
import { Group, Paper, Stack, Text, Title, Tooltip } from '@mantine/core'
import { IconDatabase, IconDatabaseOff, IconRefresh } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { formatBytes } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import { namesOfDrives } from './drive-names.ts'
import { type Drive, serverInfoQuery } from './queries.ts'

export function Drives() {
  const { data } = useQuery(serverInfoQuery)
  if (data === undefined) return null
  const drives = data.nodes.flatMap(node => node.disks)
  const names = namesOfDrives(drives)
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Title order={2} size="h4">
          {texts.overview.drives}
        </Title>
        {data.pools.map(pool => (
          <Stack key={pool.index} gap={4}>
            {data.pools.length > 1 && <Text size="sm">{texts.overview.pool(pool.index)}</Text>}
            {pool.erasureSets.map(set => (
              <Group key={set.index} gap="xs" role="group" aria-label={texts.overview.set(set.index)}>
                {drives
                  .filter(({ poolIdx, setIdx }) => poolIdx === pool.index && setIdx === set.index)
                  .sort((a, b) => a.diskIdx - b.diskIdx)
                  .map(drive => (
                    <DriveBox key={drive.endpoint} drive={drive} name={names.get(drive.path)!} />
                  ))}
                <Text size="sm" {...(set.online < set.drives ? { c: 'red', fw: 600 } : { c: 'dimmed' })}>
                  {texts.overview.setDrives(set.index, set.online, set.drives, set.healing)}
                </Text>
              </Group>
            ))}
          </Stack>
        ))}
      </Stack>
    </Paper>
  )
}

function DriveBox({ drive, name }: { drive: Drive; name: string }) {
  const { path, state, error, healing, total, free } = drive
  const isOnline = state === 'online'
  const description = isOnline
    ? `${path}: ${healing ? texts.overview.healing(path) : texts.overview.driveFree(formatBytes(free), formatBytes(total))}`
    : texts.overview.driveLost(path, state, error)
  const Icon = isOnline ? (healing ? IconRefresh : IconDatabase) : IconDatabaseOff
  const full = total > 0 ? Math.round(((total - free) / total) * 100) : 0
  return (
    <Tooltip label={description} multiline maw={360}>
      <Text
        component={Link}
        to="/drives"
        className="drive"
        c={isOnline ? (healing ? 'orange' : 'teal') : 'red'}
        aria-label={description}
        {...(!(isOnline && !healing) && ({ search: { replace: path } } as object))}
      >
        <div className="drive-slot">
          <div className="drive-fill" style={{ height: `${full}%` }} />
          <Icon size={20} aria-hidden />
        </div>
        <div className="drive-name">
          <bdi>{name}</bdi>
        </div>
      </Text>
    </Tooltip>
  )
}
