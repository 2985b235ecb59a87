import { defineCommand } from '../command.ts'
import { connectTo, setEnabled } from '../distributions/document.ts'

export default defineCommand({
  name: 'dist enable',
  summary: 'Lets a distribution answer its names again.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [],
  examples: ['svcctl dist enable home/site'],
  async run(context, [text]) {
    const place = await connectTo(context, text!)
    await setEnabled(place, true)
    context.output.done({ status: 'enabled', distribution: place.id }, `${text} is enabled.`)
  },
})
