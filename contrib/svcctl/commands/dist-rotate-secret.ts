import { defineCommand } from '../command.ts'
import { connectTo } from '../distributions/document.ts'
import { encodeName } from '../s3/client.ts'

interface Options {
  readonly keepPrevious: string
}

export default defineCommand<Options>({
  name: 'dist rotate-secret',
  summary: 'Makes a new origin secret, which is shown only once. The previous ones remain valid for some time.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [{ flags: '--keep-previous <duration>', summary: 'how long the others hold (default 24h)', default: '24h' }],
  examples: ['svcctl dist rotate-secret home/site', 'svcctl dist rotate-secret home/site --keep-previous 1h'],
  async run(context, [text], { keepPrevious }) {
    const { client, id } = await connectTo(context, text!)
    const { body } = await client.send({
      operation: 'rotateOriginSecret',
      method: 'POST',
      path: `/distributions/${encodeName(id)}/origin-secret/rotate`,
      body: { keepPreviousFor: keepPrevious },
    })
    const secret = body as { name: string; value: string; previousExpiresAt: string }
    context.output.result({ ...secret }, `${secret.name}: ${secret.value}`)
    context.output.note(`The others hold until ${secret.previousExpiresAt}.`)
  },
})
