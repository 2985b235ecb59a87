/** Every version of one object, the newest first. */
import { Anchor, Group, Skeleton, Stack, Table, Text } from '@mantine/core'
import { IconArrowBackUp, IconDownload, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { call, urlOf } from '../../api/client.ts'
import type { ListedVersion } from '../../api/operations.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes, formatMoment } from '../../parts/format.ts'
import { useLongList } from '../../parts/long-list.tsx'
import { State } from '../../parts/names.tsx'
import { useRights } from '../../parts/rights.ts'
import { Tool, ToolLink } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { DeleteVersion, useRestore } from './change-versions.tsx'

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
  const restore = useRestore(bucket)
  const failure = list.error !== null && (
    <ProblemAlert error={list.error} onRetry={() => list.refetch()} isStale={list.isStale} />
  )
  if (list.data === undefined) return failure || <Skeleton h={160} />
  return (
    <Stack>
      {failure}
      {list.toPrevious}
      <Table aria-label={texts.objects.tabs.versions}>
        <Table.Tbody>
          {list.items.map(version => (
            <Row
              key={version.versionId}
              bucket={bucket}
              version={version}
              onShow={onShow}
              onRestore={restore}
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

interface RowProps {
  readonly bucket: string
  readonly version: ListedVersion
  readonly onShow: (versionId: string) => void
  readonly onRestore: (version: ListedVersion) => void
  readonly onDelete: (version: ListedVersion) => void
}

function Row({ bucket, version, onShow, onRestore, onDelete }: RowProps) {
  const { key, versionId, isDeleteMarker, isLatest, lastModified, size } = version
  const date = formatMoment(lastModified)
  const rights = useRights(bucket, key)
  const mayRead = rights.has('s3:GetObjectVersion')
  const mayWrite = rights.has('s3:PutObject')
  const mayDelete = rights.has('s3:DeleteObjectVersion')
  return (
    <Table.Tr>
      <Table.Td>
        {isDeleteMarker ? (
          date
        ) : (
          <Anchor
            component="button"
            type="button"
            size="sm"
            aria-label={texts.objects.showVersion(date)}
            onClick={() => onShow(versionId)}
          >
            {date}
          </Anchor>
        )}
        {/* Below the date: beside it a phone has no room. */}
        <Group gap="xs">
          {isLatest && <State text={texts.objects.latest} is="good" />}
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
        <Group gap={4} justify="flex-end" wrap="nowrap">
          {!isDeleteMarker && mayRead && (
            <ToolLink
              label={texts.objects.downloadVersion(date)}
              icon={IconDownload}
              href={urlOf('downloadObject', { bucket }, { key, versionId })}
            />
          )}
          {!isDeleteMarker && !isLatest && mayRead && mayWrite && (
            <Tool
              label={texts.objects.restoreVersion(date)}
              icon={IconArrowBackUp}
              onClick={() => onRestore(version)}
            />
          )}
          {mayDelete && (
            <Tool label={texts.objects.deleteVersion(date)} icon={IconTrash} onClick={() => onDelete(version)} />
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}
