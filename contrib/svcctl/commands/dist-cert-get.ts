import { certificateArguments, getCertificate, showCertificate } from '../certificate.ts'
import { defineCommand } from '../command.ts'

export default defineCommand({
  name: 'dist cert get',
  summary: 'Shows a certificate: names, dates, who uses it, and of an ordered one how its order goes.',
  arguments: certificateArguments,
  options: [],
  examples: ['svcctl dist cert get home site'],
  async run(context, [alias, id]) {
    showCertificate(context, await getCertificate(await context.connectAdmin(alias!), id!))
  },
})
