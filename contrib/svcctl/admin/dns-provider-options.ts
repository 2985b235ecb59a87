/** Options of the commands for DNS providers: those of the built-in kinds, and `--setting` for the kinds of other plugins. */
import { createReadStream } from 'node:fs'
import { type OptionDeclaration, parsePair } from '../command.ts'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { firstLineOf, readSecret } from '../prompt.ts'
import { parseDuration } from '../units.ts'

export interface DnsProviderOptions {
  readonly type?: string
  readonly comment?: string
  readonly ttl?: number
  readonly propagationTimeout?: string
  readonly pollingInterval?: string
  readonly zoneId?: string
  readonly hostedZoneId?: string
  readonly accessKeyId?: string
  readonly region?: string
  readonly nameserver?: string
  readonly zone?: string
  readonly tsigKeyName?: string
  readonly tsigAlgorithm?: string
  readonly setting?: readonly (readonly [name: string, value: string])[]
  readonly tokenStdin?: boolean
  readonly tokenFile?: string
  readonly secretFile?: readonly (readonly [name: string, path: string])[]
}

/** Options with the same name as a field of the kind's block. */
const blockOptions = [
  ['zoneId', 'zone-id', 'of hosted_dns: id of the zone'],
  ['accessKeyId', 'access-key-id', 'of cloud_dns: id of the access key'],
  ['region', 'region', 'of cloud_dns'],
  ['hostedZoneId', 'hosted-zone-id', 'of cloud_dns: id of the zone'],
  ['nameserver', 'nameserver', 'of rfc2136: the primary server of the zone, host[:port]'],
  ['zone', 'zone', 'rfc2136: the zone (default: found by DNS queries)'],
  ['tsigKeyName', 'tsig-key-name', 'of rfc2136: name of the key'],
  ['tsigAlgorithm', 'tsig-algorithm', 'of rfc2136: such as hmac-sha256'],
] as const

/** The secret that `--token-stdin` and `--token-file` give. */
const tokens: Readonly<Record<string, string>> = {
  hosted_dns: 'apiToken',
  cloud_dns: 'secretAccessKey',
  rfc2136: 'tsigSecret',
}

/** Option names for the words of the server's messages about a document made of these options. */
export const dnsProviderWords: Readonly<Record<string, string>> = {
  'body/name': 'NAME',
  'body/type': '--type',
  'body/comment': '--comment',
  'body/ttl': '--ttl',
  'body/propagationTimeout': '--propagation-timeout',
  'body/pollingInterval': '--polling-interval',
  ...Object.fromEntries(
    Object.keys(tokens).flatMap(kind => blockOptions.map(([field, flag]) => [`body/${kind}/${field}`, `--${flag}`])),
  ),
}

/** Text that is a duration, as the Admin API takes it. */
const duration = (text: string): string => {
  parseDuration(text)
  return text
}

const seconds = (text: string): number => {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new RangeError('is no number of seconds')
  return Number(text)
}

export const dnsProviderOptions: readonly OptionDeclaration[] = [
  { flags: '--type <type>', summary: 'hosted_dns, cloud_dns, rfc2136, or the kind of a plugin' },
  ...blockOptions.map(([, flag, summary]) => ({ flags: `--${flag} <${flag}>`, summary })),
  {
    flags: '--setting <name=value>',
    summary: 'any other setting of the kind; again for more',
    parse: parsePair('='),
    isRepeatable: true,
  },
  { flags: '--token-stdin', summary: 'read the secret of the kind from the first line of standard input' },
  { flags: '--token-file <file>', summary: 'read it from the first line of a file' },
  {
    flags: '--secret-file <name=file>',
    summary: 'a further secret of the kind, from the first line of a file; again for more',
    parse: parsePair('='),
    isRepeatable: true,
  },
  { flags: '--ttl <seconds>', summary: 'time to live of published records (default 60)', parse: seconds },
  {
    flags: '--propagation-timeout <duration>',
    summary: 'how long all servers may take to have a value (default 2m)',
    parse: duration,
  },
  { flags: '--polling-interval <duration>', summary: 'how often they are asked (default 2s)', parse: duration },
  { flags: '--comment <comment>', summary: 'for people' },
]

export type DnsProviderDocument = Readonly<Record<string, unknown>>

/** The server's name for the block of a kind. */
export const blockOf = (type: string): string =>
  type.replace(/[_.-]+([a-z0-9])/g, (_, first: string) => first.toUpperCase())

/** The provider's document with the given options applied, without its name. `before`: the stored document. */
export async function documentOfOptions(
  context: Context,
  options: DnsProviderOptions,
  before: DnsProviderDocument = {},
): Promise<DnsProviderDocument> {
  const type = options.type ?? (before.type as string | undefined)
  if (type === undefined) throw usageError('Name the kind of the provider: --type hosted_dns, cloud_dns or rfc2136.')
  const block = blockOf(type)
  const kept = before.type === type ? (before[block] as object) : {}
  const given = blockOptions.flatMap(([name]) => (options[name] === undefined ? [] : [[name, options[name]]]))
  const settings = { ...kept, ...Object.fromEntries([...given, ...(options.setting ?? [])]) }
  const { comment, ttl, propagationTimeout, pollingInterval } = { ...before, ...defined(options) }
  const common = { comment, ttl, propagationTimeout, pollingInterval }
  return { type, ...common, [block]: settings, credentials: await credentialsOf(context, type, options) }
}

const defined = (options: object) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

async function credentialsOf(
  context: Context,
  type: string,
  { tokenStdin, tokenFile, secretFile = [] }: DnsProviderOptions,
): Promise<Readonly<Record<string, string>>> {
  const read = async (file: string) => firstLineOf(createReadStream(context.path(file)))
  const secrets: Record<string, string> = {}
  if (tokenStdin && tokenFile !== undefined) throw usageError('Either --token-stdin or --token-file.')
  const token = tokenStdin ? await readSecret(context.io) : tokenFile === undefined ? undefined : await read(tokenFile)
  if (token === '') throw usageError('The secret is empty.')
  if (token !== undefined) {
    const name = tokens[type]
    if (name === undefined) throw usageError(`Give the secrets of ${type} by name: --secret-file NAME=FILE.`)
    secrets[name] = token
  }
  for (const [name, file] of secretFile) secrets[name] = await read(file)
  return secrets
}

/** The lines that people read. */
export function linesOfProvider(provider: DnsProviderDocument): readonly string[] {
  const { name, type, hasCredentials } = provider
  const missing = hasCredentials === true ? '' : ' It has no credentials.'
  return [
    `The DNS provider ${name} is stored (${type}).${missing} svcctl admin dns-provider test tells whether it works.`,
  ]
}
