import { certificateArguments, pathOf, queryOf, rejectServed } from '../certificate.ts'
import { defineCommand } from '../command.ts'

interface Options {
  readonly force?: boolean
}

export default defineCommand<Options>({
  name: 'dist cert remove',
  summary: 'Deletes a certificate that no distribution names, and its key.',
  description: 'Without --force it stays where domains get it without naming it, unless another certificate is for them.',
  arguments: certificateArguments,
  options: [{ flags: '--force', summary: 'also where domains would get no certificate that browsers accept' }],
  examples: ['svcctl dist cert remove home/site'],
  async run(context, [alias, id], { force = false }) {
    await context.requireConfirmed(`Delete the certificate ${id} and its key?`)
    const client = await context.connectAdmin(alias!)
    await client
      .send({ operation: 'deleteCertificate', method: 'DELETE', path: pathOf(id!), query: queryOf(force) })
      .catch(rejectServed('--force deletes it all the same.'))
    context.output.done({ status: 'removed', id }, `Removed ${id}.`)
  },
})
