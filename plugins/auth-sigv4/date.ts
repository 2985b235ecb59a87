/** The formats of timestamps in signed requests. */

const zero = 48

/** The number in the digits from `from` to `to`; NaN if one of the characters is no digit. */
function digits(text: string, from: number, to: number): number {
  let value = 0
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - zero
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

/** ISO 8601 basic format, `20250830T123600Z`, as milliseconds since 1970; NaN for other text. */
export function parseAmzDate(text: string): number {
  if (text.length !== 16 || text.charCodeAt(8) !== 84 || text.charCodeAt(15) !== 90) return Number.NaN
  const [month, day] = [digits(text, 4, 6), digits(text, 6, 8)]
  const [hour, minute, second] = [digits(text, 9, 11), digits(text, 11, 13), digits(text, 13, 15)]
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second <= 60))
    return Number.NaN
  return Date.UTC(digits(text, 0, 4), month - 1, day, hour, minute, second)
}

/** `20250830T123600Z`. Milliseconds are dropped. */
export function formatAmzDate(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '')}Z`
}
