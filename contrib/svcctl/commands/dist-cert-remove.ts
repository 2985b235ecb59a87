import { certificateArguments, pathOf } from '../certificate.ts'
import { defineCommand } from '../command.ts'
import { failure } from '../errors.ts'

export default defineCommand({
  name: 'dist cert remove',
  summary: 'Deletes an unused certificate and its key.',
  arguments: certificateArguments,
  options: [],
  examples: ['svcctl dist cert remove home/site'],
  async run(context, [alias, id]) {
    if (!(await context.confirm(`Delete the certificate ${id} and its key?`))) {
      throw failure('not_confirmed', 'Nothing was changed.')
    }
    const client = await context.connectAdmin(alias!)
    await client.send({ operation: 'deleteCertificate', method: 'DELETE', path: pathOf(id!) })
    context.output.done({ status: 'removed', id }, `Removed ${id}.`)
  },
})
