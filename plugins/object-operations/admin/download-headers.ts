/**
 * Headers for downloads by a browser with a session of the console: stored bytes must never run as a page of the console. Source: OWASP
 * "Unrestricted file upload"; RFC 6266 for the name.
 */
import type { ObjectVersion } from 'svc/plugins/objects/api'
import { metadataHeaders } from 'svc/plugins/s3/api'

const contentSecurityPolicy = "sandbox; default-src 'none'"
const plainText = 'text/plain; charset=utf-8'

/** Headers of every answer that consists of stored bytes. */
export const untrustedHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, no-store',
}

export function downloadHeaders(version: ObjectVersion, isInline: boolean): Record<string, string | undefined> {
  const {
    'Content-Type': stored,
    'Content-Encoding': encoding,
    'Content-Language': language,
  } = metadataHeaders(version)
  const shown = isInline ? inlineType(stored!) : undefined
  return {
    ...untrustedHeaders,
    'content-type': shown ?? savedType(stored!),
    'content-encoding': encoding,
    'content-language': language,
    'content-disposition': disposition(shown === undefined ? 'attachment' : 'inline', fileNameOf(version.key)),
  }
}

/** The type with which a browser may show the bytes; undefined: it may only save them. */
function inlineType(stored: string): string | undefined {
  const [type] = stored.toLowerCase().split(';')
  const name = type!.trim()
  // Documents of XML run scripts, whatever they are called. Source: WHATWG MIME Sniffing, "XML MIME type".
  if (/[+/]xml$/.test(name) && !name.startsWith('text/')) return undefined
  if (/^(image|audio|video)\/[a-z0-9.+-]+$/.test(name) || name === 'application/pdf') return name
  return name.startsWith('text/') ? plainText : undefined
}

/** Also of a file that is only saved a page could make a script or a style sheet, whatever its disposition. */
const savedType = (stored: string): string => (/script|css|wasm/i.test(stored) ? 'application/octet-stream' : stored)

function fileNameOf(key: string): string {
  const name = key.slice(key.replace(/\/+$/, '').lastIndexOf('/') + 1).replaceAll('/', '')
  return name === '' ? 'download' : name
}

/** `Content-Disposition` with the name twice: in ASCII for old clients, and in UTF-8. */
export function disposition(kind: 'attachment' | 'inline', fileName: string): string {
  const ascii = fileName.replace(/[^\x20-\x7e]|["\\%/]/g, '_')
  const encoded = encodeURIComponent(fileName.toWellFormed()).replace(
    /['()*!]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
