import { readDocument } from '../admin/values.ts'
import { defineCommand } from '../command.ts'
import { usageError } from '../errors.ts'
import { reservePrivateFile } from '../private-file.ts'
import { encodeName } from '../s3/client.ts'

interface Options {
  readonly public?: string
  readonly generate?: boolean
  readonly algorithm?: string
  readonly name?: string
  /** False with `--no-store-private`. */
  readonly storePrivate: boolean
  readonly privateKeyOut?: string
}

export default defineCommand<Options>({
  name: 'dist keygroup add-key',
  summary: 'Adds a public key to a key group, or has the server make a pair.',
  description:
    'The private key of a pair is shown this once, or goes to the new file of --private-key-out, which others cannot read. The server keeps ' +
    'it, sealed, to sign with it, unless --no-store-private says otherwise. Needs admin:ManageDistributions.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'id', summary: 'of the key group', kind: 'text' },
  ],
  options: [
    { flags: '--public <file>', summary: 'a public key in PEM; - is standard input' },
    { flags: '--generate', summary: 'the server makes a pair' },
    { flags: '--algorithm <algorithm>', summary: 'of the pair (default ed25519)', choices: ['ed25519', 'rsa'] },
    { flags: '--name <name>', summary: 'of the key, for people' },
    { flags: '--no-store-private', summary: 'the server forgets the private key of the pair' },
    { flags: '--private-key-out <file>', summary: 'a new file, where the private key of the pair goes' },
  ],
  typed: {
    'body/publicKey': '--public',
    'body/algorithm': '--algorithm',
    'body/name': '--name',
  },
  examples: [
    'svcctl dist keygroup add-key home/films --generate --private-key-out films-key.pem',
    'svcctl dist keygroup add-key home/films --public player.pem --name player',
  ],
  async run(context, [alias, id], options) {
    const { generate = false, algorithm, name, storePrivate, privateKeyOut } = options
    if (generate === (options.public !== undefined)) throw usageError('Either --public with a key, or --generate.')
    if (!generate && (algorithm !== undefined || privateKeyOut !== undefined || !storePrivate)) {
      throw usageError('--algorithm, --no-store-private and --private-key-out go with --generate.')
    }
    const publicKey = options.public === undefined ? undefined : await readDocument(context, options.public)
    const client = await context.connectAdmin(alias!)
    // The key is given once: its place is made before.
    const place = privateKeyOut === undefined ? undefined : await reservePrivateFile(context.path(privateKeyOut))
    const { body } = await client
      .send({
        operation: 'addKeyGroupKey',
        method: 'POST',
        path: `/keygroups/${encodeName(id!)}/keys`,
        body: { publicKey, name, ...(generate && { generate, algorithm, storePrivateKey: storePrivate }) },
      })
      .catch(async error => {
        await place?.discard()
        throw error
      })
    const { privateKey, ...key } = body as { readonly id: string; readonly privateKey?: string }
    const { output } = context
    if (privateKey === undefined || privateKeyOut !== undefined) {
      if (privateKey !== undefined) await place?.write(privateKey)
      output.done(key, `Key-Pair-Id: ${key.id}`)
      return
    }
    output.result({ ...key, privateKey }, `Key-Pair-Id: ${key.id}`, ...privateKey.trimEnd().split('\n'))
    output.note('Keep the private key: it is not shown again.')
  },
})
