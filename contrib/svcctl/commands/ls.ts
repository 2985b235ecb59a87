import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { formatBytes, formatTime, isoTime } from '../formatting.ts'
import type { S3Client } from '../s3/client.ts'
import { listBuckets, listObjects, listUploads, listVersions } from '../s3/listing.ts'
import { formatRemote, type RemoteTarget } from '../target.ts'
import { nothingThere } from '../walking.ts'

interface Options {
  readonly recursive?: boolean
  readonly versions?: boolean
  readonly incomplete?: boolean
}

export default defineCommand<Options>({
  name: 'ls',
  summary: 'Lists buckets, or the objects of a bucket.',
  description:
    'Without an argument it lists aliases. A target that ends in a slash lists a folder; keys are shown from its last slash on.',
  arguments: [{ name: 'target', summary: 'ALIAS[/bucket[/prefix]]', kind: 'target', isOptional: true }],
  options: [
    { flags: '-r, --recursive', summary: 'everything below, not only the next level' },
    { flags: '--versions', summary: 'all versions and delete markers' },
    { flags: '--incomplete', summary: 'uploads that were never completed' },
  ],
  examples: ['svcctl ls home', 'svcctl ls home/photos/2026/', 'svcctl ls -r --json home/photos'],
  async run(context, [text], options) {
    if (options.versions && options.incomplete) throw usageError('Either --versions or --incomplete.')
    if (text === undefined) {
      for (const [alias, { endpoint }] of await context.aliases.list()) {
        context.output.result({ type: 'alias', alias, endpoint }, `${alias}/`)
      }
      return
    }
    const target = context.remote(text)
    const client = await context.connect(target.alias)
    if (target.bucket === '') return listAll(context, client, target)
    if (options.incomplete) return showUploads(context, client, target, options)
    if (options.versions) return showVersions(context, client, target, options)
    return showObjects(context, client, target, options)
  },
})

const sizeWidth = 9
const line = (time: number, size: string, name: string) => `${formatTime(time)} ${size.padStart(sizeWidth)} ${name}`

async function listAll({ output }: Context, client: S3Client, { alias }: RemoteTarget): Promise<void> {
  for (const { name, createdMs } of await listBuckets(client)) {
    output.result(
      { type: 'bucket', target: `${alias}/${name}`, name, created: isoTime(createdMs) },
      line(createdMs, '-', `${name}/`),
    )
  }
}

/** Keys are shown from here on. */
const shownFrom = (key: string): number => key.lastIndexOf('/') + 1

const scopeOf = ({ bucket, key }: RemoteTarget, { recursive }: Options) => ({
  bucket,
  prefix: key,
  delimiter: recursive ? undefined : '/',
})

function showPrefixes({ output }: Context, target: RemoteTarget, prefixes: readonly string[]): void {
  for (const prefix of prefixes) {
    const name = formatRemote({ ...target, key: prefix })
    output.result(
      { type: 'prefix', target: name, key: prefix },
      line(Number.NaN, '-', prefix.slice(shownFrom(target.key))),
    )
  }
}

async function showObjects(context: Context, client: S3Client, target: RemoteTarget, options: Options): Promise<void> {
  let isEmpty = true
  for await (const { items, prefixes } of listObjects(client, scopeOf(target, options))) {
    isEmpty &&= items.length + prefixes.length === 0
    showPrefixes(context, target, prefixes)
    for (const { key, sizeBytes, etag, modifiedMs, storageClass } of items) {
      context.output.result(
        {
          type: 'object',
          target: formatRemote({ ...target, key }),
          key,
          size: sizeBytes,
          etag,
          modified: isoTime(modifiedMs),
          storageClass,
        },
        line(modifiedMs, formatBytes(sizeBytes), key.slice(shownFrom(target.key))),
      )
    }
    await context.output.drained()
  }
  if (isEmpty && target.key !== '') throw nothingThere(target)
}

async function showVersions(context: Context, client: S3Client, target: RemoteTarget, options: Options): Promise<void> {
  let isEmpty = true
  for await (const { items, prefixes } of listVersions(client, scopeOf(target, options))) {
    isEmpty &&= items.length + prefixes.length === 0
    showPrefixes(context, target, prefixes)
    for (const { key, sizeBytes, etag, modifiedMs, versionId, isLatest, isDeleteMarker } of items) {
      const mark = `${isLatest ? '*' : ' '} ${versionId}`
      context.output.result(
        {
          type: isDeleteMarker ? 'deleteMarker' : 'version',
          target: formatRemote({ ...target, key }),
          key,
          versionId,
          isLatest,
          ...(isDeleteMarker ? undefined : { size: sizeBytes, etag }),
          modified: isoTime(modifiedMs),
        },
        line(
          modifiedMs,
          isDeleteMarker ? 'deleted' : formatBytes(sizeBytes),
          `${mark} ${key.slice(shownFrom(target.key))}`,
        ),
      )
    }
    await context.output.drained()
  }
  if (isEmpty && target.key !== '') throw nothingThere(target)
}

async function showUploads(context: Context, client: S3Client, target: RemoteTarget, options: Options): Promise<void> {
  for await (const { items, prefixes } of listUploads(client, scopeOf(target, options))) {
    showPrefixes(context, target, prefixes)
    for (const { key, uploadId, startedMs } of items) {
      context.output.result(
        { type: 'upload', target: formatRemote({ ...target, key }), key, uploadId, started: isoTime(startedMs) },
        line(startedMs, '-', `${uploadId} ${key.slice(shownFrom(target.key))}`),
      )
    }
    await context.output.drained()
  }
}
