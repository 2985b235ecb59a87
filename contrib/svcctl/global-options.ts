import { type OptionDeclaration, parseDuration } from './command.ts'

export const timeoutMsDefault = 60_000

function parseTimeout(text: string): number {
  const milliseconds = parseDuration(text)
  if (milliseconds < 1) throw new RangeError('is no time at all')
  return milliseconds
}

/** Before or behind the command. */
export const globalOptions: readonly OptionDeclaration[] = [
  { flags: '--json', summary: 'results as JSON, one object per line; errors too' },
  { flags: '-q, --quiet', summary: 'results and errors alone' },
  { flags: '--no-color', summary: 'no colors (also: NO_COLOR)' },
  { flags: '--config-dir <folder>', summary: 'where aliases are kept (SVCCTL_CONFIG_DIR; default ~/.config/svcctl)' },
  { flags: '--admin-url <url>', summary: 'the Admin API (default: the port after that of the endpoint)' },
  { flags: '--insecure', summary: 'do not verify certificates' },
  { flags: '--ca <file>', summary: 'PEM file of the authorities to trust' },
  {
    flags: '--timeout <duration>',
    summary:
      'longest silence of the server (default 60s, longer where much work comes before an answer); of a stream, how long it is followed',
    parse: parseTimeout,
  },
  { flags: '--debug', summary: 'a line for each request on standard error' },
  { flags: '-y, --yes', summary: 'do not ask' },
]
