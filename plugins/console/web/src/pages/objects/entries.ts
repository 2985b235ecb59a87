/** Rows of a listing: folders and objects. */
import type { Answer, ListedObject } from '../../api/operations.ts'

export type Entry = { readonly id: string; readonly name: string } & (
  | { readonly kind: 'folder' }
  | { readonly kind: 'object'; readonly object: ListedObject }
)

/** Tells apart a folder and the object that is called like it. */
export const rowOf = ({ kind, id }: Entry): string => `${kind} ${id}`

/** Selected entries by their rows. Entries that are out of view or no longer loaded stay selected. */
export type Selection = ReadonlyMap<string, Entry>

/** Undefined is the server's order, by key. */
export type Order = { readonly by: 'name' | 'size' | 'modified'; readonly isDescending: boolean } | undefined

/**
 * Of one answer. `id` is the whole prefix or key. A key that ends in a slash has an empty name below its own folder: it is shown by its key.
 * Folders come first where the answer has all there is; else they are where their names are, so that each place in a long list stays its own.
 */
export function entriesOf(page: Answer<'listObjects'>, prefix: string, order: Order, isAll: boolean): Entry[] {
  const folders: Entry[] = page.prefixes.map(id => ({ kind: 'folder', id, name: id.slice(prefix.length) }))
  const objects: Entry[] = page.objects.map(object => ({
    kind: 'object',
    id: object.key,
    name: object.key.slice(prefix.length) || object.key,
    object,
  }))
  const entries = [...folders, ...objects]
  if (order !== undefined) return entries.sort(comparing(order))
  return isAll || folders.length === 0 ? entries : entries.sort(byId)
}

const byId = (a: Entry, b: Entry) => (a.id < b.id ? -1 : 1)

/** Folders first: they have neither a size nor a date. */
function comparing({ by, isDescending }: NonNullable<Order>) {
  const sign = isDescending ? -1 : 1
  return (a: Entry, b: Entry): number => {
    if (a.kind !== b.kind) return a.kind === 'folder' ? -1 : 1
    if (a.kind === 'folder' || b.kind === 'folder' || by === 'name') return sign * byId(a, b)
    if (by === 'size') return sign * (a.object.size - b.object.size) || byId(a, b)
    return sign * (Date.parse(a.object.lastModified) - Date.parse(b.object.lastModified)) || byId(a, b)
  }
}
