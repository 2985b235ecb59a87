import { certificateArguments, pathOf } from '../certificate.ts'
import { defineCommand } from '../command.ts'

export default defineCommand({
  name: 'dist cert remove',
  summary: 'Deletes an unused certificate and its key.',
  arguments: certificateArguments,
  options: [],
  examples: ['svcctl dist cert remove home/site'],
  async run(context, [alias, id]) {
    await context.requireConfirmed(`Delete the certificate ${id} and its key?`)
    const client = await context.connectAdmin(alias!)
    await client.send({ operation: 'deleteCertificate', method: 'DELETE', path: pathOf(id!) })
    context.output.done({ status: 'removed', id }, `Removed ${id}.`)
  },
})
