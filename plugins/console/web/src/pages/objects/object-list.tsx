/** Folders and objects, a row each. */
import { Anchor, VisuallyHidden } from '@mantine/core'
import { IconChevronDown, IconChevronUp, IconFile, IconFolder, IconInfoCircle } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { memo, useCallback, useEffect, useRef } from 'react'
import { formatBytes, formatDate } from '../../parts/format.ts'
import type { Listing } from '../../parts/listing.ts'
import { Name } from '../../parts/name.tsx'
import { shownText } from '../../parts/shown-text.ts'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import { texts } from '../../texts/index.ts'
import { type Entry, type Order, rowOf, type Selection } from './entries.ts'
import { pageSize } from './listing.ts'

const columns = ['name', 'size', 'modified'] as const

export interface ObjectListProps {
  readonly bucket: string
  readonly listing: Listing<Entry>
  readonly order: Order
  readonly onOrder: (order: Order) => void
  readonly selected: Selection
  readonly onSelect: (selected: Selection) => void
  /** Shows the details of an object. */
  readonly onShow: (key: string) => void
}

export function ObjectList({ bucket, listing, order, onOrder, selected, onSelect, onShow }: ObjectListProps) {
  const { count } = listing
  const latest = useRef({ selected, onSelect, onShow })
  latest.current = { selected, onSelect, onShow }
  const select = useCallback((next: Selection) => {
    // Several may be told of before the list is drawn again.
    latest.current.selected = next
    latest.current.onSelect(next)
  }, [])
  const toggle = useCallback(
    (entry: Entry) => {
      const next = new Map(latest.current.selected)
      if (!next.delete(rowOf(entry))) next.set(rowOf(entry), entry)
      select(next)
    },
    [select],
  )
  /** What is selected is what the list shows of it now, if it shows it. */
  const see = useCallback(
    (entry: Entry) => {
      const known = latest.current.selected.get(rowOf(entry))
      if (known !== undefined && known !== entry) select(new Map(latest.current.selected).set(rowOf(entry), entry))
    },
    [select],
  )
  const show = useCallback((id: string) => latest.current.onShow(id), [])
  const selectAll = () => {
    const loaded = listing.loaded()
    const isAll = loaded.every(entry => selected.has(rowOf(entry)))
    onSelect(new Map(isAll ? [] : [...selected, ...loaded.map(entry => [rowOf(entry), entry] as const)]))
  }
  return (
    <VirtualRows
      label={bucket}
      className="object-row"
      columnCount={5}
      listing={listing}
      idOf={rowOf}
      head={
        <>
          <span role="columnheader" aria-colindex={1}>
            <input
              type="checkbox"
              className="object-check"
              aria-label={texts.objects.selectAll}
              checked={selected.size > 0 && selected.size >= count}
              ref={box => {
                if (box !== null) box.indeterminate = selected.size > 0 && selected.size < count
              }}
              onChange={selectAll}
            />
          </span>
          {columns.map(by => (
            <Head key={by} by={by} order={order} onOrder={onOrder} isWhole={listing.isOnePage} />
          ))}
          <span role="columnheader" aria-colindex={5}>
            <VisuallyHidden>{texts.common.actions}</VisuallyHidden>
          </span>
        </>
      }
    >
      {entry => (
        <Row
          bucket={bucket}
          entry={entry}
          isSelected={selected.has(rowOf(entry))}
          onToggle={toggle}
          onSeen={see}
          onShow={show}
        />
      )}
    </VirtualRows>
  )
}

interface HeadProps {
  readonly by: NonNullable<Order>['by']
  readonly order: Order
  readonly onOrder: (order: Order) => void
  /** All rows are sorted together, not each page by itself. */
  readonly isWhole: boolean
}

/** Sorts by its column: upwards, downwards, and not at all. */
function Head({ by, order, onOrder, isWhole }: HeadProps) {
  const own = order?.by === by ? order : undefined
  const next =
    own === undefined ? { by, isDescending: false } : own.isDescending ? undefined : { by, isDescending: true }
  const Icon = own?.isDescending ? IconChevronDown : IconChevronUp
  return (
    <span
      role="columnheader"
      aria-colindex={columns.indexOf(by) + 2}
      aria-sort={own === undefined ? 'none' : own.isDescending ? 'descending' : 'ascending'}
      className={`object-head object-${by === 'modified' ? 'date wide-only' : by}`}
    >
      <button
        type="button"
        className="object-sort"
        title={isWhole ? texts.objects.sort : texts.objects.sortWithin(pageSize)}
        onClick={() => onOrder(next)}
      >
        {texts.common[by]}
        {own !== undefined && <Icon size={14} aria-hidden />}
      </button>
    </span>
  )
}

interface RowProps {
  readonly bucket: string
  readonly entry: Entry
  readonly isSelected: boolean
  readonly onToggle: (entry: Entry) => void
  readonly onSeen: (entry: Entry) => void
  readonly onShow: (key: string) => void
}

/** Drawn once, and of plain elements: a page full of them is drawn while one scrolls. */
const Row = memo(function Row({ bucket, entry, isSelected, onToggle, onSeen, onShow }: RowProps) {
  const { id, name } = entry
  useEffect(() => {
    if (isSelected) onSeen(entry)
  }, [entry, isSelected, onSeen])
  return (
    <>
      <span role="cell" aria-colindex={1}>
        <input
          type="checkbox"
          className="object-check"
          aria-label={texts.objects.select(name)}
          checked={isSelected}
          onChange={() => onToggle(entry)}
        />
      </span>
      <span role="cell" aria-colindex={2} className="object-name">
        {entry.kind === 'folder' ? (
          <Anchor
            component={Link}
            to="/buckets/$bucket"
            {...({ params: { bucket }, search: { prefix: id } } as object)}
          >
            <IconFolder size={16} aria-hidden className="object-icon" /> <Name>{name}</Name>
          </Anchor>
        ) : (
          <button type="button" className="object-name object-open" onClick={() => onShow(id)}>
            <IconFile size={16} aria-hidden className="object-icon" /> <Name>{name}</Name>
          </button>
        )}
      </span>
      <span role="cell" aria-colindex={3} className="object-fact object-size numbers">
        {entry.kind === 'object' ? formatBytes(entry.object.size) : ''}
      </span>
      <span role="cell" aria-colindex={4} className="object-fact object-date wide-only">
        {entry.kind === 'object' ? formatDate(entry.object.lastModified) : texts.objects.folder}
      </span>
      <span role="cell" aria-colindex={5}>
        {entry.kind === 'object' && (
          <button
            type="button"
            className="object-info"
            aria-label={`${texts.objects.details} ${shownText(name)}`}
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
