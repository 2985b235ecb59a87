/** A table of items: a row each, and on a phone a card each, with the title of a column before its value. */
import { Group, Skeleton, Table, VisuallyHidden } from '@mantine/core'
import { IconChevronRight } from '@tabler/icons-react'
import { Fragment, type ReactNode } from 'react'
import { named } from './name.tsx'
import { Titled } from './names.tsx'

export interface Column<Item> {
  readonly title: string
  readonly isNumber?: boolean
  /** Set for the last column: it has buttons, and its title is hidden. */
  readonly isActions?: boolean
  /** Where a phone shows it in a dense table: in the line that names the row, beside the name, or across below it. Absent: in small letters at the end. */
  readonly place?: 'name' | 'beside' | 'across'
  readonly render: (item: Item) => ReactNode
  /** In small letters below it. */
  readonly note?: (item: Item) => string
  /** Whether there is such a thing of this item, and the caller may know it; a column that has it of none is left out. Absent: always. */
  readonly isKnown?: (item: Item) => boolean
}

/** Makes a scroll area reachable by keyboard. */
export const focusable = { viewportProps: { tabIndex: 0 } }

export interface ItemTableProps<Item> {
  readonly label: string
  readonly items: readonly Item[]
  readonly columns: readonly Column<Item>[]
  readonly idOf: (item: Item) => string
  /** The title above items that follow each other and have the same. */
  readonly groupOf?: (item: Item) => string
  readonly isLoading?: boolean
  /** Shows all of an item: a click on its row, or on its first cell, which is a button then. */
  readonly onOpen?: (item: Item) => void
  /** Less space between rows, for lists that grow every second; a phone shows a few lines of each, without the titles of the columns. */
  readonly isDense?: boolean
  /** Pixels: a window that is wider than a phone scrolls a table that has less. */
  readonly minWidth?: number
}

/** Elements that a phone lays out as blocks are no table to a screen reader unless they say so. */
export function ItemTable<Item>(props: ItemTableProps<Item>) {
  const { label, items, idOf, groupOf, isLoading = false, isDense = false, minWidth = 640, onOpen } = props
  const columns = props.columns.filter(
    ({ isKnown }) => isKnown === undefined || items.length === 0 || items.some(isKnown),
  )
  return (
    <Table.ScrollContainer
      className={isDense ? 'items items-dense' : 'items'}
      minWidth={minWidth}
      scrollAreaProps={focusable}
    >
      <Table
        role="table"
        aria-colcount={columns.length}
        verticalSpacing={isDense ? 4 : 'xs'}
        {...(isDense && { fz: 'sm' })}
        highlightOnHover
        aria-label={label}
      >
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {columns.map(({ title, isNumber, isActions }, index) => (
              <Table.Th
                role="columnheader"
                aria-colindex={index + 1}
                key={title}
                {...(isNumber === true && { className: 'item-number' })}
              >
                {isActions === true ? <VisuallyHidden>{title}</VisuallyHidden> : title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          {isLoading &&
            [1, 2, 3].map(row => (
              <Table.Tr role="row" key={row}>
                <Table.Td role="cell" colSpan={columns.length}>
                  <Skeleton h={22} />
                </Table.Td>
              </Table.Tr>
            ))}
          {items.map((item, index) => (
            <Fragment key={idOf(item)}>
              {groupOf !== undefined && (index === 0 || groupOf(items[index - 1] as Item) !== groupOf(item)) && (
                <Table.Tr role="row">
                  <Table.Th role="rowheader" colSpan={columns.length}>
                    {groupOf(item)}
                  </Table.Th>
                </Table.Tr>
              )}
              <Table.Tr role="row" {...(onOpen !== undefined && openBy(() => onOpen(item)))}>
                {columns.map((column, index) => (
                  <Cell
                    key={column.title}
                    index={index + 1}
                    column={column}
                    item={item}
                    isDense={isDense}
                    {...(index === 0 && onOpen !== undefined && { onOpen: () => onOpen(item) })}
                  />
                ))}
              </Table.Tr>
            </Fragment>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

/** The button of the first cell is for keyboards and screen readers; a pointer may press anywhere. Whoever selects text wants to copy it. */
const openBy = (open: () => void) => ({
  className: 'item-opens',
  onClick({ target, currentTarget }: { readonly target: EventTarget; readonly currentTarget: Element }) {
    // What a menu of the row shows is no part of it in the page.
    const isOther =
      !(target instanceof Element && currentTarget.contains(target)) || target.closest('a, button, input') !== null
    if (!isOther && getSelection()?.isCollapsed !== false) open()
  },
})

interface CellProps<Item> {
  /** Of the column, from 1: a phone leaves empty cells out, and those after them have to stay below their heads. */
  readonly index: number
  readonly column: Column<Item>
  readonly item: Item
  readonly isDense: boolean
  readonly onOpen?: () => void
}

function Cell<Item>({ index, column, item, isDense, onOpen }: CellProps<Item>) {
  const { title, isNumber, isActions, place = 'end', render, note } = column
  if (isActions === true) {
    return (
      <Table.Td role="cell" aria-colindex={index} className="item-actions">
        <Group gap={4} justify="flex-end" wrap="nowrap">
          {render(item)}
        </Group>
      </Table.Td>
    )
  }
  const content =
    onOpen === undefined ? (
      named(render(item))
    ) : (
      <button type="button" className="object-open" aria-haspopup="dialog" onClick={onOpen}>
        <IconChevronRight size={14} aria-hidden className="object-icon" /> {named(render(item))}
      </button>
    )
  return (
    <Table.Td
      role="cell"
      aria-colindex={index}
      {...(isDense ? { 'data-place': place } : { 'data-title': title })}
      {...(isNumber === true && { className: 'item-number' })}
    >
      {note === undefined ? content : <Titled name={content} note={note(item)} />}
    </Table.Td>
  )
}
