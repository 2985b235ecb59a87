import { defineCommand, parseDuration } from '../command.ts'
import type { Context } from '../context.ts'
import { Interrupted, usageError } from '../errors.ts'
import { createFailures, type Failures } from '../failures.ts'
import { objectsBelow, removeObjects, removeUploads, versionsBelow } from '../removal.ts'
import type { Doomed } from '../s3/bulk-delete.ts'
import { headObject } from '../s3/object.ts'
import { formatRemote, type RemoteTarget, requireBucket, requireKey } from '../target.ts'

interface Options {
  readonly recursive?: boolean
  readonly force?: boolean
  readonly versions?: boolean
  readonly versionId?: string
  readonly bypassGovernance?: boolean
  readonly olderThan?: number
  readonly incomplete?: boolean
}

export default defineCommand<Options>({
  name: 'rm',
  summary: 'Removes objects.',
  description:
    'In a bucket with versioning the objects stay as versions behind a delete marker, unless --versions or --version-id is given. ' +
    'With -r it removes all keys that begin with the target, after a question unless --force or --yes is given.',
  arguments: [{ name: 'targets', summary: 'ALIAS/bucket/key', kind: 'target', isVariadic: true }],
  options: [
    { flags: '-r, --recursive', summary: 'all keys that begin with the target' },
    { flags: '--force', summary: 'do not ask, and ignore missing objects' },
    { flags: '--versions', summary: 'all versions and delete markers, for good' },
    { flags: '--version-id <id>', summary: 'this version, for good' },
    { flags: '--bypass-governance', summary: 'also objects under governance retention' },
    {
      flags: '--older-than <duration>',
      summary: 'with -r: only objects older than this, for example 30d',
      parse: parseDuration,
    },
    { flags: '--incomplete', summary: 'with -r: uploads that were never completed, instead of objects' },
  ],
  examples: [
    'svcctl rm home/photos/2026/a.jpg',
    'svcctl rm -r --force home/photos/tmp/',
    'svcctl rm -r --versions --older-than 30d --yes home/logs/',
  ],
  async run(context, targets, options) {
    const { recursive, versionId, olderThan, incomplete, versions } = options
    if (versionId !== undefined && (recursive || versions))
      throw usageError('--version-id names one version: without -r and --versions.')
    if (!recursive && (olderThan !== undefined || incomplete))
      throw usageError('--older-than and --incomplete go with -r.')
    const failures = createFailures(context.output)
    for (const text of targets) {
      const target = context.remote(text)
      try {
        await (recursive
          ? removeBelow(context, target, options, failures)
          : removeOne(context, target, options, failures))
      } catch (error) {
        if (targets.length === 1 || error instanceof Interrupted) throw error
        failures.add(error, { target: text })
      }
    }
    failures.end()
  },
})

async function removeOne(context: Context, target: RemoteTarget, options: Options, failures: Failures): Promise<void> {
  const { output } = context
  const bucket = requireBucket(target)
  const key = requireKey(target)
  const client = await context.connect(target.alias)
  const name = formatRemote(target)
  const { versionId, versions, force, bypassGovernance } = options
  if (versions) {
    const found: Doomed[] = []
    for await (const one of versionsBelow(client, bucket, key)) {
      if (one.key !== key) break
      found.push(one)
    }
    await removeObjects(client, bucket, found, {
      bypassGovernance: bypassGovernance === true,
      failures,
      onRemoved: one =>
        output.done(
          { status: 'removed', target: name, versionId: one.versionId },
          `Removed ${name} (${one.versionId}).`,
        ),
    })
    return
  }
  // S3 answers success for missing objects. A person who mistyped wants to know.
  if (!force && versionId === undefined) await headObject(client, { bucket, key })
  const { headers } = await client.send({
    operation: 'DeleteObject',
    method: 'DELETE',
    bucket,
    key,
    query: versionId === undefined ? {} : { versionId },
    headers: bypassGovernance ? { 'x-amz-bypass-governance-retention': 'true' } : undefined,
  })
  const isMarker = headers['x-amz-delete-marker'] === 'true' && versionId === undefined
  output.done(
    { status: 'removed', target: name, versionId: headers['x-amz-version-id'], isDeleteMarker: isMarker },
    isMarker ? `Removed ${name}; its versions stay.` : `Removed ${name}.`,
  )
}

async function removeBelow(
  context: Context,
  target: RemoteTarget,
  options: Options,
  failures: Failures,
): Promise<void> {
  const { output } = context
  const bucket = requireBucket(target)
  const client = await context.connect(target.alias)
  const name = formatRemote(target)
  const { versions, force, olderThan, incomplete } = options
  const what = incomplete ? 'every unfinished upload' : versions ? 'every version of everything' : 'everything'
  if (!force) await context.requireConfirmed(`Remove ${what} in ${name}?`)
  if (incomplete) {
    const count = await removeUploads(client, bucket, target.key)
    return output.done(
      { status: 'removed', target: name, uploads: count },
      `Removed ${count} unfinished uploads in ${name}.`,
    )
  }
  const before = olderThan === undefined ? undefined : Date.now() - olderThan
  const doomed = versions
    ? versionsBelow(client, bucket, target.key, before)
    : objectsBelow(client, bucket, target.key, before)
  const count = await removeObjects(client, bucket, doomed, {
    bypassGovernance: options.bypassGovernance === true,
    failures,
    onRemoved({ key, versionId }) {
      if (output.options.isJson)
        output.result({ status: 'removed', target: formatRemote({ ...target, key }), versionId })
    },
  })
  if (!output.options.isJson) output.done({}, `Removed ${count} ${versions ? 'versions' : 'objects'} in ${name}.`)
}
