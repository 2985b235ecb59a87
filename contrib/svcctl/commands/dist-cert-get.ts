import { certificateArguments, getCertificate, showCertificate } from '../certificate.ts'
import { defineCommand } from '../command.ts'

export default defineCommand({
  name: 'dist cert get',
  summary: 'Shows a certificate: names, dates, its distributions, and the state of its order.',
  arguments: certificateArguments,
  options: [],
  examples: ['svcctl dist cert get home/site'],
  async run(context, [alias, id]) {
    showCertificate(context, await getCertificate(await context.connectAdmin(alias!), id!))
  },
})
