/** How S3 writes times, ETags and checksums. */
import type { ChecksumValue } from 'svc/plugins/checksums/api'

/** Milliseconds since 1970 as in XML answers: `2026-01-02T03:04:05.678Z`. */
export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

let lastSecond = Number.NaN
let lastDate = ''

/** Milliseconds since 1970 as in headers (RFC 9110 section 5.6.7). */
export function httpDate(timeMs: number): string {
  const second = Math.floor(timeMs / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    lastDate = new Date(timeMs).toUTCString()
  }
  return lastDate
}

export function quoteEtag(etag: string): string {
  return `"${etag}"`
}

/** Clients send ETags with and without quotes; a weak one counts as its strong form. */
export function unquoteEtag(text: string): string {
  const trimmed = text.trim()
  const strong = trimmed.startsWith('W/') ? trimmed.slice(2) : trimmed
  return strong.length >= 2 && strong.startsWith('"') && strong.endsWith('"') ? strong.slice(1, -1) : strong
}

/** `x-amz-checksum-<algorithm>` and `x-amz-checksum-type`; nothing without a checksum. */
export function checksumHeaders(checksum: ChecksumValue | undefined): Record<string, string> {
  if (checksum === undefined) return {}
  return {
    [`x-amz-checksum-${checksum.algorithm.toLowerCase()}`]: checksum.value,
    'x-amz-checksum-type': checksum.type,
  }
}

/** `ChecksumCRC32` and `ChecksumType` as XML answers have them. */
export function checksumFields(checksum: ChecksumValue | undefined): Record<string, string> {
  if (checksum === undefined) return {}
  return { [`Checksum${checksum.algorithm}`]: checksum.value, ChecksumType: checksum.type }
}
