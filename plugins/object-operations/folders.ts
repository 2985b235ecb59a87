/** The folders that a request names: every place is walked once, however often and deep it is named. */
import type { AdminRequest } from 'svc/plugins/admin/api'

/** With the slash at the end, in the form in which keys are stored. */
export const folderPrefixes = (
  { normalizeKey }: Pick<AdminRequest, 'normalizeKey'>,
  prefixes: readonly string[],
): string[] => prefixes.map(prefix => normalizeKey(prefix.endsWith('/') ? prefix : `${prefix}/`))

/** Without those that lie within another one. */
export function outermost(folders: readonly string[]): string[] {
  const found: string[] = []
  // What begins with a text sorts directly behind it.
  for (const folder of folders.toSorted()) {
    const outer = found.at(-1)
    if (outer === undefined || !folder.startsWith(outer)) found.push(folder)
  }
  return found
}
