import { Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Bucket } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { formatBytes } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'

export function DeleteBucket({ bucket, onClose }: { bucket: Bucket; onClose: () => void }) {
  const { name } = bucket
  const queryClient = useQueryClient()
  // The table may be minutes old, and this is about what would be lost now.
  const current = useQuery({
    queryKey: ['bucket', name],
    queryFn: ({ signal }) => call('getBucket', { params: { bucket: name }, signal }),
    staleTime: 0,
  })
  const { objects = 0, versions = 0, deleteMarkers = 0, size = 0 } = current.data ?? bucket
  const isEmpty = versions + deleteMarkers === 0
  const remove = async () => {
    await call('deleteBucket', { params: { bucket: name }, query: { force: !isEmpty } })
    notifications.show({ color: 'teal', message: texts.buckets.deleted(name) })
    await queryClient.invalidateQueries({ queryKey: ['buckets'] })
  }
  return (
    <ConfirmDeletion
      title={texts.buckets.deleteTitle(name)}
      {...(!isEmpty && { typed: name })}
      isReady={current.isSuccess && current.isFetchedAfterMount && !current.isFetching}
      onConfirm={remove}
      onClose={onClose}
    >
      <Text size="sm">
        {isEmpty ? texts.buckets.deleteEmpty : texts.buckets.deleteFull(objects, versions, formatBytes(size))}
      </Text>
    </ConfirmDeletion>
  )
}
