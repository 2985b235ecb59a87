/**
 * Texts of a form are what was sent, or the form is refused: the parser would take bytes of another character set for U+FFFD, so that
 * different names of files become one key. Source: RFC 7578 sections 4.2, 4.4 to 4.6 and 5.1; RFC 5987 for `filename*`.
 */
import type { BusboyInstance } from '@fastify/busboy'
import { objectErrors } from 'svc/plugins/objects/api'

/** By lower-case name, a character for each byte. */
export type RawHead = Record<string, string[] | undefined>

/** What the parser does not tell of a part. */
export interface PartHead {
  /** In lower case; undefined where the part names none. */
  readonly charset?: string
  /** Of `filename*`, which counts before `filename`; without folders. */
  readonly fileName?: string
}

/** Calls `listener` with the head of each part, before the parser reads it. */
export function onHeads(parser: BusboyInstance, listener: (head: RawHead) => void): void {
  // The parser has no event for heads; the one below it has.
  const { parser: dicer } = (parser as unknown as { readonly _parser: { readonly parser: NodeJS.EventEmitter } })
    ._parser
  dicer.prependListener('part', (part: NodeJS.EventEmitter) => part.prependListener('header', listener))
}

/** Throws InvalidArgument where the name of the field or of the file is not UTF-8. Afterwards the parser decodes no value of the part. */
export function readHead(head: RawHead): PartHead {
  const disposition = head['content-disposition']?.[0] ?? ''
  const type = head['content-type']?.[0] ?? ''
  head['content-type'] = undefined
  const [beforeFileName] = disposition.split(/;\s*filename/i)
  if (decode(beforeFileName!) === undefined) throw notUtf8('The name of a field')
  if (decode(disposition) === undefined) throw notUtf8('The name of the file', 'file')
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(type)?.[1]?.toLowerCase()
  const extended = /;\s*filename\*\s*=([^;]*)/i.exec(disposition.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'))?.[1]
  return {
    ...(charset !== undefined && { charset }),
    ...(extended !== undefined && { fileName: extendedName(extended.trim()) }),
  }
}

/** `bytes`: a character for each. Throws InvalidArgument where they are no text of the character set, which is UTF-8 unless the part named one. */
export function fieldText(name: string, bytes: string, charset = 'utf-8'): string {
  const text = decode(bytes, charset)
  if (text === undefined) throw notUtf8(`The field ${name}`, name, charset)
  // What the browser made the whole form of, the name of the file too.
  if (name.toLowerCase() === '_charset_' && !/^utf-?8$/i.test(text)) throw notUtf8('The form', name)
  return text
}

function extendedName(value: string): string {
  const [, charset, escaped] = /^([^']*)'[^']*'(.*)$/.exec(value) ?? []
  if (charset === undefined || !/^utf-8$/i.test(charset)) throw notUtf8('The name of the file', 'file')
  try {
    const name = decodeURIComponent(escaped!)
    return name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)
  } catch {
    // An escape that is none, or bytes that are no UTF-8.
    throw notUtf8('The name of the file', 'file')
  }
}

/** Undefined for bytes that are no text of the character set, and for an unknown one. */
function decode(bytes: string, charset = 'utf-8'): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return undefined
  }
}

function notUtf8(what: string, field?: string, charset = 'utf-8') {
  const set = /^utf-?8$/.test(charset) ? 'UTF-8' : charset
  return objectErrors.InvalidArgument(
    `${what} is not valid ${set}. A form that says accept-charset="utf-8" is sent in UTF-8, whatever its page is.`,
    field === undefined ? {} : { extra: { ArgumentName: field, ArgumentValue: '' } },
  )
}
