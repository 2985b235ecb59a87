/** Instants in policies: ISO 8601 in the forms of the W3C note, or seconds since 1970. */

const form = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2}))?)?)?$/
const epoch = /^-?\d{1,13}(?:\.\d{1,9})?$/

/** Milliseconds since 1970; undefined for invalid text. A number of four digits is a year. */
export function parseInstant(text: string): number | undefined {
  const match = form.exec(text)
  if (match === null) return epoch.test(text) ? Number(text) * 1000 : undefined
  const [, year, month = '01', day = '01', hour = '00', minute = '00', second = '00', fraction = '', zone = 'Z'] = match
  const dayMs = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const date = new Date(dayMs)
  // Date.UTC converts 31 February to 3 March, and years below 100 to other years.
  if (date.getUTCFullYear() !== Number(year) || date.getUTCMonth() !== Number(month) - 1) return undefined
  if (date.getUTCDate() !== Number(day)) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const timeMs =
    (Number(hour) * 3600 + Number(minute) * 60 + Number(second)) * 1000 + Number(`0.${fraction || 0}`) * 1000
  if (zone === 'Z') return dayMs + timeMs
  const offsetMinutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4))
  return dayMs + timeMs - (zone[0] === '-' ? -1 : 1) * offsetMinutes * 60_000
}
