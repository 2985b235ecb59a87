import { defineCommand, parseSeconds } from '../command.ts'
import { usageError } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { presigned } from '../share.ts'
import { formatRemote, requireBucket, requireKey } from '../target.ts'

interface Options {
  readonly expire: number
  readonly versionId?: string
  readonly description?: string
  readonly filename?: string
  readonly raw?: boolean
}

const expireSecondsDefault = 86_400

export default defineCommand<Options>({
  name: 'share download',
  summary: 'Makes a link for downloading an object.',
  description:
    'The server stores its links: `svcctl share list` shows it, and `svcctl share revoke` ends it at once. With --raw ' +
    'the link is made here, works with any S3 server, and cannot be revoked. The link is shown this once.',
  arguments: [{ name: 'target', summary: 'ALIAS/bucket/key', kind: 'target' }],
  options: [
    {
      flags: '--expire <duration>',
      summary: 'how long it is good, 7d at most (default 24h)',
      parse: parseSeconds,
      default: expireSecondsDefault,
    },
    { flags: '--version-id <id>', summary: 'of this version' },
    { flags: '--description <text>', summary: 'a note that the list shows' },
    { flags: '--filename <name>', summary: 'under which browsers save it' },
    { flags: '--raw', summary: 'a presigned URL that cannot be revoked' },
  ],
  typed: {
    'body/expiresInSeconds': '--expire (in seconds)',
    'body/versionId': '--version-id',
    'body/description': '--description',
    'body/filename': '--filename',
    'body/key': 'the key',
  },
  examples: [
    'svcctl share download home/photos/a.jpg --expire 2h',
    'svcctl share download --raw --expire 7d home/photos/a.jpg',
  ],
  async run(context, [text], { raw, expire, versionId, description, filename }) {
    if (raw) {
      if (description !== undefined || filename !== undefined) {
        throw usageError('--description and --filename go with links that the server keeps, not with --raw.')
      }
      const { record, url } = await presigned(context, text!, { method: 'GET', expire, versionId })
      context.output.result({ ...record, isRevocable: false }, url)
      return
    }
    const target = context.remote(text!)
    const bucket = requireBucket(target)
    const key = requireKey(target)
    const client = await context.connectAdmin(target.alias)
    const { body } = await client.send({
      operation: 'createShare',
      method: 'POST',
      path: `/buckets/${encodeName(bucket)}/objects/share`,
      body: { key, versionId, expiresInSeconds: expire, description, filename },
    })
    const share = body as { readonly id: string; readonly url: string; readonly expiresAt: string }
    context.output.result({ target: formatRemote(target), ...share, isRevocable: true }, share.url)
    context.output.note(`svcctl share revoke ${target.alias} ${share.id}`)
  },
})
