/**
 * Percent-encoding of Signature Version 4: A–Z a–z 0–9 `-` `.` `_` `~` stay unchanged, every other byte becomes `%XX` with upper-case
 * digits. Works on bytes, because raw targets need not be UTF-8: each character of an input string is one byte (latin1), as in the request
 * targets of Node.js.
 */

const unreserved = new Uint8Array(256)
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~') {
  unreserved[character.charCodeAt(0)] = 1
}

const encoded: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  unreserved[byte] ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
)

const percent = 37
const plus = 43
const slash = 47

/** Value of a hexadecimal digit's character code, or -1. */
export function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  if (code >= 97 && code <= 102) return code - 87
  if (code >= 65 && code <= 70) return code - 55
  return -1
}

/** How raw text of a target is encoded again. A `%` that begins no escape stays unchanged. */
interface Recoding {
  /** A literal slash stays unchanged, in paths. */
  readonly keepSlash: boolean
  /** An escaped slash (`%2F`) becomes a literal one, for clients that sign keys in this way. */
  readonly openSlash: boolean
  /** A literal plus is a space, in queries. */
  readonly plusIsSpace: boolean
}

function recode(raw: string, { keepSlash, openSlash, plusIsSpace }: Recoding): string {
  let out = ''
  for (let i = 0; i < raw.length; i++) {
    let byte = raw.charCodeAt(i) & 0xff
    if (byte === slash && keepSlash) {
      out += '/'
      continue
    }
    if (byte === plus && plusIsSpace) byte = 32
    else if (byte === percent && i + 2 < raw.length) {
      const high = hexDigit(raw.charCodeAt(i + 1))
      const low = hexDigit(raw.charCodeAt(i + 2))
      if (high >= 0 && low >= 0) {
        byte = high * 16 + low
        i += 2
        if (byte === slash && openSlash) {
          out += '/'
          continue
        }
      }
    }
    out += encoded[byte]
  }
  return out
}

/** Decodes each segment of a raw path and encodes it canonically. */
export const recodePath = (rawPath: string): string =>
  recode(rawPath, { keepSlash: true, openSlash: false, plusIsSpace: false })

/** Like `recodePath`, for clients that sign literal slashes of a key and send them escaped. */
export const recodePathOpen = (rawPath: string): string =>
  recode(rawPath, { keepSlash: true, openSlash: true, plusIsSpace: false })

/** A raw name or value of a query, encoded canonically. */
export const recodeQueryText = (raw: string): string =>
  recode(raw, { keepSlash: false, openSlash: false, plusIsSpace: true })

/** Encodes text as UTF-8. */
export function encodeText(text: string): string {
  return recode(Buffer.from(text, 'utf8').latin1Slice().replaceAll('%', '%25'), {
    keepSlash: false,
    openSlash: false,
    plusIsSpace: false,
  })
}

/** Decodes `%XX`; other characters stay unchanged. For values that consist of ASCII by their grammar. */
export function decodeAscii(raw: string): string {
  if (!raw.includes('%')) return raw
  let out = ''
  for (let i = 0; i < raw.length; i++) {
    const code = raw.charCodeAt(i)
    const high = code === percent ? hexDigit(raw.charCodeAt(i + 1)) : -1
    const low = high >= 0 ? hexDigit(raw.charCodeAt(i + 2)) : -1
    if (low >= 0) {
      out += String.fromCharCode(high * 16 + low)
      i += 2
    } else out += raw[i]
  }
  return out
}
