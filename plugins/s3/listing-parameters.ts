/** Parameters that all listing operations share. */
import { objectErrors } from 'svc/plugins/objects/api'

/** The largest page; clients may request more, and get this many. */
const pageMax = 1000
/** S3 does not accept larger integers. */
const integerMax = 2 ** 31 - 1

/** `max-keys`, `max-uploads`, `max-parts`: 0…2³¹-1, limited to 1000. Throws InvalidArgument for other values. */
export function readListSize(text: string | undefined, name: string): number {
  if (text === undefined || text === '') return pageMax
  if (!/^[0-9]{1,10}$/.test(text) || Number(text) > integerMax) {
    throw objectErrors.InvalidArgument(`Argument ${name} must be an integer between 0 and ${integerMax}`, {
      extra: { ArgumentName: name, ArgumentValue: text },
    })
  }
  return Math.min(Number(text), pageMax)
}

/** Undefined or `url`. */
export function requireEncodingType(text: string | undefined): 'url' | undefined {
  if (text === undefined || text === '') return undefined
  if (text === 'url') return text
  throw objectErrors.InvalidArgument('Invalid Encoding Method specified in Request', {
    extra: { ArgumentName: 'encoding-type', ArgumentValue: text },
  })
}

/** A key or prefix as `encoding-type=url` requires it: everything except slashes and unreserved characters is escaped. */
export function listingText(text: string, encoding: 'url' | undefined): string {
  if (encoding === undefined) return text
  return encodeURIComponent(text)
    .replaceAll('%2F', '/')
    .replace(/[!'()*]/g, escapeCharacter)
}

function escapeCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}
