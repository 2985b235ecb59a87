import {
  type Certificate,
  certificateArguments,
  noteChain,
  pathOf,
  readUpload,
  showCertificate,
  type UploadOptions,
  uploadOptions,
} from '../certificate.ts'
import { defineCommand } from '../command.ts'

export default defineCommand<Partial<UploadOptions>>({
  name: 'dist cert replace',
  summary: 'Replaces an uploaded certificate and its key; open connections stay.',
  arguments: certificateArguments,
  options: uploadOptions,
  examples: ['svcctl dist cert replace home/site --cert fullchain.pem --key privkey.pem'],
  async run(context, [alias, id], options) {
    const body = await readUpload(context, options)
    const client = await context.connectAdmin(alias!)
    const answer = await client.send({ operation: 'putCertificate', method: 'PUT', path: pathOf(id!), body })
    showCertificate(context, answer.body as Certificate)
    noteChain(context, body.certificate)
  },
})
