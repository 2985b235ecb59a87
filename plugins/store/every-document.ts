import type { Collection, StoredDocument } from './api.ts'

/** All documents of a collection that has few, sorted by their ids. */
export async function everyDocument<T>(collection: Pick<Collection<T>, 'list'>): Promise<StoredDocument<T>[]> {
  const found: StoredDocument<T>[] = []
  for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
    const page: Awaited<ReturnType<typeof collection.list>> = await collection.list({ startAfter })
    found.push(...page.documents)
    startAfter = page.next
  }
  return found
}
