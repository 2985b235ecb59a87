/** `Cache-Control` of the files of a site: files with a content hash in their name are cached for ever, pages are revalidated each time. */

/** `app.3f2a9c1b.js`, `index-BkX3_9aZ.css`: a hash of 8 characters or more, with a digit in it, before the extension. */
const hashed = /[.-](?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9]+$/

export function cacheControlOf(key: string): string {
  const name = key.slice(key.lastIndexOf('/') + 1)
  if (/\.html?$/i.test(name)) return 'no-cache'
  return hashed.test(name) ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'
}
