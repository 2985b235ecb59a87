import { type Certificate, certificateArguments, pathOf, showCertificate, waitForOrder } from '../certificate.ts'
import { defineCommand } from '../command.ts'

interface Options {
  readonly wait?: boolean
}

export default defineCommand<Options>({
  name: 'dist cert renew',
  summary: 'Orders a certificate anew, now.',
  description:
    'Of those that the server orders from an authority. With --wait each step is told, and a failed order is a failure.',
  arguments: certificateArguments,
  options: [{ flags: '--wait', summary: 'until the order has ended' }],
  examples: ['svcctl dist cert renew home site --wait'],
  async run(context, [alias, id], { wait = false }) {
    const client = await context.connectAdmin(alias!)
    const { body } = await client.send({ operation: 'renewCertificate', method: 'POST', path: `${pathOf(id!)}/renew` })
    showCertificate(context, wait ? await waitForOrder(context, client, id!) : (body as Certificate))
  },
})
