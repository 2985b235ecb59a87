/** A document that somebody edits: what is typed stays until it is saved, and a change that somebody else made first is told. */
import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode, useRef, useState } from 'react'
import type { Tagged } from '../api/client.ts'
import { ProblemAlert } from './failure.tsx'
import { UnsavedInDocument } from './unsaved.tsx'

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
  const [unsaved] = useState(() => new Set<object>())
  // Counted: what somebody else has changed and taken back has the ETag of what is shown, and what is typed over it goes all the same.
  const [asked, setAsked] = useState(0)
  const shown = useRef<Tagged<Document>>(undefined)
  const reload = async () => {
    const { data } = await stored.refetch()
    shown.current = data
    setAsked(count => count + 1)
  }
  const { data, error } = stored
  // Read again for another reason: what is typed stays, and saving it tells that somebody else was quicker.
  if (unsaved.size === 0 || shown.current === undefined) shown.current = stored.isFetchedAfterMount ? data : undefined
  const retry = () => stored.refetch()
  if (error !== null && data === undefined) return <ProblemAlert error={error} onRetry={retry} />
  if (shown.current === undefined) return <Skeleton h={240} />
  return (
    <>
      {error !== null && <ProblemAlert error={error} onRetry={retry} isStale />}
      <UnsavedInDocument value={unsaved}>
        <Fragment key={`${asked} ${shown.current.etag}`}>{children(shown.current, reload)}</Fragment>
      </UnsavedInDocument>
    </>
  )
}
