/**
 * The rows of a list that may have millions, in pages of the server. Pages near the rows in view are kept, all others are dropped and read
 * again when somebody scrolls back: only the place and the number of rows of each is remembered.
 */
import { keepPreviousData, type QueryKey, useQueries, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'

/** Rows before the end of what is known at which more are read. */
const rowsAhead = 50
/** Pages on either side of the view. */
const pagesKept = 3
/** Higher than that not every browser makes an element; who wants to see more rows filters. */
const pixelsMax = 16_000_000
/** Pixels. */
export const rowHeightDefault = 40

interface KnownPage {
  cursor: string
  count: number
}

export interface Listing<Row> {
  /** Rows that are known so far. */
  readonly count: number
  /** Undefined while it is being read. */
  readonly rowAt: (index: number) => Row | undefined
  /** Rows of all pages in memory. */
  readonly loaded: () => Row[]
  /** Says which rows are in view. */
  readonly look: (first: number, last: number) => void
  readonly error: Error | null
  /** What failed was read before, and is still listed. */
  readonly isStale: boolean
  readonly refetch: () => void
  /** Nothing is known yet. */
  readonly isPending: boolean
  readonly isLoading: boolean
  /** All rows are in one page, and can be sorted as a whole. */
  readonly isOnePage: boolean
  /** There are more rows than are listed. */
  readonly isCutOff: boolean
}

export interface ListingOptions<Page, Row> {
  /** Identifies the list. With another id, pages of the former list are forgotten. */
  readonly id: string
  readonly queryKey: QueryKey
  /** The page that follows `cursor`, which is empty for the first. */
  readonly load: (cursor: string, signal: AbortSignal) => Promise<Page>
  readonly countOf: (page: Page) => number
  /** Pixels. */
  readonly rowHeight?: number
  /** Made once for each page, as long as the function is the same. */
  readonly rowsOf: (page: Page, isOnePage: boolean) => Row[]
}

export function useListing<Page extends { readonly nextCursor: string }, Row>(
  options: ListingOptions<Page, Row>,
): Listing<Row> {
  const { id, queryKey, load, countOf, rowsOf, rowHeight = rowHeightDefault } = options
  const rowsMax = Math.floor(pixelsMax / rowHeight)
  const [view, setView] = useState({ id, from: 0, to: 0 })
  const { from, to } = view.id === id ? view : { from: 0, to: 0 }
  // biome-ignore lint/correctness/useExhaustiveDependencies: a list of its own for each id
  const known = useMemo<KnownPage[]>(() => [{ cursor: '', count: 0 }], [id])

  const pageQuery = (cursor: string) => ({
    queryKey: [...queryKey, cursor],
    queryFn: ({ signal }: { readonly signal: AbortSignal }) => load(cursor, signal),
  })
  const first = useQuery({ ...pageQuery(''), placeholderData: keepPreviousData })
  const start = Math.max(1, from - pagesKept)
  const kept = known.slice(start, to + pagesKept + 1)
  const others = useQueries({
    queries: kept.map(({ cursor }, index) => ({
      ...pageQuery(cursor),
      enabled: start + index >= from && start + index <= to,
      gcTime: 0,
    })),
  })

  const pages = new Map<number, Page>()
  if (first.data !== undefined) note(0, first.data)
  for (const [index, { data }] of others.entries()) {
    if (data !== undefined && !first.isPlaceholderData) note(start + index, data)
  }
  function note(index: number, page: Page): void {
    const place = known[index]
    // The listing has become shorter.
    if (place === undefined) return
    pages.set(index, page)
    place.count = countOf(page)
    if (first.isPlaceholderData) return
    if (page.nextCursor === '') known.length = index + 1
    else known[index + 1] = { count: known[index + 1]?.count ?? 0, cursor: page.nextCursor }
  }

  const isOnePage = known.length === 1
  const starts = startsOf(known)
  const count = starts.at(-1)!
  const rows = useRows(rowsOf, isOnePage)
  const pageOf = useCallback((index: number) => lastBefore(starts, index), [starts])
  /** The page of this row. At the end that is the page after all that are known, until there are too many. */
  const toOf = (row: number) =>
    row < count ? pageOf(row) : count < rowsMax ? known.length - 1 : pageOf(Math.max(0, count - 1))
  const look = (firstRow: number, lastRow: number) => {
    const next = {
      id,
      from: pageOf(Math.max(0, firstRow - rowsAhead)),
      to: toOf(lastRow + rowsAhead),
    }
    if (next.from !== from || next.to !== to || view.id !== id) setView(next)
  }
  const failed = others.find(({ error }) => error !== null)
  return {
    count,
    rowAt(index) {
      const page = pageOf(index)
      const answer = pages.get(page)
      return answer && rows(answer)[index - starts[page]!]
    },
    loaded: () => [...pages.values()].flatMap(rows),
    look,
    error: first.error ?? failed?.error ?? null,
    isStale: (first.error === null ? failed : first)?.data !== undefined,
    refetch: () => void (failed ?? first).refetch(),
    isPending: first.isPending,
    isLoading: first.isPending || others.some(({ isLoading }) => isLoading),
    isOnePage,
    isCutOff: count >= rowsMax && known.at(-1)!.count === 0,
  }
}

/** The index of the first row of each page, and at the end the number of all. */
function startsOf(known: readonly KnownPage[]): number[] {
  const starts = [0]
  for (const { count } of known) starts.push(starts.at(-1)! + count)
  return starts
}

/** The page that has this row: the last one that begins at it or before it. */
function lastBefore(starts: readonly number[], row: number): number {
  let [low, high] = [0, starts.length - 2]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= row) low = middle
    else high = middle - 1
  }
  return low
}

/** Rows of a page, made once. */
function useRows<Page extends object, Row>(
  rowsOf: (page: Page, isOnePage: boolean) => Row[],
  isOnePage: boolean,
): (page: Page) => Row[] {
  return useMemo(() => {
    const made = new WeakMap<Page, Row[]>()
    return page => {
      const rows = made.get(page) ?? rowsOf(page, isOnePage)
      made.set(page, rows)
      return rows
    }
  }, [rowsOf, isOnePage])
}
