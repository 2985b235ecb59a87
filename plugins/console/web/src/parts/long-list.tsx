/**
 * Lists that are read page by page on request. All pages that are shown are read again after each change, so their number is bounded: the one
 * at the other end is dropped, and read again when somebody goes back.
 */
import { Button } from '@mantine/core'
import { keepPreviousData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { texts } from '../texts/index.ts'

export const pagesMax = 5

/** Where a page begins, and how one came there: cursors lead onwards only. */
interface Place {
  readonly cursor: string
  readonly before?: Place
}

const start: Place = { cursor: '' }

export interface LongListOptions<Item> {
  readonly queryKey: QueryKey
  readonly load: (
    cursor: string,
    signal: AbortSignal,
  ) => Promise<{
    readonly items: readonly Item[]
    readonly nextCursor?: string
  }>
  /** Milliseconds for each page that is shown, of a list that changes by itself; how soon may depend on what is listed. */
  readonly refetchInterval?: number | ((items: readonly Item[]) => number | false)
}

export function useLongList<Item>({ queryKey, load, refetchInterval = () => false }: LongListOptions<Item>) {
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageParam.cursor, signal),
    initialPageParam: start,
    getNextPageParam: ({ nextCursor }, _pages, place) =>
      nextCursor ? { cursor: nextCursor, before: place } : undefined,
    getPreviousPageParam: (_page, _pages, { before }) => before,
    maxPages: pagesMax,
    placeholderData: keepPreviousData,
    // Other pages and programs change what is listed.
    refetchOnMount: 'always',
    // Of one page the rows are all that one knows; of several, somebody is on the way through them.
    refetchOnWindowFocus: ({ state }) => (state.data?.pages.length ?? 0) <= 1,
    refetchInterval({ state }) {
      const pages = state.data?.pages ?? []
      const each =
        typeof refetchInterval === 'number' ? refetchInterval : refetchInterval(pages.flatMap(({ items }) => items))
      return each !== false && each * Math.max(1, pages.length)
    },
  })
  const items = list.data?.pages.flatMap(page => page.items) ?? []
  return {
    ...list,
    items,
    /** What failed was read before, and is still listed. */
    isStale: list.data !== undefined && !list.isFetchNextPageError && !list.isFetchPreviousPageError,
    /** There is nothing at all, not only here. */
    isEmpty: list.isSuccess && items.length === 0 && !list.hasPreviousPage,
    toPrevious: list.hasPreviousPage && (
      <Button variant="default" onClick={() => list.fetchPreviousPage()} loading={list.isFetchingPreviousPage}>
        {texts.common.previous}
      </Button>
    ),
    toNext: list.hasNextPage && (
      <Button variant="default" onClick={() => list.fetchNextPage()} loading={list.isFetchingNextPage}>
        {texts.common.more}
      </Button>
    ),
  }
}
