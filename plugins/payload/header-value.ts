import { objectErrors } from 'svc/plugins/objects/api'

const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they could not be sent back as a header
const notInHeader = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** Why it can be no header, without a subject; undefined where it can. The name is in lower case. */
export function headerFlaw(name: string, value: string): string | undefined {
  if (!headerName.test(name))
    return 'has a name with characters that no header can have: letters, digits and hyphens can'
  return notInHeader.test(value) ? 'has a control character in its value, which no header can have' : undefined
}

/**
 * A value that came as a parameter or a field, as the header with that name (lower case) would have brought it: a character for each
 * byte. Throws InvalidArgument for what no header can hold.
 */
export function asHeaderValue(name: string, value: string): string {
  if (headerFlaw(name, value) !== undefined) {
    throw objectErrors.InvalidArgument('A parameter that stands for a header holds what no header can hold.', {
      extra: { ArgumentName: name, ArgumentValue: value },
    })
  }
  return Buffer.from(value, 'utf8').toString('latin1')
}
