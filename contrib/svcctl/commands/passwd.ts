import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { randomSecret } from '../prompt.ts'
import { inTypedWords } from '../typed-words.ts'

interface Options {
  readonly newSecretKeyStdin?: boolean
  readonly newSecretKeyFile?: string
  readonly generate?: boolean
}

export default defineCommand<Options>({
  name: 'passwd',
  summary: 'Changes the secret key of the user of an alias, and of the alias itself.',
  description:
    'The new one is asked for, or comes from --new-secret-key-stdin, --new-secret-key-file or SVCCTL_NEW_SECRET_KEY. Sessions of ' +
    'the console end. The secret of the root user is part of the configuration of the server, and not changed here.',
  arguments: [{ name: 'alias', summary: 'an alias with the credentials of a user', kind: 'alias' }],
  options: [
    { flags: '--generate', summary: 'make a key, which is stored in the alias and shown only once' },
    { flags: '--new-secret-key-stdin', summary: 'read it from the first line of standard input' },
    { flags: '--new-secret-key-file <file>', summary: 'read it from the first line of a file' },
  ],
  examples: ['svcctl passwd home', 'svcctl passwd home --generate'],
  async run(context, [name], { generate, newSecretKeyStdin, newSecretKeyFile }) {
    if (generate && (newSecretKeyStdin || newSecretKeyFile !== undefined)) {
      throw usageError('Either --generate or a secret of your own.')
    }
    const alias = await context.aliases.get(name!)
    const secretKey = generate
      ? randomSecret()
      : await givenSecret(context, newSecretKeyStdin === true, newSecretKeyFile)
    const client = await context.connectAdmin(name!)
    try {
      await client.send({
        operation: 'changeOwnSecretKey',
        method: 'PUT',
        path: '/me/secret-key',
        body: { currentSecretKey: alias.secretKey, newSecretKey: secretKey },
      })
    } catch (error) {
      throw inTypedWords(error, words)
    }
    const { accessKey } = alias
    const { output } = context
    // Shown before it is stored: if storing fails, the user still knows it.
    if (generate) {
      output.result({ status: 'changed', alias: name, accessKey, secretKey }, secretKey)
      output.note(`That is the new secret key of ${accessKey}; it is not shown again.`)
    }
    await context.aliases.set(name!, { ...alias, secretKey })
    if (!generate) output.done({ status: 'changed', alias: name, accessKey }, `Changed the secret key of ${accessKey}.`)
  },
})

const words = new Map([
  ['body/newSecretKey', 'the new secret key'],
  ['body/currentSecretKey', 'the secret key of the alias'],
])

/** Loaded when it is needed: with it come the declarations of the Admin API, which take longer to read than most commands take. */
async function givenSecret(context: Context, isStdin: boolean, file: string | undefined): Promise<string> {
  const [{ fieldOf }, { secretOf }] = await Promise.all([import('../admin/fields.ts'), import('../admin/values.ts')])
  const field = fieldOf('newSecretKey', true, { type: 'string', format: 'password' })
  return (await secretOf(context, field, { isStdin, file }))!
}
