/** Content types by file name extension, as `mime` knows them from the lists of IANA, Apache and nginx. */
import { extname } from 'node:path'

/** Text is taken for UTF-8, which files are almost without exception. */
export async function contentTypeOf(name: string): Promise<string> {
  // Its tables take longer to make than most commands take to run.
  const { default: mime } = await import('mime')
  const extension = extname(name)
  // RFC 8878; the lists lack it.
  const type = extension === '.zst' ? 'application/zstd' : (mime.getType(extension) ?? 'application/octet-stream')
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}
