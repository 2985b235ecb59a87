import { Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { texts } from '../../texts/index.ts'
import type { Entry } from './entries.ts'
import { bucketQuery } from './queries.ts'

type BulkAnswer = Answer<'deleteObjects'>

/** The server takes so many keys at a time. */
const keysMax = 1000

/** An object as it was seen when somebody chose it. */
interface Chosen {
  readonly key: string
  readonly etag?: string
}

export interface DeleteEntriesProps {
  readonly bucket: string
  readonly entries: readonly (Pick<Entry, 'kind' | 'id'> & { readonly object?: { readonly etag: string } })[]
  readonly onClose: () => void
  readonly onDeleted?: () => void
}

export function DeleteEntries({ bucket, entries, onClose, onDeleted }: DeleteEntriesProps) {
  const queryClient = useQueryClient()
  // What is said about versions has to be true now.
  const { data, isFetchedAfterMount, isFetching } = useQuery({ ...bucketQuery(bucket), staleTime: 0 })
  // What was seen when it was asked: behind the question the list is read again.
  const [asked] = useState(entries)
  const objects = asked
    .filter(({ kind }) => kind === 'object')
    .map(({ id: key, object }): Chosen => ({ key, etag: object?.etag }))
  const folders = asked.filter(({ kind }) => kind === 'folder').map(({ id }) => id)
  const isUndoable = data?.versioning === 'enabled'
  const remove = async () => {
    try {
      await deleteAll(bucket, objects, folders)
    } finally {
      await queryClient.invalidateQueries({ queryKey: ['objects', bucket] })
    }
    onDeleted?.()
  }
  return (
    <ConfirmDeletion
      title={texts.objects.deleteTitle(asked.length, asked[0]!.id)}
      onConfirm={remove}
      onClose={onClose}
      {...(folders.length > 0 && !isUndoable && { typed: bucket })}
      isReady={isFetchedAfterMount && !isFetching && data !== undefined}
    >
      <Text size="sm">{texts.objects.deleteText(objects.length, folders.length)}.</Text>
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

/**
 * Folders page by page, until the server says that nothing is left. An object that somebody else has replaced meanwhile stays. Throws where
 * something could not be deleted.
 */
async function deleteAll(bucket: string, chosen: readonly Chosen[], folders: readonly string[]): Promise<void> {
  let deleted = 0
  const failed: string[] = []
  const send = async (objects: readonly Chosen[], prefixes: readonly string[] = []) => {
    const answer = await call('deleteObjects', {
      params: { bucket },
      body: { objects: [...objects], prefixes: [...prefixes] },
    })
    deleted += answer.deleted.length
    return answer
  }
  const fail = ({ errors }: Pick<BulkAnswer, 'errors'>) => {
    for (const { key, code, message } of errors) {
      if (code === 'precondition_failed') failed.push(texts.objects.replacedMeanwhile(key))
      // What is gone already is what was wanted.
      else if (code !== 'object_not_found') failed.push(`${key}: ${message}`)
    }
  }
  for (let from = 0; from < chosen.length; from += keysMax) {
    const { errors } = await send(chosen.slice(from, from + keysMax))
    // Whoever may not read an object cannot name what it is, and deletes it as every program does.
    const unread = errors.filter(({ code }) => code === 'access_denied')
    fail({ errors: errors.filter(error => !unread.includes(error)) })
    if (unread.length > 0) fail(await send(unread.map(({ key }) => ({ key }))))
  }
  for (let isMore = folders.length > 0; isMore; ) {
    const answer = await send([], folders)
    fail(answer)
    isMore = answer.isTruncated && answer.deleted.length > 0
  }
  if (failed.length > 0) throw new Error(texts.objects.deleteFailed(failed.length, failed[0]!))
  notifications.show({ color: 'teal', message: texts.objects.deleted(deleted) })
}
