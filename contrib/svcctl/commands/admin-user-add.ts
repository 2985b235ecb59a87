import type { CommandDeclaration } from '../command.ts'
import { usageError } from '../errors.ts'
import { askSecret } from '../prompt.ts'

/** `admin user create` for people: it asks for the secret key. */
export function createUserAddCommand(create: CommandDeclaration): CommandDeclaration {
  return {
    ...create,
    name: 'admin user add',
    summary: 'Adds a user, and asks for the secret key.',
    description:
      'The secret key is asked for; where the answer is empty, and with --generate, the server makes one, which is shown this once. ' +
      '--secret-key-stdin, --secret-key-file or SVCCTL_NEW_SECRET_KEY give it without a question: others on the machine can read the ' +
      'command line. Where there is no terminal to ask at, one of these is needed. Needs admin:CreateUser.',
    options: [...create.options, { flags: '--generate', summary: 'the server makes the secret key' }],
    examples: ['svcctl admin user add home ada', 'svcctl admin user add home ada --generate --policy-name readonly'],
    async run(context, args, { generate, ...options }) {
      const { io } = context
      const isGiven = options.secretKeyStdin === true || options.secretKeyFile !== undefined
      if (generate && isGiven) throw usageError('Either --generate or a secret of your own.')
      const asks = !generate && !isGiven && !io.env[variable]
      const secret = generate ? undefined : asks ? await askSecret(io, question, otherwise) : io.env[variable]
      await create.run({ ...context, io: { ...io, env: { ...io.env, [variable]: secret } } }, args, options)
    },
  }
}

const question = 'Secret key (empty: the server makes one): '
/** A secret that somebody pipes in must not be passed over. */
const otherwise = 'add --secret-key-stdin to read it from standard input, or --generate to have the server make one'
const variable = 'SVCCTL_NEW_SECRET_KEY'
