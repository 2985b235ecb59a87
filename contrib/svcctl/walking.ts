/** The entries below a target: the objects of a server, a bucket or a prefix, or the files of a folder. */
import { lstat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Context } from './context.ts'
import { notFoundError, S3Error, usageError } from './errors.ts'
import type { Failures } from './failures.ts'
import { openSide } from './mirroring.ts'
import { listBuckets } from './s3/listing.ts'
import { headObject } from './s3/object.ts'
import { formatRemote, missingPlace, type RemoteTarget } from './target.ts'
import type { Entry } from './transfer/comparison.ts'

export interface Found extends Entry {
  /** The target as a user would type it. */
  readonly target: string
}

/** Lists a target in the order of keys. Keys are relative to it; below an alias they begin with the bucket. Throws if it does not exist. */
export async function* walk(context: Context, text: string, failures: Failures): AsyncGenerator<Found> {
  const target = await context.target(text)
  if (target.kind === 'stream') throw usageError('Standard streams cannot be looked through.')
  if (target.kind === 'remote' && target.bucket === '') {
    const client = await context.connect(target.alias)
    for (const { name } of await listBuckets(client)) {
      for await (const entry of walkPlace(context, { ...target, bucket: name }, failures)) {
        yield { ...entry, key: `${name}/${entry.key}` }
      }
    }
    return
  }
  if (target.kind === 'local') {
    const { path } = target
    const found = await statPlace(context, path)
    if (found.isFile()) {
      yield { key: basename(path), target: path, sizeBytes: found.size, modifiedMs: found.mtimeMs }
      return
    }
  }
  let isEmpty = true
  for await (const entry of walkPlace(context, target, failures)) {
    isEmpty = false
    yield entry
  }
  if (isEmpty && target.kind === 'remote' && target.key !== '') yield await objectItself(context, target)
}

/** The properties of a local target. Throws if it does not exist. */
export async function statPlace(context: Context, path: string) {
  try {
    return await lstat(context.path(path))
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? missingPlace(path) : error
  }
}

async function* walkPlace(context: Context, target: Parameters<typeof openSide>[1], failures: Failures) {
  const side = await openSide(context, target, false, failures, { mayMiss: false, isQuiet: false })
  for await (const entry of side.list()) yield { ...entry, target: side.label(entry.key) }
}

/** Throws if the folder does not exist. */
export async function objectItself(context: Context, target: RemoteTarget): Promise<Found> {
  const { alias, bucket, key } = target
  try {
    const { sizeBytes, modifiedMs, etag } = await headObject(await context.connect(alias), { bucket, key })
    return { key: basename(key), target: formatRemote(target), sizeBytes, modifiedMs, etag }
  } catch (error) {
    throw error instanceof S3Error && error.status === 404 ? nothingThere(target) : error
  }
}

export const nothingThere = (target: RemoteTarget) =>
  notFoundError(`There is no object and no folder ${JSON.stringify(formatRemote(target))}.`)
