/** The rows of a folder: its folders and objects. */
import { useCallback } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { type Listing, useListing } from '../../parts/listing.ts'
import { type Entry, entriesOf, type Order } from './entries.ts'

/** Entries per request, and per page that is sorted by itself. */
export const pageSize = 1000

type Page = Answer<'listObjects'>

export interface FolderListingOptions {
  readonly bucket: string
  /** Names are shown without it. */
  readonly folder: string
  readonly prefix: string
  readonly order: Order
}

export function useFolderListing({ bucket, folder, prefix, order }: FolderListingOptions): Listing<Entry> {
  return useListing({
    id: `${bucket}/${prefix}`,
    queryKey: ['objects', bucket, prefix],
    load: (cursor, signal): Promise<Page> =>
      call('listObjects', { params: { bucket }, query: { prefix, delimiter: '/', cursor, limit: pageSize }, signal }),
    countOf: ({ objects, prefixes }) => objects.length + prefixes.length,
    rowsOf: useCallback((page: Page, isOnePage: boolean) => entriesOf(page, folder, order, isOnePage), [folder, order]),
  })
}
