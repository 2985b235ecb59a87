/** A table of items: a row each, and on a phone a card each, with the title of a column before its value. */
import { Group, Skeleton, Table, VisuallyHidden } from '@mantine/core'
import type { ReactNode } from 'react'

export interface Column<Item> {
  readonly title: string
  readonly isNumber?: boolean
  /** Set for the last column: it has buttons, and its title is hidden. */
  readonly isActions?: boolean
  readonly render: (item: Item) => ReactNode
}

/** Makes a scroll area reachable by keyboard. */
export const focusable = { viewportProps: { tabIndex: 0 } }

export interface ItemTableProps<Item> {
  readonly label: string
  readonly items: readonly Item[]
  readonly columns: readonly Column<Item>[]
  readonly idOf: (item: Item) => string
  readonly isLoading?: boolean
  /** Less space between rows, for lists that grow every second. */
  readonly isDense?: boolean
  /** Pixels: a window that is wider than a phone scrolls a table that has less. */
  readonly minWidth?: number
}

/** Elements that a phone lays out as blocks are no table to a screen reader unless they say so. */
export function ItemTable<Item>(props: ItemTableProps<Item>) {
  const { label, items, columns, idOf, isLoading = false, isDense = false, minWidth = 640 } = props
  return (
    <Table.ScrollContainer className="items" minWidth={minWidth} scrollAreaProps={focusable}>
      <Table
        role="table"
        verticalSpacing={isDense ? 4 : 'xs'}
        {...(isDense && { fz: 'sm' })}
        highlightOnHover
        aria-label={label}
      >
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {columns.map(({ title, isNumber, isActions }) => (
              <Table.Th role="columnheader" key={title} {...(isNumber === true && { className: 'item-number' })}>
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
          {items.map(item => (
            <Table.Tr role="row" key={idOf(item)}>
              {columns.map(column => (
                <Cell key={column.title} column={column} item={item} />
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Cell<Item>({ column: { title, isNumber, isActions, render }, item }: { column: Column<Item>; item: Item }) {
  if (isActions === true) {
    return (
      <Table.Td role="cell" className="item-actions">
        <Group gap={4} justify="flex-end" wrap="nowrap">
          {render(item)}
        </Group>
      </Table.Td>
    )
  }
  return (
    <Table.Td role="cell" data-title={title} {...(isNumber === true && { className: 'item-number' })}>
      {render(item)}
    </Table.Td>
  )
}
