import { parseField } from '../admin/fields.ts'
import { defineCommand, parseSeconds } from '../command.ts'
import { connectTo } from '../distributions/document.ts'
import { encodeName } from '../s3/client.ts'

interface Options {
  readonly expire: number
  readonly keyId?: string
  readonly ip?: string
  readonly start?: string
  readonly resource?: string
  readonly cookies?: boolean
}

interface Cookie {
  readonly name: string
  readonly value: string
  readonly domain: string
  readonly path: string
  readonly secure: boolean
  readonly expires: string
}

interface SignResult {
  readonly url?: string
  readonly cookies?: readonly Cookie[]
  readonly keyId: string
  readonly expiresAt: string
}

const parseTime = (text: string): unknown =>
  parseField(
    {
      name: 'start',
      kind: 'time',
      isRequired: false,
      isNullable: false,
      description: '',
      choices: undefined,
      default: undefined,
      mayBeEmpty: false,
      hasLists: false,
      takesText: false,
      shape: undefined,
    },
    text,
  )

export default defineCommand<Options>({
  name: 'dist sign',
  summary: 'Signs a URL of a distribution, or cookies for many, with a key that the server has.',
  description:
    'The path has a behavior with signed access, and its key group a key that was made by `dist keygroup add-key --generate`. With ' +
    '--resource the signature is good for every URL that the pattern matches. Needs admin:SignDistributionURL.',
  arguments: [
    { name: 'target', summary: 'ALIAS/ID', kind: 'target' },
    { name: 'url', summary: 'on a domain of the distribution; or a path, of its first domain', kind: 'text' },
  ],
  options: [
    {
      flags: '--expire <duration>',
      summary: 'how long it is good, 365d at most (default 1h)',
      parse: parseSeconds,
      default: 3600,
    },
    { flags: '--start <time>', summary: 'not before; 2027-01-31T12:00:00Z, or 30m from now', parse: parseTime },
    { flags: '--ip <address>', summary: 'only from this address or CIDR block' },
    { flags: '--resource <pattern>', summary: 'a URL, or a path, with * and ? in its path and query' },
    { flags: '--key-id <id>', summary: 'default: the newest enabled key' },
    { flags: '--cookies', summary: 'cookies instead of a URL' },
  ],
  typed: {
    'body/expiresInSeconds': '--expire (in seconds)',
    'body/url': 'URL',
    'body/ip': '--ip',
    'body/resource': '--resource',
    'body/keyId': '--key-id',
    'body/startsAt': '--start',
  },
  examples: [
    'svcctl dist sign home/site https://www.example.test/films/a.mp4 --expire 2h',
    "svcctl dist sign home/site /films/ --cookies --resource 'https://www.example.test/films/*'",
  ],
  async run(context, [text, url], { expire, start, ip, resource, keyId, cookies = false }) {
    const { client, id } = await connectTo(context, text!)
    const { body } = await client.send({
      operation: 'signDistributionUrl',
      method: 'POST',
      path: `/distributions/${encodeName(id)}/sign`,
      body: {
        ...(url!.startsWith('/') ? { path: url } : { url }),
        kind: cookies ? 'cookies' : 'url',
        expiresInSeconds: expire,
        startsAt: start,
        ip,
        resource,
        keyId,
      },
    })
    const signed = body as SignResult
    context.output.result({ ...signed }, ...(signed.cookies?.map(headerOf) ?? [signed.url!]))
    context.output.note(`Signed by ${signed.keyId}, good until ${signed.expiresAt}.`)
  },
})

/** The cookie as a server sends it. */
function headerOf({ name, value, domain, path, secure, expires }: Cookie): string {
  const time = new Date(expires).toUTCString()
  return `Set-Cookie: ${name}=${value}; Domain=${domain}; Path=${path}; Expires=${time}; HttpOnly${secure ? '; Secure' : ''}`
}
