/** A list that draws only the rows in view, so that a million keys scroll as ten do. */
import { Anchor, Checkbox, Skeleton, Text, VisuallyHidden } from '@mantine/core'
import { IconFile, IconFolder, IconInfoCircle } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { memo, useCallback, useEffect, useRef } from 'react'
import { formatBytes, formatDate } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import type { Entry } from './entries.ts'

const rowHeight = 40
/** Rows before the end at which more are loaded. */
const ahead = 50

export interface ObjectListProps {
  readonly bucket: string
  readonly entries: readonly Entry[]
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
  /** Shows the details of an object. */
  readonly onShow: (key: string) => void
  readonly isLoading: boolean
  readonly onEnd: () => void
}

export function ObjectList(props: ObjectListProps) {
  const { bucket, entries, selected, onSelect, onShow, isLoading, onEnd } = props
  const place = useRef<HTMLDivElement>(null)
  const virtual = useWindowVirtualizer({
    count: entries.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: place.current?.offsetTop ?? 0,
  })
  const rows = virtual.getVirtualItems()
  const last = rows.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= entries.length - ahead) onEnd()
  }, [last, entries.length, onEnd])
  const latest = useRef({ selected, onSelect, onShow })
  latest.current = { selected, onSelect, onShow }
  const toggle = useCallback((id: string) => {
    const next = new Set(latest.current.selected)
    if (!next.delete(id)) next.add(id)
    latest.current.onSelect(next)
  }, [])
  const show = useCallback((id: string) => latest.current.onShow(id), [])
  return (
    <div ref={place} role="table" aria-rowcount={entries.length} aria-label={bucket}>
      <div role="row" className="object-row" style={{ height: rowHeight }}>
        <span role="columnheader">
          <Checkbox
            aria-label={texts.objects.selectAll}
            checked={selected.size > 0 && selected.size === entries.length}
            indeterminate={selected.size > 0 && selected.size < entries.length}
            onChange={() =>
              onSelect(selected.size === entries.length ? new Set() : new Set(entries.map(({ id }) => id)))
            }
          />
        </span>
        <Head>{texts.common.name}</Head>
        <Head isRight>{texts.common.size}</Head>
        <Head className="wide-only">{texts.common.modified}</Head>
        <span role="columnheader">
          <VisuallyHidden>{texts.common.actions}</VisuallyHidden>
        </span>
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {rows.map(({ index, start, key }) => (
          <div
            key={key}
            role="row"
            aria-rowindex={index + 1}
            className="object-row"
            style={{
              position: 'absolute',
              top: 0,
              left: 0,
              right: 0,
              height: rowHeight,
              transform: `translateY(${start - virtual.options.scrollMargin}px)`,
            }}
          >
            <Row
              bucket={bucket}
              entry={entries[index]!}
              isSelected={selected.has(entries[index]!.id)}
              onToggle={toggle}
              onShow={show}
            />
          </div>
        ))}
      </div>
      {isLoading && <Skeleton h={rowHeight} mt={4} />}
    </div>
  )
}

function Head({ children, isRight = false, className }: { children: string; isRight?: boolean; className?: string }) {
  return (
    <Text role="columnheader" size="sm" fw={600} ta={isRight ? 'right' : 'left'} {...(className && { className })}>
      {children}
    </Text>
  )
}

interface RowProps {
  readonly bucket: string
  readonly entry: Entry
  readonly isSelected: boolean
  readonly onToggle: (id: string) => void
  readonly onShow: (key: string) => void
}

/** Drawn once, and of plain elements: a page full of them is drawn while one scrolls. */
const Row = memo(function Row({ bucket, entry, isSelected, onToggle, onShow }: RowProps) {
  const { id, name } = entry
  return (
    <>
      <span role="cell">
        <input
          type="checkbox"
          className="object-check"
          aria-label={texts.objects.select(name)}
          checked={isSelected}
          onChange={() => onToggle(id)}
        />
      </span>
      <span role="cell" className="object-name">
        {entry.kind === 'folder' ? (
          <Anchor
            component={Link}
            to="/buckets/$bucket"
            {...({ params: { bucket }, search: { prefix: id } } as object)}
          >
            <IconFolder size={16} aria-hidden className="object-icon" /> {name}
          </Anchor>
        ) : (
          <button type="button" className="object-name object-open" onClick={() => onShow(id)}>
            <IconFile size={16} aria-hidden className="object-icon" /> {name}
          </button>
        )}
      </span>
      <span role="cell" className="object-fact object-size numbers">
        {entry.kind === 'object' ? formatBytes(entry.object.size) : ''}
      </span>
      <span role="cell" className="object-fact object-date wide-only">
        {entry.kind === 'object' ? formatDate(entry.object.lastModified) : texts.objects.folder}
      </span>
      <span role="cell">
        {entry.kind === 'object' && (
          <button
            type="button"
            className="object-info"
            aria-label={`${texts.objects.details} ${name}`}
            title={texts.objects.details}
            onClick={() => onShow(id)}
          >
            <IconInfoCircle size={16} aria-hidden />
          </button>
        )}
      </span>
    </>
  )
})
