/** Every version of one object, the newest first. */
import { Anchor, Group, Skeleton, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { ListedVersion } from '../../api/operations.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { breakable, formatBytes, formatExactMoment, formatMoment } from '../../parts/format.ts'
import { useLongList } from '../../parts/long-list.tsx'
import { State } from '../../parts/names.tsx'
import { useRights } from '../../parts/rights.ts'
import { texts } from '../../texts/index.ts'
import { DeleteVersion } from './change-versions.tsx'
import { VersionTools } from './version-tools.tsx'

/** Versions per request. */
const pageSize = 100

export interface VersionsProps {
  readonly bucket: string
  readonly objectKey: string
  readonly onShow: (versionId: string) => void
  readonly onDeleted: () => Promise<void>
}

export function Versions({ bucket, objectKey, onShow, onDeleted }: VersionsProps) {
  const list = useLongList({
    queryKey: ['object', bucket, objectKey, 'versions'],
    load: (cursor, signal) =>
      call('listObjectVersions', { params: { bucket }, query: { key: objectKey, cursor, limit: pageSize }, signal }),
  })
  const [deleted, setDeleted] = useState<ListedVersion>()
  const failure = list.error !== null && (
    <ProblemAlert error={list.error} onRetry={() => list.refetch()} isStale={list.isStale} />
  )
  if (list.data === undefined) return failure || <Skeleton h={160} />
  return (
    <Stack>
      {failure}
      {list.toPrevious}
      <Table aria-label={texts.objects.tabs.versions} horizontalSpacing={4}>
        <Table.Tbody>
          {list.items.map((version, index) => (
            <Row
              key={version.versionId}
              bucket={bucket}
              version={version}
              name={nameOf(version, [list.items[index - 1], list.items[index + 1]])}
              onShow={onShow}
              onDelete={setDeleted}
            />
          ))}
        </Table.Tbody>
      </Table>
      {list.toNext}
      {deleted !== undefined && (
        <DeleteVersion bucket={bucket} version={deleted} onClose={() => setDeleted(undefined)} onDeleted={onDeleted} />
      )}
    </Stack>
  )
}

/** Its date, as exactly as the versions beside it ask for, and with the end of its id where that does not tell them apart. */
function nameOf({ lastModified, versionId }: ListedVersion, others: readonly (ListedVersion | undefined)[]): string {
  const isShared = (format: (date: string) => string) =>
    others.some(other => other !== undefined && format(other.lastModified) === format(lastModified))
  if (!isShared(formatMoment)) return formatMoment(lastModified)
  const exact = formatExactMoment(lastModified)
  return isShared(formatExactMoment) ? `${exact} (…${versionId.slice(-6)})` : exact
}

interface RowProps {
  readonly bucket: string
  readonly version: ListedVersion
  readonly name: string
  readonly onShow: (versionId: string) => void
  readonly onDelete: (version: ListedVersion) => void
}

function Row({ bucket, version, name, onShow, onDelete }: RowProps) {
  const { key, versionId, isDeleteMarker, isLatest, size } = version
  const rights = useRights(bucket, key)
  return (
    <Table.Tr>
      <Table.Td>
        {isDeleteMarker ? (
          breakable(name)
        ) : (
          <Anchor
            component="button"
            type="button"
            ta="left"
            size="sm"
            aria-label={texts.objects.showVersion(name)}
            onClick={() => onShow(versionId)}
          >
            {breakable(name)}
          </Anchor>
        )}
        {/* Below the date: beside it a phone has no room. */}
        <Group gap="xs">
          {isLatest && <State text={texts.objects.latest} is="good" />}
          {!isLatest && !isDeleteMarker && <State text={texts.objects.old} is="neutral" />}
          {isDeleteMarker ? (
            <State text={texts.objects.deleteMarker} is="poor" />
          ) : (
            <Text size="sm" c="dimmed" className="numbers">
              {formatBytes(size)}
            </Text>
          )}
        </Group>
      </Table.Td>
      <Table.Td>
        <VersionTools bucket={bucket} version={version} name={name} rights={rights} onDelete={onDelete} />
      </Table.Td>
    </Table.Tr>
  )
}
