/** Numbers, sizes and times for people. */

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']

/** `1536` is `1.5 KiB`, on one line. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)}\u00a0${units[power]}`
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** Formats a measurement: whole numbers as they are, others with three digits. */
export function formatNumber(value: number): string {
  return Number.isInteger(value) || value >= 1000
    ? formatCount(Math.round(value))
    : String(Number(value.toPrecision(3)))
}

/** `0.0123` is `12.3 ms`. */
export function formatSeconds(seconds: number): string {
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))}\u00a0ms` : `${formatNumber(seconds)}\u00a0s`
}

export const perSecond = (text: string): string => `${text}/s`

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** It stays on one line. */
export function formatDate(date: string): string {
  return dates.format(new Date(date)).replaceAll(' ', '\u00a0')
}

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** Date and time with seconds, on one line. */
export function formatMoment(date: string): string {
  return moments.format(new Date(date)).replaceAll(' ', '\u00a0')
}

/** Where there is little room a time of the day goes below its date. */
export const breakable = (moment: string): string => moment.replace(/,\u00a0(?=\d{1,2}:)/, ', ')

const exactMoments = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})

/** Date and time with milliseconds, to tell apart what happened within a second. */
export function formatExactMoment(date: string): string {
  return exactMoments.format(new Date(date)).replaceAll(' ', '\u00a0')
}

/** The time of the day, with seconds; it stays on one line. */
export function formatTime(date: string): string {
  return new Date(date).toLocaleTimeString().replaceAll(/\s/g, '\u00a0')
}

const clocks = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

/** Hours and minutes; it stays on one line. */
export function formatClock(time: Date): string {
  return clocks.format(time).replaceAll(/\s/g, '\u00a0')
}

/** Seconds as the two largest of days, hours, minutes, seconds. */
export function formatDuration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ] as const
  const first = parts.findIndex(([value]) => value > 0)
  if (first < 0) return '0 s'
  return parts
    .slice(first, first + 2)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ')
}

/** `0.934` is `93.4 %`. */
export function formatPercent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)} %`
}
