/** Every version and delete marker of a bucket. */
import { Stack, Text, TextInput, Title, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue, useMediaQuery } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer, ListedVersion } from '../../api/operations.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { breakable, formatBytes, formatExactMoment, formatMoment } from '../../parts/format.ts'
import { useListing } from '../../parts/listing.ts'
import { Name } from '../../parts/name.tsx'
import { State } from '../../parts/names.tsx'
import { useRights } from '../../parts/rights.ts'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import { texts } from '../../texts/index.ts'
import { DeleteVersion } from '../objects/change-versions.tsx'
import { bucketQuery } from '../objects/queries.ts'
import { VersionTools } from '../objects/version-tools.tsx'

const DetailsDrawer = lazy(async () => ({ default: (await import('../objects/details-drawer.tsx')).DetailsDrawer }))

const words = texts.bucketVersions
const pageSize = 500
/** On narrow screens the cells of a row take three lines; both as in styles.css. */
const narrow = '(max-width: 48em)'
const narrowRowHeight = 104

type Page = Answer<'listObjectVersions'>

const rowsOf = ({ items }: Page) => items

export function AllVersions({ bucket }: { bucket: string }) {
  const [search, setSearch] = useState('')
  const [prefix] = useDebouncedValue(search, 200)
  const [shown, setShown] = useState<string>()
  const [deleted, setDeleted] = useState<ListedVersion>()
  const isNarrow = useMediaQuery(narrow, false, { getInitialValueInEffect: false })
  const { data } = useQuery(bucketQuery(bucket))
  const listing = useListing({
    id: `${bucket}/${prefix}`,
    queryKey: ['bucket-versions', bucket, prefix],
    load: (cursor, signal): Promise<Page> =>
      call('listObjectVersions', { params: { bucket }, query: { prefix, cursor, limit: pageSize }, signal }),
    countOf: ({ items }) => items.length,
    rowsOf,
    ...(isNarrow && { rowHeight: narrowRowHeight }),
  })
  const isEmpty = !listing.isPending && listing.error === null && listing.count === 0
  return (
    <Stack gap="sm">
      <div>
        <Title order={2} size="h4">
          {words.title}
        </Title>
        <Text size="sm" c="dimmed">
          {data?.versioning === 'off' ? words.notKept : words.hint}
          {data !== undefined && data.versioning === undefined && ` ${words.unknown}`}
        </Text>
      </div>
      {/* Over nothing it would find nothing. */}
      {!(isEmpty && search === '' && prefix === '') && (
        <TextInput
          type="search"
          aria-label={texts.common.search}
          placeholder={texts.common.search}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={event => setSearch(event.currentTarget.value)}
          maw={360}
        />
      )}
      {listing.error !== null && (
        <ProblemAlert error={listing.error} onRetry={listing.refetch} isStale={listing.isStale} />
      )}
      {isEmpty && <Text c="dimmed">{prefix === '' ? words.none : texts.common.noneBegins(prefix)}</Text>}
      {(listing.isPending || listing.count > 0) && (
        <VirtualRows
          key={String(isNarrow)}
          label={words.title}
          className="object-row version-row"
          {...(isNarrow && { rowHeight: narrowRowHeight })}
          listing={listing}
          idOf={({ key, versionId }) => `${versionId} ${key}`}
          head={<Heads />}
        >
          {version => <Row bucket={bucket} version={version} onShow={setShown} onDelete={setDeleted} />}
        </VirtualRows>
      )}
      {listing.isCutOff && <Text c="dimmed">{texts.objects.cutOff(listing.count)}</Text>}
      <Suspense>
        {shown !== undefined && <DetailsDrawer bucket={bucket} objectKey={shown} onClose={() => setShown(undefined)} />}
      </Suspense>
      {deleted !== undefined && (
        <DeleteVersion bucket={bucket} version={deleted} onClose={() => setDeleted(undefined)} />
      )}
    </Stack>
  )
}

function Heads() {
  return (
    <>
      <span role="columnheader" className="object-head">
        {texts.bucketUploads.key}
      </span>
      <span role="columnheader" className="object-head wide-seen">
        {texts.common.state}
      </span>
      <span role="columnheader" className="object-head object-size wide-seen">
        {texts.common.size}
      </span>
      <span role="columnheader" className="object-head object-date wide-seen">
        {texts.common.modified}
      </span>
      <span role="columnheader">
        <VisuallyHidden>{texts.common.actions}</VisuallyHidden>
      </span>
    </>
  )
}

interface RowProps {
  readonly bucket: string
  readonly version: ListedVersion
  readonly onShow: (key: string) => void
  readonly onDelete: (version: ListedVersion) => void
}

function Row({ bucket, version, onShow, onDelete }: RowProps) {
  const { key, isDeleteMarker, isLatest, lastModified, size } = version
  const date = breakable(formatMoment(lastModified))
  const rights = useRights(bucket)
  return (
    <>
      <span role="cell" className="object-name version-name">
        <button type="button" className="object-name object-open" onClick={() => onShow(key)}>
          <Name>{key}</Name>
        </button>
      </span>
      <span role="cell" className="version-state">
        {isDeleteMarker ? (
          <State text={texts.objects.deleteMarker} is="poor" />
        ) : (
          <State text={isLatest ? texts.objects.latest : texts.objects.old} is={isLatest ? 'good' : 'neutral'} />
        )}
      </span>
      <span role="cell" className="object-fact object-size numbers">
        {isDeleteMarker ? '' : formatBytes(size)}
      </span>
      <span role="cell" className="object-fact object-date">
        {date}
      </span>
      <span role="cell" className="version-tools">
        <VersionTools
          bucket={bucket}
          version={version}
          name={formatExactMoment(version.lastModified)}
          rights={rights}
          onDelete={onDelete}
        />
      </span>
    </>
  )
}
