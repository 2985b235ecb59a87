import { defineCommand } from '../command.ts'
import { usageError } from '../errors.ts'
import { formatRemote, requireBucket, requireKey } from '../target.ts'
import { customerKeyOption, encryptionOf } from '../transfer/encryption.ts'
import { writeToStream } from '../transfer/stream.ts'

interface Options {
  readonly versionId?: string
  readonly sseC?: string
}

export default defineCommand<Options>({
  name: 'cat',
  summary: 'Writes objects to standard output.',
  description:
    'The content is compared with the checksum of the server; when it differs, the exit code is 1 after all was written.',
  arguments: [{ name: 'targets', summary: 'ALIAS/bucket/key', kind: 'target', isVariadic: true }],
  options: [{ flags: '--version-id <id>', summary: 'this version' }, customerKeyOption],
  examples: [
    'svcctl cat home/logs/2026-01-01.gz | zcat',
    'svcctl cat --version-id 3f2a home/photos/list.txt',
    'svcctl cat --sse-c key.b64 home/private/letter.txt',
  ],
  async run(context, targets, { versionId, sseC }) {
    if (targets.length > 1 && versionId !== undefined) throw usageError('--version-id goes with one target.')
    const customerKey = encryptionOf(context, { sseC }).readKey
    for (const text of targets) {
      const target = context.remote(text)
      const name = { bucket: requireBucket(target), key: requireKey(target), versionId, customerKey }
      await writeToStream(await context.connect(target.alias), name, context.io.stdout, formatRemote(target))
    }
  },
})
