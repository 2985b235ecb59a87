/** Dates of HTTP. Source: RFC 9110 section 5.6.7, whose three forms are read; anything else is no date. */
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const month = `(?<month>${months.join('|')})`
const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const time = String.raw`(?<hours>\d\d):(?<minutes>\d\d):(?<seconds>\d\d)`

const forms = [
  new RegExp(String.raw`^${day}, (?<day>\d\d) ${month} (?<year>\d{4}) ${time} GMT$`),
  new RegExp(
    String.raw`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d\d)-${month}-(?<shortYear>\d\d) ${time} GMT$`,
  ),
  new RegExp(String.raw`^${day} ${month} (?<day>[ \d]\d) ${time} (?<year>\d{4})$`),
]

const century = 100
const futureYearsMax = 50

/** Milliseconds since 1970. `nowMs` decides the century of years of two digits. */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  for (const form of forms) {
    const parts = form.exec(text)?.groups
    if (parts === undefined) continue
    const year = parts.year === undefined ? fullYear(Number(parts.shortYear), nowMs) : Number(parts.year)
    const [hours, minutes, seconds] = [Number(parts.hours), Number(parts.minutes), Number(parts.seconds)]
    // 60 is a leap second.
    if (hours > 23 || minutes > 59 || seconds > 60) return undefined
    const date = Number(parts.day)
    const index = months.indexOf(parts.month as string)
    const timeMs = Date.UTC(year, index, date, hours, minutes, seconds)
    const isReal = new Date(Date.UTC(year, index, date)).getUTCDate() === date
    return isReal ? timeMs : undefined
  }
  return undefined
}

/** A year that appears to be more than 50 years in the future is the last one with these digits. */
function fullYear(digits: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear()
  const year = now - (now % century) + digits
  return year > now + futureYearsMax ? year - century : year
}
