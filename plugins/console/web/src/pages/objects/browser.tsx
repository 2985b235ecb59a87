/** One folder of a bucket: its entries, and what can be done with those that are selected. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { Problem } from '../../api/problem.ts'
import { usePageDrops } from '../../parts/drops.ts'
import { notifyFailure, ProblemAlert } from '../../parts/failure.tsx'
import { useRights } from '../../parts/rights.ts'
import { filesOfDrop } from '../../parts/uploads/chosen-files.ts'
import { replacing } from '../../parts/uploads/replacing.ts'
import { texts } from '../../texts/index.ts'
import { DetailsDrawer } from './details-drawer.tsx'
import type { Order, Selection } from './entries.ts'
import { useFolderListing } from './listing.ts'
import { ObjectList } from './object-list.tsx'
import { OpenFolder } from './open-folder.tsx'
import { SelectionBar, Toolbar } from './toolbar.tsx'

export interface BrowserProps {
  readonly bucket: string
  readonly prefix: string
  /** What the filter begins with. */
  readonly find: string
  /** The object whose details are open. */
  readonly shown: string | undefined
  readonly onShow: (key: string | undefined) => void
}

export function Browser({ bucket, prefix, find, shown, onShow }: BrowserProps) {
  const [search, setSearch] = useState(find)
  const [asked] = useDebouncedValue(search, 200)
  const [selected, setSelected] = useState<Selection>(new Map())
  const [order, setOrder] = useState<Order>()
  const listing = useFolderListing({ bucket, folder: prefix, prefix: prefix + asked, order })
  const rights = useRights(bucket, prefix)
  const mayListVersions = rights.has('s3:ListBucketVersions')
  const mayWrite = rights.has('s3:PutObject')
  const emptyText = mayWrite ? texts.objects.empty : texts.objects.emptyForReaders
  const isDenied = listing.error instanceof Problem && listing.error.status === 403
  return (
    <DropZone bucket={bucket} prefix={prefix} isOpen={mayWrite}>
      <Stack gap="sm">
        <Toolbar bucket={bucket} prefix={prefix} />
        <Group gap="sm">
          <TextInput
            type="search"
            aria-label={texts.common.search}
            placeholder={texts.common.search}
            leftSection={<IconSearch size={16} aria-hidden />}
            value={search}
            onChange={event => setSearch(event.currentTarget.value)}
            w={360}
            maw="100%"
          />
          <SelectionBar
            bucket={bucket}
            prefix={prefix}
            hasEntries={listing.count > 0}
            selected={selected}
            onSelect={setSelected}
          />
        </Group>
        {isDenied ? (
          <>
            <Text>{(listing.error as Problem).message}</Text>
            <OpenFolder bucket={bucket} prefix={prefix} />
          </>
        ) : (
          listing.error !== null && (
            <ProblemAlert error={listing.error} onRetry={listing.refetch} isStale={listing.isStale} />
          )
        )}
        {!listing.isPending && listing.error === null && listing.count === 0 && (
          <Stack align="flex-start" gap="sm">
            <Text c="dimmed">{asked === '' ? emptyText : texts.objects.emptyPrefix(prefix + asked)}</Text>
            {asked !== '' && mayListVersions && (
              <Button variant="default" onClick={() => onShow(prefix + asked)}>
                {texts.objects.lookForVersions(prefix + asked)}
              </Button>
            )}
          </Stack>
        )}
        {(listing.isPending || listing.count > 0) && (
          <ObjectList
            bucket={bucket}
            listing={listing}
            order={order}
            onOrder={setOrder}
            selected={selected}
            onSelect={setSelected}
            onShow={onShow}
          />
        )}
        {listing.isCutOff && <Text c="dimmed">{texts.objects.cutOff(listing.count)}</Text>}
      </Stack>
      {shown !== undefined && <DetailsDrawer bucket={bucket} objectKey={shown} onClose={() => onShow(undefined)} />}
    </DropZone>
  )
}

interface DropZoneProps {
  readonly bucket: string
  readonly prefix: string
  readonly isOpen: boolean
  readonly children: React.ReactNode
}

/** The list shows that files are taken, wherever on the page they are dropped. */
function DropZone({ bucket, prefix, isOpen, children }: DropZoneProps) {
  const [isOver, setOver] = useState(false)
  usePageDrops(isOpen, setOver, items => {
    void filesOfDrop(items, prefix).then(({ chosen, unreadable }) => {
      replacing.upload(bucket, chosen)
      if (unreadable.length > 0) notifyFailure(new Error(texts.uploads.unreadable(unreadable.length, unreadable[0]!)))
    })
  })
  return (
    <div className="drop-zone" {...(isOver && { 'data-dragged': true })} data-hint={texts.objects.dropHere}>
      {children}
    </div>
  )
}
