/** Formats of times, ETags and checksums in S3. */
import type { ChecksumValue } from 'svc/plugins/checksums/api'

const dayMs = 86_400_000
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))
const milliseconds = Array.from({ length: 1000 }, (_, number) => `${String(number).padStart(3, '0')}Z`)
let lastDay = Number.NaN
let lastDayText = ''

/**
 * Milliseconds since 1970 as in XML answers: `2026-01-02T03:04:05.678Z`. A listing has a thousand of them, mostly of a few days: only the
 * day is formatted with Date, which is slow.
 */
export function isoTime(timeMs: number): string {
  const day = Math.floor(timeMs / dayMs)
  if (day !== lastDay) {
    lastDay = day
    lastDayText = new Date(day * dayMs).toISOString().slice(0, 11)
  }
  const rest = Math.floor(timeMs - day * dayMs)
  const second = Math.floor(rest / 1000)
  const minute = Math.floor(second / 60)
  const hour = Math.floor(minute / 60)
  return `${lastDayText}${twoDigits[hour]}:${twoDigits[minute % 60]}:${twoDigits[second % 60]}.${milliseconds[rest % 1000]}`
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

/** The ETag without quotes, which clients may send or omit; a weak one counts as its strong form. */
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

/** `ChecksumCRC32` and `ChecksumType` as in XML answers. */
export function checksumFields(checksum: ChecksumValue | undefined): Record<string, string> {
  if (checksum === undefined) return {}
  return { [`Checksum${checksum.algorithm}`]: checksum.value, ChecksumType: checksum.type }
}
