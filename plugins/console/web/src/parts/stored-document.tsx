/** A document that somebody edits: what is typed stays until it is saved, and a change that somebody else made first is told. */
import { Skeleton } from '@mantine/core'
import { hashKey, type QueryKey, useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode, useReducer, useRef, useState } from 'react'
import type { Tagged } from '../api/client.ts'
import { ProblemAlert } from './failure.tsx'
import { UnsavedInDocument } from './unsaved.tsx'
import { UnsavedForms } from './unsaved-forms.ts'

export interface StoredDocumentOptions<Document> {
  readonly queryKey: QueryKey
  readonly load: (signal: AbortSignal) => Promise<Document>
}

/**
 * `shown` is what is stored, as it was read last; while one of `forms`, which are for `UnsavedInDocument`, has something unsaved, what was read
 * before that. `reload` reads and shows what is stored now, and resolves with whether it could; given what was just saved, it shows that where
 * it cannot be read. `draws` counts how often. For one document: where the key may change, draw anew what calls this.
 */
export function useStoredDocument<Document>({ queryKey, load }: StoredDocumentOptions<Document>) {
  const stored = useQuery({
    queryKey,
    queryFn: ({ signal }) => load(signal),
    // Read when the editor opens and when it asks, and never under somebody's hands.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const { error, isFetchedAfterMount, dataUpdatedAt } = stored
  // Over what was read before, one's own change would be called somebody else's with the next one.
  const [unread, setUnread] = useState<{ readonly saved: Document; readonly readAt: number }>()
  const data = unread?.readAt === dataUpdatedAt ? unread.saved : stored.data
  const [, drawAgain] = useReducer((count: number) => count + 1, 0)
  const [forms] = useState(() => new UnsavedForms(drawAgain))
  // What somebody else has changed and taken back has the ETag of what is shown, and what is typed over it goes all the same.
  const [draws, setDraws] = useState(0)
  const shown = useRef<Document>(undefined)
  const reload = async (saved?: Document) => {
    const { data, isSuccess, dataUpdatedAt } = await stored.refetch()
    const present = isSuccess ? data : saved
    if (present === undefined) return false
    setUnread(isSuccess ? undefined : { saved: present, readAt: dataUpdatedAt })
    shown.current = present
    setDraws(count => count + 1)
    return true
  }
  // Read again for another reason: what is typed stays, and saving it tells that somebody else was quicker.
  if (!forms.hasAny || shown.current === undefined) shown.current = isFetchedAfterMount ? data : undefined
  const retry = () => void stored.refetch()
  const isStale = data !== undefined
  const failure = error === null ? null : <ProblemAlert error={error} onRetry={retry} isStale={isStale} />
  return { stored, shown: isStale ? shown.current : undefined, failure, forms, draws, reload }
}

/** Shows what is stored now, or what was just saved where that cannot be read, and resolves with whether it could. */
export type Reload<Document> = (saved?: Tagged<Document>) => Promise<boolean>

export interface StoredDocumentProps<Document> extends StoredDocumentOptions<Tagged<Document>> {
  /** Drawn anew for each stored version. */
  readonly children: (stored: Tagged<Document>, reload: Reload<Document>) => ReactNode
}

export function StoredDocument<Document>(props: StoredDocumentProps<Document>) {
  return <OneDocument key={hashKey(props.queryKey)} {...props} />
}

function OneDocument<Document>({ children, ...options }: StoredDocumentProps<Document>) {
  const { shown, failure, forms, draws, reload } = useStoredDocument(options)
  if (shown === undefined) return failure ?? <Skeleton h={240} />
  return (
    <>
      {failure}
      <UnsavedInDocument value={forms}>
        <Fragment key={`${draws} ${shown.etag}`}>{children(shown, reload)}</Fragment>
      </UnsavedInDocument>
    </>
  )
}
