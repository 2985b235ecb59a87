/** Restoring an old version, undeleting an object, and deleting a version for good. */
import { Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { ListedVersion } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatExactMoment } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'

/** Returns a function that reads all lists of the bucket's versions anew. */
function useRefresh(bucket: string): () => Promise<unknown> {
  const queryClient = useQueryClient()
  return () =>
    Promise.all(
      ['objects', 'object', 'bucket-versions'].map(name => queryClient.invalidateQueries({ queryKey: [name, bucket] })),
    )
}

type Named = Pick<ListedVersion, 'key' | 'versionId'>

/** Does something to a version that can be undone as well: it is done without a question. */
function useChange(bucket: string, done: string, change: (version: Named) => Promise<void>) {
  const refresh = useRefresh(bucket)
  return useMutation({
    async mutationFn(version: Named) {
      try {
        await change(version)
        notifications.show({ color: 'teal', message: done })
      } catch (error) {
        notifyFailure(error)
      }
      await refresh()
    },
  })
}

/** Makes an old version the current one again. */
export const useRestore = (bucket: string) =>
  useChange(bucket, texts.objects.restored, async ({ key, versionId }) => {
    await call('copyObject', { params: { bucket }, body: { source: { bucket, key, versionId }, key } })
  })

/** Removes the delete marker that is the current version. */
export const useUndelete = (bucket: string) =>
  useChange(bucket, texts.objects.undeleted, version => deleteVersion(bucket, version))

async function deleteVersion(bucket: string, { key, versionId }: Named): Promise<void> {
  const { errors } = await call('deleteObjects', { params: { bucket }, body: { objects: [{ key, versionId }] } })
  if (errors[0] !== undefined) throw new Error(errors[0].message)
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
        await deleteVersion(bucket, { key, versionId })
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
          : texts.objects.deleteVersionText(key, formatExactMoment(lastModified), versionId ?? '')}
      </Text>
    </ConfirmDeletion>
  )
}
