import { defineCommand } from '../command.ts'
import { connectTo, setEnabled } from '../distributions/document.ts'

export default defineCommand({
  name: 'dist disable',
  summary: 'Lets a distribution answer 403 on its names, without removing it.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [],
  examples: ['svcctl dist disable home/site'],
  async run(context, [text]) {
    const place = await connectTo(context, text!)
    await setEnabled(place, false)
    context.output.done({ status: 'disabled', distribution: place.id }, `${text} is disabled.`)
  },
})
