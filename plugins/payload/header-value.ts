import { objectErrors } from 'svc/plugins/objects/api'

const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they could not be sent back as a header
const notInHeader = /[\u0000-\u0008\u000a-\u001f\u007f]/

/**
 * A value that came as a parameter or a field, as the header with that name (lower case) would have brought it: a character for each
 * byte. Throws InvalidArgument for what no header can hold.
 */
export function asHeaderValue(name: string, value: string): string {
  if (!headerName.test(name) || notInHeader.test(value)) {
    throw objectErrors.InvalidArgument('A parameter that stands for a header holds what no header can hold.', {
      extra: { ArgumentName: name, ArgumentValue: value },
    })
  }
  return Buffer.from(value, 'utf8').toString('latin1')
}
