import {
  type Certificate,
  certificateArguments,
  pathOf,
  queryOf,
  readUpload,
  rejectServed,
  showCertificate,
  type UploadOptions,
  uploadOptions,
} from '../certificate.ts'
import { defineCommand } from '../command.ts'

interface Options extends UploadOptions {
  readonly force?: boolean
}

export default defineCommand<Partial<Options>>({
  name: 'dist cert replace',
  summary: 'Replaces an uploaded certificate and its key; open connections stay.',
  description:
    'The new one has to cover the names of the distributions that name the old one, and without --force those of the others that get it as well, unless another certificate does.',
  arguments: certificateArguments,
  options: [
    ...uploadOptions,
    { flags: '--force', summary: 'also where domains would get no certificate that browsers accept' },
  ],
  examples: ['svcctl dist cert replace home/site --cert fullchain.pem --key privkey.pem'],
  async run(context, [alias, id], { force = false, ...options }) {
    const body = await readUpload(context, options)
    const client = await context.connectAdmin(alias!)
    const answer = await client
      .send({ operation: 'putCertificate', method: 'PUT', path: pathOf(id!), query: queryOf(force), body })
      .catch(rejectServed('--force replaces it all the same.'))
    showCertificate(context, answer.body as Certificate)
  },
})
