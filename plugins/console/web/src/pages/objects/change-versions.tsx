/** Restoring an old version, and deleting one for good. */
import { Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { ListedVersion } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatMoment } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'

/** Returns a function that reads all lists of the bucket's versions anew. */
function useRefresh(bucket: string): () => Promise<unknown> {
  const queryClient = useQueryClient()
  return () =>
    Promise.all(
      ['objects', 'object', 'bucket-versions'].map(name => queryClient.invalidateQueries({ queryKey: [name, bucket] })),
    )
}

export function useRestore(bucket: string): (version: ListedVersion) => Promise<void> {
  const refresh = useRefresh(bucket)
  return async ({ key, versionId }) => {
    try {
      await call('copyObject', { params: { bucket }, body: { source: { bucket, key, versionId }, key } })
      notifications.show({ color: 'teal', message: texts.objects.restored })
    } catch (error) {
      notifyFailure(error)
    }
    await refresh()
  }
}

export interface DeleteVersionProps {
  readonly bucket: string
  readonly version: Pick<ListedVersion, 'key' | 'versionId' | 'isDeleteMarker' | 'lastModified'>
  readonly onClose: () => void
  readonly onDeleted?: () => void | Promise<void>
}

export function DeleteVersion({ bucket, version, onClose, onDeleted }: DeleteVersionProps) {
  const { key, versionId, isDeleteMarker, lastModified } = version
  const refresh = useRefresh(bucket)
  return (
    <ConfirmDeletion
      title={texts.objects.deleteVersionTitle}
      onConfirm={async () => {
        const { errors } = await call('deleteObjects', {
          params: { bucket },
          body: { objects: [{ key, versionId }] },
        })
        if (errors[0] !== undefined) throw new Error(errors[0].message)
        notifications.show({ color: 'teal', message: texts.objects.versionDeleted })
      }}
      onDone={async () => {
        await refresh()
        await onDeleted?.()
      }}
      onClose={onClose}
    >
      <Text size="sm">
        {isDeleteMarker
          ? texts.objects.deleteMarkerText(key)
          : texts.objects.deleteVersionText(key, formatMoment(lastModified))}
      </Text>
    </ConfirmDeletion>
  )
}
