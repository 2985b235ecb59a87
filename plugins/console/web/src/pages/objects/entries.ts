/** Rows of a listing: folders and objects, in the order in which the server gives each. */
import type { Answer, ListedObject } from '../../api/operations.ts'

export type Entry = { readonly id: string; readonly name: string } & (
  | { readonly kind: 'folder' }
  | { readonly kind: 'object'; readonly object: ListedObject }
)

/** `id` is the whole prefix or key. A key that ends in a slash has an empty name below its own folder: it is shown by its key. */
export function entriesOf(pages: readonly Answer<'listObjects'>[], prefix: string): Entry[] {
  const folders = new Map<string, Entry>()
  const objects: Entry[] = []
  for (const page of pages) {
    for (const id of page.prefixes) folders.set(id, { kind: 'folder', id, name: id.slice(prefix.length) })
    for (const object of page.objects) {
      objects.push({ kind: 'object', id: object.key, name: object.key.slice(prefix.length) || object.key, object })
    }
  }
  return [...folders.values(), ...objects]
}
