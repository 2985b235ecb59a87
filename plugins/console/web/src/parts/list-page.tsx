/** A page that is one long table: loads page by page, filters by prefix, says what to do when there is nothing. */
import { Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useSearch } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { Problem } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { ProblemAlert } from './failure.tsx'
import { type Column, ItemTable } from './item-table.tsx'
import { LinkedText } from './linked-text.tsx'
import { useLongList } from './long-list.tsx'

export interface ListPageProps<Item> {
  readonly title: string
  /** Set if the list is a part of a page. */
  readonly isPart?: boolean
  /** Beside the title: the buttons of the page. */
  readonly actions?: ReactNode
  /** Under the title; may depend on what is listed. */
  readonly head?: ReactNode | ((items: readonly Item[]) => ReactNode)
  /** The beginning of the key under which the pages are kept; changed by what the list depends on. */
  readonly queryKey: readonly unknown[]
  /** Lists without a filter leave `prefix` alone and say so by `hasFilter`. */
  readonly load: (page: { prefix: string; cursor: string; signal: AbortSignal }) => Promise<{
    readonly items: readonly Item[]
    readonly nextCursor?: string
  }>
  /** Begins with `find` of the address. */
  readonly hasFilter?: boolean
  readonly columns: readonly Column<Item>[]
  readonly idOf: (item: Item) => string
  /** What is said of an empty list; absent: a list that is nearly always empty is shown only where it is not. */
  readonly none?: string
  /** Shows all of an item. */
  readonly onOpen?: (item: Item) => void
  /** Smaller letters, for rows of many columns. */
  readonly isDense?: boolean
  /** Milliseconds for each page that is shown, of a list that changes by itself; how soon may depend on what is listed. */
  readonly refetchInterval?: number | ((items: readonly Item[]) => number | false)
}

export function ListPage<Item>(props: ListPageProps<Item>) {
  const { title, actions, head, queryKey, load, hasFilter = false, columns, idOf, none, refetchInterval } = props
  const { isPart = false, onOpen, isDense = false } = props
  const inAddress = useSearch({ strict: false }) as { readonly find?: unknown }
  const find = hasFilter ? String(inAddress.find ?? '') : ''
  const [prefix, setPrefix] = useState(find)
  const [shownFind, setShownFind] = useState(find)
  // The search leads here from here, too.
  if (find !== shownFind) {
    setShownFind(find)
    setPrefix(find)
  }
  const [asked] = useDebouncedValue(prefix.trim(), 200)
  const list = useLongList({
    queryKey: [...queryKey, asked],
    load: (cursor, signal) => load({ prefix: asked, cursor, signal }),
    ...(refetchInterval !== undefined && { refetchInterval }),
  })
  const { items, isEmpty } = list
  if (none === undefined && (isEmpty || list.isPending)) return null
  const isRefused = list.error instanceof Problem && list.error.status === 403
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={isPart ? 2 : 1} size={isPart ? 'h4' : 'h2'}>
          {title}
        </Title>
        {/* Whoever may not see the list is offered nothing. */}
        {!isRefused && (
          <Group gap="xs" className="page-actions">
            {actions}
          </Group>
        )}
      </Group>
      {typeof head === 'function' ? head(items) : head}
      {/* Over nothing it would find nothing. */}
      {hasFilter && !(isEmpty && prefix === '' && asked === '') && (
        <TextInput
          type="search"
          aria-label={texts.common.search}
          placeholder={texts.common.search}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={prefix}
          onChange={event => setPrefix(event.currentTarget.value)}
          maw={360}
        />
      )}
      {list.error !== null && <ProblemAlert error={list.error} onRetry={() => list.refetch()} isStale={list.isStale} />}
      {isEmpty && (
        <Text c="dimmed">{asked === '' ? <LinkedText text={none ?? ''} /> : texts.common.noneBegins(asked)}</Text>
      )}
      {list.toPrevious}
      {!isEmpty && (list.error === null || items.length > 0) && (
        <ItemTable
          label={title}
          items={items}
          columns={columns}
          idOf={idOf}
          isLoading={list.isPending}
          isDense={isDense}
          {...(onOpen !== undefined && { onOpen })}
        />
      )}
      {list.toNext}
    </Stack>
  )
}
