import { type Certificate, certificateArguments, pathOf, showCertificate, waitForOrder } from '../certificate.ts'
import { defineCommand } from '../command.ts'

interface Options {
  readonly wait?: boolean
}

export default defineCommand<Options>({
  name: 'dist cert renew',
  summary: 'Orders a certificate anew, now.',
  description:
    'For certificates that the server orders from an authority. With --wait each phase is shown (order, challenge, propagation, validation, issue), and the command fails if the order fails.',
  arguments: certificateArguments,
  options: [{ flags: '--wait', summary: 'until the order has ended' }],
  examples: ['svcctl dist cert renew home/site --wait'],
  async run(context, [alias, id], { wait = false }) {
    const client = await context.connectAdmin(alias!)
    const { body } = await client.send({ operation: 'renewCertificate', method: 'POST', path: `${pathOf(id!)}/renew` })
    showCertificate(context, wait ? await waitForOrder(context, client, id!) : (body as Certificate))
  },
})
