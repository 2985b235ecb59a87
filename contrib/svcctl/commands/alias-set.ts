import { besidePort, createAdminClient } from '../admin/client.ts'
import { type Alias, parseEndpoint, pathStyles, requireAliasName } from '../aliases.ts'
import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { AdminError, CliError, failure, S3Error, usageError } from '../errors.ts'
import { timeoutMsDefault } from '../global-options.ts'
import { askSecret, readSecret } from '../prompt.ts'
import { listBuckets } from '../s3/listing.ts'

interface Options {
  readonly region?: string
  readonly pathStyle: Alias['pathStyle']
  readonly secretKeyStdin?: boolean
}

const defaultRegion = 'us-east-1'

export default defineCommand<Options>({
  name: 'alias set',
  summary: 'Gives a server and credentials for it a name.',
  description:
    'The credentials are tried before anything is saved. The secret key is asked for, or read from standard input, or taken from ' +
    'SVCCTL_SECRET_KEY; never from the command line, which others on the machine can see. It is kept in config.json of the ' +
    'configuration folder, which only you can read.',
  arguments: [
    { name: 'name', summary: 'of the alias', kind: 'text' },
    { name: 'endpoint', summary: 'for example http://localhost:9000', kind: 'text' },
    { name: 'access-key', summary: 'of the user', kind: 'text' },
  ],
  excessHint: 'The secret key is no argument, others could see it: it is asked for, or read with --secret-key-stdin.',
  options: [
    { flags: '--region <region>', summary: 'the region in signatures (default: that of the server, or us-east-1)' },
    {
      flags: '--path-style <mode>',
      summary: 'buckets in the path: auto, on or off',
      choices: pathStyles,
      default: 'auto',
    },
    { flags: '--secret-key-stdin', summary: 'read the secret key from the first line of standard input' },
  ],
  examples: [
    'svcctl alias set home http://localhost:9000 admin',
    'svcctl alias set home http://localhost:9000 admin --secret-key-stdin < secret.txt',
  ],
  async run(context, [name, endpointText, accessKey], options) {
    requireAliasName(name!)
    const { io, output, aliases, options: global } = context
    const alias: Alias = {
      endpoint: parseEndpoint(endpointText!),
      accessKey: accessKey!,
      secretKey: await secretKeyOf(context, options),
      region: options.region ?? defaultRegion,
      pathStyle: options.pathStyle,
      ...(global.adminUrl === undefined ? undefined : { adminUrl: parseEndpoint(global.adminUrl) }),
      ...(global.ca === undefined ? undefined : { ca: context.path(global.ca) }),
      ...(global.insecure ? { insecure: true } : undefined),
    }
    const { region, mayList } = await verify(context, alias, options.region !== undefined)
    await aliases.set(name!, { ...alias, region })
    if (!mayList) output.note('The credentials are good, but may not list buckets.')
    const { endpoint } = alias
    output.done(
      { status: 'saved', alias: name, endpoint, accessKey, region },
      `Saved ${name}: ${endpoint} as ${accessKey}.`,
    )
    if (alias.insecure)
      io.stderr.write('Certificates of this server are never verified: anybody between can read and write.\n')
  },
})

async function secretKeyOf({ io }: Context, { secretKeyStdin }: Options): Promise<string> {
  const fromEnvironment = io.env.SVCCTL_SECRET_KEY
  const secret = secretKeyStdin
    ? await readSecret(io)
    : fromEnvironment || (await askSecret(io, 'Secret key: ', 'add --secret-key-stdin, or set SVCCTL_SECRET_KEY'))
  if (secret === '') throw usageError('The secret key is empty.')
  return secret
}

/** AccessDenied comes after the signature was found good. */
async function verify(
  context: Context,
  alias: Alias,
  isRegionGiven: boolean,
): Promise<{ region: string; mayList: boolean }> {
  try {
    await listBuckets(context.connectTo(alias))
    return { region: alias.region, mayList: true }
  } catch (error) {
    if (!(error instanceof S3Error)) throw error
    const { Region: region } = error.details
    if (region && region !== alias.region && !isRegionGiven) return verify(context, { ...alias, region }, true)
    if (error.code === 'AccessDenied' && error.requestId !== undefined) return { region: alias.region, mayList: false }
    if (error.code === 'SignatureDoesNotMatch') {
      throw denied(error, `The secret key is not the one of ${alias.accessKey}, or the clock of this machine is wrong.`)
    }
    if (error.code === 'InvalidAccessKeyId')
      throw denied(error, `${alias.endpoint} knows no access key ${alias.accessKey}.`)
    if (error.status === 404 && (await isConsole(context, alias))) {
      const { endpoint } = alias
      throw failure(
        'console_endpoint',
        `${endpoint} is the address of the console and the Admin API. Give that of S3, by default ${besidePort(endpoint, -1)}; ` +
          'svcctl derives the other address from it, unless --admin-url names it.',
      )
    }
    throw error
  }
}

function denied({ code, exitCode }: S3Error, message: string): CliError {
  return new CliError(code, exitCode, `${message} Nothing was saved.`)
}

/** The Admin API answers here, be it that it does not know the credentials. */
async function isConsole({ options }: Context, alias: Alias): Promise<boolean> {
  const client = createAdminClient({
    alias,
    adminUrl: alias.endpoint,
    timeoutMs: options.timeout ?? timeoutMsDefault,
    debug: undefined,
  })
  try {
    await client.send({ operation: 'getServerInfo', method: 'GET', path: '/info' })
    return true
  } catch (error) {
    return error instanceof AdminError
  } finally {
    await client.close()
  }
}
