/** A table that draws only the rows in view, so that a million scroll as ten do. */
import { Skeleton } from '@mantine/core'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { type Listing, rowHeightDefault } from './listing.ts'

/** Pixels. */
const headHeight = 40

export interface VirtualRowsProps<Row> {
  readonly label: string
  readonly className: string
  /** Set where narrow screens leave some out; heads and cells say then which column they are of. */
  readonly columnCount?: number
  /** Pixels. */
  readonly rowHeight?: number
  readonly listing: Listing<Row>
  /** Its cells. */
  readonly head: ReactNode
  /** What somebody presses, or has the focus on, is of one row, wherever it moves in the list. */
  readonly idOf: (row: Row) => string
  /** The cells of a row; of one that is being read again a stand-in is drawn. */
  readonly children: (row: Row) => ReactNode
}

export function VirtualRows<Row>(props: VirtualRowsProps<Row>) {
  const { label, className, columnCount, rowHeight = rowHeightDefault, listing, head, idOf, children } = props
  const { count } = listing
  const place = useRef<HTMLDivElement>(null)
  const virtual = useWindowVirtualizer({
    count,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: place.current?.offsetTop ?? 0,
  })
  const rows = virtual.getVirtualItems()
  // While pages are read again one after the other, a row may be in two of them.
  const taken = new Set<string>()
  useEffect(() => listing.look(rows[0]?.index ?? 0, rows.at(-1)?.index ?? 0))
  return (
    <div ref={place} role="table" aria-rowcount={count + 1} aria-colcount={columnCount} aria-label={label}>
      <div role="row" aria-rowindex={1} className={`${className} rows-head`} style={{ height: headHeight }}>
        {head}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {rows.map(({ index, start }) => {
          const row = listing.rowAt(index)
          const id = row === undefined ? undefined : idOf(row)
          const isTwice = id === undefined || taken.has(id)
          if (id !== undefined) taken.add(id)
          return (
            <div
              key={isTwice ? index : `of ${id}`}
              role="row"
              aria-rowindex={index + 2}
              className={className}
              style={{
                position: 'absolute',
                top: 0,
                left: 0,
                right: 0,
                height: rowHeight,
                transform: `translateY(${start - virtual.options.scrollMargin}px)`,
              }}
            >
              {row === undefined ? <Skeleton h={16} style={{ gridColumn: '1 / -1' }} /> : children(row)}
            </div>
          )
        })}
      </div>
      {listing.isLoading && <Skeleton h={rowHeight} mt={4} />}
    </div>
  )
}
