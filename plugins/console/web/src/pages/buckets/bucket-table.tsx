import { ActionIcon, Anchor, Badge, Group, Progress, Skeleton, Stack, Table, Text, Tooltip } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Bucket } from '../../api/operations.ts'
import { formatBytes, formatCount, formatDate } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import { DeleteBucket } from './delete-bucket.tsx'

export function BucketTable({ items, isLoading }: { items: readonly Bucket[]; isLoading: boolean }) {
  const [deleted, setDeleted] = useState<Bucket>()
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table verticalSpacing="xs" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.common.name}</Table.Th>
            <Table.Th ta="right">{texts.buckets.objects}</Table.Th>
            <Table.Th ta="right">{texts.common.size}</Table.Th>
            <Table.Th>{texts.buckets.access}</Table.Th>
            <Table.Th>{texts.common.created}</Table.Th>
            <Table.Th aria-label={texts.common.actions} />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {isLoading && <LoadingRows />}
          {items.map(bucket => (
            <Table.Tr key={bucket.name}>
              <Table.Td>
                <Anchor component={Link} to="/buckets/$bucket" params={{ bucket: bucket.name } as never}>
                  {bucket.name}
                </Anchor>
              </Table.Td>
              <Table.Td ta="right" className="numbers">
                {bucket.objects === undefined ? '' : formatCount(bucket.objects)}
              </Table.Td>
              <Table.Td ta="right" className="numbers">
                <Size bucket={bucket} />
              </Table.Td>
              <Table.Td>
                <Marks bucket={bucket} />
              </Table.Td>
              <Table.Td>{formatDate(bucket.created)}</Table.Td>
              <Table.Td ta="right">
                <Tooltip label={texts.buckets.delete}>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={`${texts.buckets.delete} ${bucket.name}`}
                    onClick={() => setDeleted(bucket)}
                  >
                    <IconTrash size={16} />
                  </ActionIcon>
                </Tooltip>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {deleted !== undefined && <DeleteBucket bucket={deleted} onClose={() => setDeleted(undefined)} />}
    </Table.ScrollContainer>
  )
}

function Size({ bucket: { size, quotaBytes } }: { bucket: Bucket }) {
  if (size === undefined) return null
  if (quotaBytes === undefined || quotaBytes === 0) return formatBytes(size)
  const used = Math.min(100, (size / quotaBytes) * 100)
  const label = texts.buckets.quotaUsed(formatBytes(size), formatBytes(quotaBytes))
  return (
    <Stack gap={2}>
      <Text size="sm">{label}</Text>
      <Progress value={used} size="sm" color={used > 90 ? 'red' : 'cyan'} aria-label={label} />
    </Stack>
  )
}

function Marks({ bucket }: { bucket: Bucket }) {
  return (
    <Group gap={4}>
      {bucket.public !== undefined && (
        <Badge variant="light" color={bucket.public ? 'orange' : 'gray'}>
          {bucket.public ? texts.buckets.public : texts.buckets.private}
        </Badge>
      )}
      {bucket.versioning === 'enabled' && (
        <Badge variant="light" color="gray">
          {texts.buckets.versioned}
        </Badge>
      )}
      {bucket.objectLockEnabled === true && (
        <Badge variant="light" color="gray">
          {texts.buckets.locked}
        </Badge>
      )}
    </Group>
  )
}

function LoadingRows() {
  return [1, 2, 3].map(row => (
    <Table.Tr key={row}>
      <Table.Td colSpan={6}>
        <Skeleton h={22} />
      </Table.Td>
    </Table.Tr>
  ))
}
