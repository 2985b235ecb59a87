import type { Collection, StoredDocument } from 'svc/plugins/store/api'
import type { PageRequest } from './api.ts'
import { usersErrors } from './errors.ts'

const pageMax = 1000

export interface SelectedPage<T> {
  readonly documents: readonly StoredDocument<T>[]
  readonly next: string | undefined
}

export function readLimit(limit: number = pageMax): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= pageMax) return limit
  throw usersErrors.invalid_argument(`limit is 1 to ${pageMax}.`, { extra: { Argument: 'limit' } })
}

/** The next documents that match. Others do not count. */
export async function selectPage<T>(
  collection: Collection<T>,
  { prefix = '', startAfter = '', limit }: PageRequest,
  isWanted: (document: StoredDocument<T>) => boolean,
): Promise<SelectedPage<T>> {
  const wanted = readLimit(limit)
  const documents: StoredDocument<T>[] = []
  let from: string | undefined = startAfter
  while (from !== undefined) {
    const page: SelectedPage<T> = await collection.list({ prefix, startAfter: from })
    from = page.next
    for (const document of page.documents) {
      if (!isWanted(document)) continue
      // One more document than requested: only then there is a next page.
      if (documents.length === wanted) return { documents, next: documents.at(-1)!.id }
      documents.push(document)
    }
  }
  return { documents, next: undefined }
}

/** A page with more ends, however many items were asked for: documents with policies are long. It has one item at least. */
export const pageBytesMax = 1024 * 1024

export const bytesOf = (document: unknown): number => JSON.stringify(document).length

/** As many of the items as a page takes. */
export function fitting<Item>(items: readonly Item[]): readonly Item[] {
  let bytes = 0
  const end = items.findIndex(item => {
    bytes += bytesOf(item)
    return bytes > pageBytesMax
  })
  return end < 0 ? items : items.slice(0, Math.max(1, end))
}
