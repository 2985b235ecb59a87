/** Headers for the collector, usually a token among them. */
import { readNameValues } from './name-values.ts'

const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/
const headerValue = /^[\x20-\x7e]*$/
/** Headers that the protocols set themselves. */
const ownNames = new Set(['content-type', 'content-length', 'host', 'te', 'connection', 'transfer-encoding'])

/** Lower-case names. The text has no problem. */
export function readHeaders(text = ''): Readonly<Record<string, string>> {
  return Object.fromEntries([...(readNameValues(text) ?? [])].map(([name, value]) => [name.toLowerCase(), value]))
}

/** A sentence without subject, that repeats no value. */
export function headersProblem(text: string): string | undefined {
  const list = readNameValues(text)
  if (list === undefined) return 'must be name=value,name=value with percent-encoded values'
  for (const [name, value] of list) {
    const lower = name.toLowerCase()
    if (!headerName.test(lower)) return 'has a name that no header can have'
    if (ownNames.has(lower) || lower.startsWith('grpc-')) return `must not set ${lower}`
    if (!headerValue.test(value)) return `has a value for ${lower} with characters that no header can have`
  }
  return undefined
}
