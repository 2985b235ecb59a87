import { defineCommand, parsePair, parseSeconds } from '../command.ts'
import { presigned } from '../share.ts'

interface Options {
  readonly method: string
  readonly expire: number
  readonly versionId?: string
  readonly header?: readonly (readonly [string, string])[]
}

export const expireSecondsDefault = 3600

export default defineCommand<Options>({
  name: 'presign',
  summary: 'Makes a URL that works without credentials for some time.',
  description:
    'The URL is made locally, without the server, and cannot be revoked. Any client that has it may use it until it expires.',
  arguments: [{ name: 'target', summary: 'ALIAS/bucket/key', kind: 'target' }],
  options: [
    {
      flags: '--method <method>',
      summary: 'GET (default), PUT, HEAD or DELETE',
      choices: ['GET', 'PUT', 'HEAD', 'DELETE'],
      default: 'GET',
    },
    {
      flags: '--expire <duration>',
      summary: 'how long it is good, 7d at most (default 1h)',
      parse: parseSeconds,
      default: expireSecondsDefault,
    },
    { flags: '--version-id <id>', summary: 'of this version' },
    { flags: '--header <name:value>', summary: 'that must be sent along', parse: parsePair(':'), isRepeatable: true },
  ],
  examples: ['svcctl presign home/photos/a.jpg', 'svcctl presign --method PUT --expire 15m home/inbox/report.pdf'],
  async run(context, [text], options) {
    const { record, url } = await presigned(context, text!, options)
    context.output.result(record, url)
  },
})
