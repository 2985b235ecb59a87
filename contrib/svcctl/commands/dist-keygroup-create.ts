import { readDocument } from '../admin/values.ts'
import { defineCommand } from '../command.ts'

interface Options {
  readonly comment?: string
  readonly key?: readonly string[]
}

export default defineCommand<Options>({
  name: 'dist keygroup create',
  summary: 'Creates a key group, with public keys or without.',
  description:
    'Keys are Ed25519, or RSA of 2048 to 4096 bits, as `openssl pkey -pubout` writes them. `dist keygroup add-key` adds others, and has ' +
    'the server make some. Needs admin:ManageDistributions.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'id', summary: 'lower-case letters, digits and . _ -', kind: 'text' },
  ],
  options: [
    { flags: '--comment <text>', summary: 'its purpose' },
    { flags: '--key <file>', summary: 'a public key in PEM; again for more', isRepeatable: true },
  ],
  examples: [
    'svcctl dist keygroup create home/films',
    'svcctl dist keygroup create home/films --key player.pem --comment "signed by the player"',
  ],
  async run(context, [alias, id], { comment, key = [] }) {
    const keys: { publicKey: string }[] = []
    for (const file of key) keys.push({ publicKey: await readDocument(context, file) })
    const client = await context.connectAdmin(alias!)
    const { body } = await client.send({
      operation: 'createKeyGroup',
      method: 'POST',
      path: '/keygroups',
      body: { id, comment, keys },
    })
    const group = body as { readonly id: string; readonly keys: readonly { readonly id: string }[] }
    context.output.done({ ...group }, `Create keygroup ${group.id}: done.`)
    for (const made of group.keys) context.output.note(`Key-Pair-Id: ${made.id}`)
  },
})
