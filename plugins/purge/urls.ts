/** URLs of paths. */

/** Encodes a decoded path as browsers do. */
export function encodePath(path: string): string {
  return encodeURI(path.toWellFormed()).replaceAll('?', '%3F').replaceAll('#', '%23')
}

/** `both` is http and https. */
export const schemesOf = (scheme: string): readonly string[] => (scheme === 'both' ? ['https', 'http'] : [scheme])

export const urlsOf = ({ host, path }: { readonly host: string; readonly path: string }, scheme: string): string[] =>
  schemesOf(scheme).map(each => `${each}://${host}${encodePath(path)}`)
