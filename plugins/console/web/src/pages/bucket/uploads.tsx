/** Uploads of a bucket that nobody has completed yet. */
import { Text } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { formatBytes, formatCount, formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { useRights } from '../../parts/rights.ts'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.bucketUploads

type Upload = Answer<'listUploads'>['items'][number]

const refetchInterval = 5000

export function Uploads({ bucket }: { bucket: string }) {
  const queryClient = useQueryClient()
  const [aborted, setAborted] = useState<Upload>()
  const mayAbort = useRights(bucket).has('s3:AbortMultipartUpload')
  return (
    <>
      <ListPage
        title={words.title}
        isPart
        head={
          <Text size="sm" c="dimmed">
            {words.hint}
          </Text>
        }
        queryKey={['bucket-uploads', bucket]}
        refetchInterval={refetchInterval}
        hasFilter
        load={({ prefix, cursor, signal }) =>
          call('listUploads', { params: { bucket }, query: { prefix, cursor }, signal })
        }
        columns={columnsOf(mayAbort ? setAborted : undefined)}
        idOf={({ uploadId }) => uploadId}
        none={words.none}
      />
      {aborted !== undefined && (
        <ConfirmDeletion
          title={words.abortTitle}
          action={words.abortAction}
          onConfirm={async () => {
            await call('abortUpload', { params: { bucket, uploadId: aborted.uploadId }, query: { key: aborted.key } })
            const stale = [['bucket-uploads', bucket], ['bucket', bucket], ['buckets']]
            await Promise.all(stale.map(queryKey => queryClient.invalidateQueries({ queryKey })))
          }}
          onClose={() => setAborted(undefined)}
        >
          <Text size="sm">{words.abortText(aborted.key, formatBytes(aborted.size), aborted.partCount)}</Text>
        </ConfirmDeletion>
      )}
    </>
  )
}

function columnsOf(onAbort: ((upload: Upload) => void) | undefined): Column<Upload>[] {
  return [
    { title: words.key, render: ({ key }) => key },
    { title: words.started, render: ({ initiatedAt }) => formatDate(initiatedAt) },
    {
      title: words.parts,
      isNumber: true,
      render: ({ partCount, partsTruncated }) => `${formatCount(partCount)}${partsTruncated ? '+' : ''}`,
    },
    { title: texts.common.size, isNumber: true, render: ({ size }) => formatBytes(size) },
    {
      title: texts.common.actions,
      isActions: true,
      render: upload =>
        onAbort !== undefined && (
          <Tool label={words.abort(upload.key)} icon={IconTrash} onClick={() => onAbort(upload)} />
        ),
    },
  ]
}
