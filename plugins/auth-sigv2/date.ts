const httpDate =
  /^(?:[A-Z][a-z]{2,8}, )?\d{1,2}[ -][A-Z][a-z]{2}[ -](?:\d{4}|\d{2}) \d{2}:\d{2}:\d{2} (?:GMT|UTC|[+-]\d{4})$/
const isoBasic = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/

/** A date of HTTP (RFC 9110, RFC 5322 with a zone) or ISO 8601 basic format, in milliseconds since 1970; NaN when it is anything else. */
export function parseDate(text: string): number {
  if (httpDate.test(text)) return Date.parse(text)
  const [, year, month, day, hour, minute, second] = isoBasic.exec(text) ?? []
  return year === undefined ? Number.NaN : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}
