import {
  type Certificate,
  certificateArguments,
  readUpload,
  showCertificate,
  type UploadOptions,
  uploadOptions,
} from '../certificate.ts'
import { defineCommand } from '../command.ts'
import { AdminError, conflictError } from '../errors.ts'

export default defineCommand<Partial<UploadOptions>>({
  name: 'dist cert upload',
  summary: 'Uploads a certificate with its key, presented from the next handshake on.',
  description:
    'The server sends it to clients that connect to one of its names. The key is sealed on the server, and never shown again.',
  arguments: certificateArguments,
  options: uploadOptions,
  examples: ['svcctl dist cert upload home/site --cert fullchain.pem --key privkey.pem'],
  async run(context, [alias, id], options) {
    const body = { id, ...(await readUpload(context, options)) }
    const client = await context.connectAdmin(alias!)
    try {
      const answer = await client.send({ operation: 'createCertificate', method: 'POST', path: '/certificates', body })
      showCertificate(context, answer.body as Certificate)
    } catch (error) {
      if (!(error instanceof AdminError) || error.code !== 'already_exists') throw error
      throw conflictError(
        error.message.replace('replace that one', `\`svcctl dist cert replace ${alias}/${id}\` replaces it`),
      )
    }
  },
})
