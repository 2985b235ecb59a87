/** Base64 as CDNs write it in URLs: `+`, `=` and `/` are `-`, `_` and `~`. */

/** Maximum length of a signature or policy as received. */
export const encodedCharactersMax = 16 * 1024
export const policyBytesMax = 8 * 1024

export function encodeBytes(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('=', '_').replaceAll('/', '~')
}

/**
 * Undefined for anything but the one text that `encodeBytes` makes of these bytes: without padding, or with bits set that no byte has,
 * one signature would have two texts.
 */
export function decodeBytes(text: string): Buffer | undefined {
  // A plus would decode to the same byte as a dash.
  if (text.length > encodedCharactersMax || /[+=/]/.test(text)) return undefined
  const plain = text.replaceAll('-', '+').replaceAll('_', '=').replaceAll('~', '/')
  const bytes = Buffer.from(plain, 'base64')
  // Node.js skips invalid characters without an error.
  return bytes.toString('base64') === plain ? bytes : undefined
}

/** How long the text of so many bytes is. */
export const encodedLength = (bytes: number): number => 4 * Math.ceil(bytes / 3)
