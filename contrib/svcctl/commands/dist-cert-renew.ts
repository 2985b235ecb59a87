import { type Certificate, certificateArguments, pathOf, showCertificate, waitForOrder } from '../certificate.ts'
import { defineCommand } from '../command.ts'
import { AdminError, failure } from '../errors.ts'

interface Options {
  readonly wait?: boolean
  readonly force?: boolean
}

export default defineCommand<Options>({
  name: 'dist cert renew',
  summary: 'Orders a certificate anew, now.',
  description:
    'For certificates that the server orders from an authority. With --wait each phase is shown (order, challenge, propagation, validation, issue), and the command fails if the order fails.',
  arguments: certificateArguments,
  options: [
    { flags: '--wait', summary: 'until the order has ended' },
    { flags: '--force', summary: 'also within the pause after a failure: only when its cause is mended' },
  ],
  examples: ['svcctl dist cert renew home site --wait', 'svcctl dist cert renew home site --force --wait'],
  async run(context, [alias, id], { wait = false, force = false }) {
    const client = await context.connectAdmin(alias!)
    if (force) {
      context.output.note(
        'Authorities count failed orders, and refuse names that fail too often for hours: mend the cause before you force another one.',
      )
    }
    const query = force ? [['force', 'true'] as const] : []
    const path = `${pathOf(id!)}/renew`
    const { body } = await client.send({ operation: 'renewCertificate', method: 'POST', path, query }).catch(error => {
      if (!(error instanceof AdminError) || error.status !== 429) throw error
      throw failure(error.code, `${error.message} Where its cause is mended, --force orders all the same.`)
    })
    showCertificate(context, wait ? await waitForOrder(context, client, id!) : (body as Certificate))
  },
})
