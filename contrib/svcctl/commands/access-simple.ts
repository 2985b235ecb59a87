import { defineCommand } from '../command.ts'
import { usageError } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { requireBucket } from '../target.ts'

interface SimpleAccess {
  readonly bucket: string
  readonly rules: readonly { readonly prefix: string; readonly preset: string }[]
  readonly public: boolean
  readonly hasPolicy: boolean
}

export default defineCommand({
  name: 'access simple',
  summary: 'Shows or sets anonymous access below a prefix, by statements of the bucket policy.',
  description:
    'download: read objects by name. upload: write objects, without reading. public: read, write, delete and list. private ' +
    'removes the statement of the prefix, remove those of all prefixes; other statements of the policy are kept.',
  arguments: [
    { name: 'target', summary: 'ALIAS/bucket[/prefix]', kind: 'target' },
    {
      name: 'preset',
      summary: 'the preset; without it the command shows the state',
      kind: 'text',
      choices: ['private', 'download', 'upload', 'public', 'remove'],
      isOptional: true,
    },
  ],
  options: [],
  examples: ['svcctl access simple home/photos', 'svcctl access simple home/photos/public/ download'],
  async run(context, [text, preset]) {
    const target = context.remote(text!)
    const path = `/buckets/${encodeName(requireBucket(target))}/access`
    const { key: prefix } = target
    if (prefix !== '' && (preset === undefined || preset === 'remove')) {
      throw usageError('A prefix stands beside private, download, upload or public.')
    }
    const client = await context.connectAdmin(target.alias)
    if (preset === 'remove') await client.send({ operation: 'deleteBucketAccess', method: 'DELETE', path })
    else if (preset !== undefined) {
      await client.send({ operation: 'setBucketAccess', method: 'PUT', path, body: { prefix, preset } })
    }
    const { body } = await client.send({ operation: 'getBucketAccess', method: 'GET', path })
    const { rules, ...found } = body as SimpleAccess
    const lines = rules.map(rule => `${rule.preset.padEnd(8)}  ${rule.prefix === '' ? 'every key' : rule.prefix}`)
    context.output.result(
      { ...found, rules },
      ...(lines.length > 0 ? lines : ['Nothing is open to everybody by a preset.']),
    )
  },
})
