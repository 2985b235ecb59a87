import { Alert, List, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes } from '../../parts/format.ts'
import { bucketContent } from '../../texts/bucket-content.ts'
import { texts } from '../../texts/index.ts'

const words = bucketContent.deletion

export interface DeleteBucketProps {
  readonly name: string
  /** What follows; default: the list is read again. */
  readonly onDeleted?: () => Promise<unknown>
  readonly onClose: () => void
}

export function DeleteBucket({ name, onDeleted, onClose }: DeleteBucketProps) {
  const queryClient = useQueryClient()
  // The table may be minutes old, and this is about what would be lost now.
  const current = useQuery({
    queryKey: ['bucket', name],
    queryFn: ({ signal }) => call('getBucket', { params: { bucket: name }, signal }),
    staleTime: 0,
  })
  const mayManage = useMay('admin:ManageDistributions')
  const distributions = useQuery({
    queryKey: ['distributions', name, 'of-bucket'],
    queryFn: async ({ signal }) =>
      (await call('listDistributions', { query: { bucket: name, limit: 1000 }, signal })).items,
    enabled: mayManage,
    staleTime: 0,
  })
  const { objects = 0, versions = 0, deleteMarkers = 0, size = 0, contentEtag } = current.data ?? {}
  const { uploads = 0, uploadsSize = 0 } = current.data ?? {}
  const hasVersions = versions + deleteMarkers > 0
  // Whoever may list a part of it alone is told no numbers.
  const isUnknown = current.data?.partial === true
  const isEmpty = !hasVersions && uploads === 0 && !isUnknown
  const isPublished = (distributions.data ?? []).length > 0
  const isTold = useRef(false)
  const remove = async () => {
    // What came after the question is not deleted unasked. Told once: a bucket that is written to all the time can be deleted, too.
    const condition = isTold.current || contentEtag === undefined ? {} : { ifMatch: contentEtag }
    try {
      await call('deleteBucket', { params: { bucket: name }, query: { force: hasVersions }, ...condition })
    } catch (error) {
      if (!(error instanceof Problem && error.status === 412)) {
        // It may have ended half way: the numbers are those of what is left.
        await current.refetch()
        await queryClient.invalidateQueries({ queryKey: ['objects', name] })
        throw error
      }
      await current.refetch({ throwOnError: true })
      isTold.current = true
      throw new Error(words.changed, { cause: error })
    }
    notifications.show({ color: 'teal', message: words.deleted(name) })
  }
  const refresh = async () => {
    await onDeleted?.()
    await queryClient.invalidateQueries({ queryKey: ['buckets'] })
  }
  return (
    <ConfirmDeletion
      title={words.title(name)}
      {...(!isEmpty && { typed: name })}
      isReady={
        current.isSuccess &&
        current.isFetchedAfterMount &&
        !current.isFetching &&
        (!mayManage || distributions.isSuccess) &&
        !isPublished
      }
      onConfirm={remove}
      onDone={refresh}
      onClose={onClose}
    >
      {current.error !== null && <ProblemAlert error={current.error} onRetry={() => current.refetch()} />}
      <Text size="sm">
        {current.data !== undefined &&
          [
            isEmpty && words.empty,
            isUnknown && words.unknown,
            hasVersions && words.versions(objects, versions, deleteMarkers, formatBytes(size)),
            uploads > 0 && words.uploads(uploads, formatBytes(uploadsSize)),
            (hasVersions || uploads > 0) && words.forGood,
          ]
            .filter(Boolean)
            .join(' ')}
      </Text>
      {distributions.error !== null && (
        <ProblemAlert error={distributions.error} onRetry={() => distributions.refetch()} />
      )}
      {isPublished && (
        <Alert color="orange" icon={<IconAlertTriangle aria-hidden />} title={words.stops}>
          <List size="sm">
            {(distributions.data ?? []).map(({ id, aliases }) => (
              <List.Item key={id} style={{ overflowWrap: 'anywhere' }}>
                <Link to="/distributions/$id" params={{ id }}>
                  {texts.buckets.deleteStopped(id, aliases.join(', '))}
                </Link>
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
    </ConfirmDeletion>
  )
}
