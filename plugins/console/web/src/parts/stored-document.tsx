/** A document that somebody edits: what is typed stays until it is saved, and a change that somebody else made first is told. */
import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode } from 'react'
import type { Tagged } from '../api/client.ts'
import { ProblemAlert } from './failure.tsx'

export interface StoredDocumentProps<Document> {
  readonly queryKey: readonly unknown[]
  readonly load: (signal: AbortSignal) => Promise<Tagged<Document>>
  /** Drawn anew for each stored version; `reload` shows what is stored now. */
  readonly children: (stored: Tagged<Document>, reload: () => Promise<void>) => ReactNode
}

export function StoredDocument<Document>({ queryKey, load, children }: StoredDocumentProps<Document>) {
  const stored = useQuery({
    queryKey,
    queryFn: ({ signal }) => load(signal),
    // Read when the editor opens and when it asks, and never under somebody's hands.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const reload = async () => void (await stored.refetch())
  const { data, error } = stored
  if (error !== null && data === undefined) return <ProblemAlert error={error} onRetry={reload} />
  if (data === undefined || !stored.isFetchedAfterMount) return <Skeleton h={240} />
  return (
    <>
      {error !== null && <ProblemAlert error={error} onRetry={reload} isStale />}
      <Fragment key={data.etag ?? ''}>{children(data, reload)}</Fragment>
    </>
  )
}
