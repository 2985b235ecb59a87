import { defineCommand } from '../command.ts'
import { needsOf } from '../distributions/origins.ts'
import { conflictError, S3Error } from '../errors.ts'
import { createFailures } from '../failures.ts'
import { removeObjects, removeUploads, versionsBelow } from '../removal.ts'
import { formatRemote, requireBucketOnly } from '../target.ts'

interface Options {
  readonly force?: boolean
  readonly bypassGovernance?: boolean
}

export default defineCommand<Options>({
  name: 'rb',
  summary: 'Removes an empty bucket, or with --force one with everything in it.',
  arguments: [{ name: 'target', summary: 'ALIAS/bucket', kind: 'target' }],
  options: [
    { flags: '--force', summary: 'remove every version of every object first (asks, unless --yes)' },
    { flags: '--bypass-governance', summary: 'with --force: objects under governance retention too' },
  ],
  examples: ['svcctl rb home/photos', 'svcctl rb --force --yes home/scratch'],
  async run(context, [text], { force, bypassGovernance }) {
    const { connect, output, remote } = context
    const target = remote(text!)
    const bucket = requireBucketOnly(target)
    const client = await connect(target.alias)
    const name = formatRemote(target)
    const needs = await needsOf(context, target.alias, bucket)
    // Before anything in it is removed.
    if (needs.length > 0) throw conflictError(needs.join(' '))
    if (force) {
      await context.requireConfirmed(`Remove ${name} with everything in it?`)
      const failures = createFailures(output)
      await removeObjects(client, bucket, versionsBelow(client, bucket, ''), {
        bypassGovernance: bypassGovernance === true,
        failures,
        onRemoved() {},
      })
      failures.end()
      await removeUploads(client, bucket)
    }
    try {
      await client.send({ operation: 'DeleteBucket', method: 'DELETE', bucket })
    } catch (error) {
      if (error instanceof S3Error && error.code === 'BucketNotEmpty')
        output.note('--force removes what is in it, too.')
      throw error
    }
    output.done({ status: 'removed', bucket: name }, `Removed ${name}.`)
  },
})
