import { Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { texts } from '../../texts/index.ts'
import type { Entry } from './entries.ts'
import { bucketQuery } from './queries.ts'

/** The server takes so many keys at a time. */
const keysMax = 1000

export interface DeleteEntriesProps {
  readonly bucket: string
  readonly entries: readonly Pick<Entry, 'kind' | 'id'>[]
  readonly onClose: () => void
  readonly onDeleted?: () => void
}

export function DeleteEntries({ bucket, entries, onClose, onDeleted }: DeleteEntriesProps) {
  const queryClient = useQueryClient()
  // What is said about versions has to be true now.
  const { data, isFetchedAfterMount, isFetching } = useQuery({ ...bucketQuery(bucket), staleTime: 0 })
  const keys = entries.filter(({ kind }) => kind === 'object').map(({ id }) => id)
  const folders = entries.filter(({ kind }) => kind === 'folder').map(({ id }) => id)
  const isUndoable = data?.versioning === 'enabled'
  const remove = async () => {
    try {
      await deleteAll(bucket, keys, folders)
    } finally {
      await queryClient.invalidateQueries({ queryKey: ['objects', bucket] })
    }
    onDeleted?.()
  }
  return (
    <ConfirmDeletion
      title={texts.objects.deleteTitle(entries.length, entries[0]!.id)}
      onConfirm={remove}
      onClose={onClose}
      {...(folders.length > 0 && !isUndoable && { typed: bucket })}
      isReady={isFetchedAfterMount && !isFetching && data !== undefined}
    >
      <Text size="sm">{texts.objects.deleteText(keys.length, folders.length)}.</Text>
      <Text size="sm">{keptText(data?.versioning)}</Text>
    </ConfirmDeletion>
  )
}

/** Whoever may not see whether old versions are kept is told that. */
function keptText(versioning: string | undefined): string {
  if (versioning === undefined) return texts.objects.deleteUnknown
  if (versioning === 'suspended') return texts.objects.deleteSuspended
  return versioning === 'enabled' ? texts.objects.deleteVersioned : texts.objects.deleteForGood
}

/** Folders page by page, until the server says that nothing is left. Throws where something could not be deleted. */
async function deleteAll(bucket: string, keys: readonly string[], folders: readonly string[]): Promise<void> {
  let deleted = 0
  const failed: string[] = []
  const run = async (objects: readonly string[], prefixes: readonly string[]): Promise<boolean> => {
    const body = { objects: objects.map(key => ({ key })), prefixes: [...prefixes] }
    const answer = await call('deleteObjects', { params: { bucket }, body })
    deleted += answer.deleted.length
    failed.push(...answer.errors.map(({ key, message }) => `${key}: ${message}`))
    return answer.isTruncated && answer.deleted.length > 0
  }
  for (let from = 0; from < keys.length; from += keysMax) await run(keys.slice(from, from + keysMax), [])
  if (folders.length > 0) while (await run([], folders));
  if (failed.length > 0) throw new Error(texts.objects.deleteFailed(failed.length, failed[0]!))
  notifications.show({ color: 'teal', message: texts.objects.deleted(deleted) })
}
