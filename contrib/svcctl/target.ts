/**
 * The target that an argument names. `ALIAS/bucket/key` if its first element is an alias, a local path otherwise; `./` and `/` in front
 * are always local, `-` is standard input or output.
 */
import { notFoundError, usageError } from './errors.ts'

export interface RemoteTarget {
  readonly kind: 'remote'
  readonly alias: string
  /** Empty: the alias itself. */
  readonly bucket: string
  /** Key or prefix, as it was written; empty: the bucket itself. */
  readonly key: string
}

export interface LocalTarget {
  readonly kind: 'local'
  readonly path: string
}

export interface StreamTarget {
  readonly kind: 'stream'
}

export type Target = RemoteTarget | LocalTarget | StreamTarget

const remotePattern = /^([^/]*)(?:\/([^/]*)(?:\/([\s\S]*))?)?$/

/** Never a local path. The connection checks whether the alias exists. */
export function parseRemote(text: string): RemoteTarget {
  const [, alias = '', bucket = '', key = ''] = remotePattern.exec(text) ?? []
  if (alias === '' || alias === '.' || alias === '..' || alias === '-') {
    throw usageError(`${JSON.stringify(text)} is no target: write ALIAS/bucket/key.`)
  }
  if (bucket === '' && key !== '') throw usageError(`${JSON.stringify(text)} has no bucket in it.`)
  return { kind: 'remote', alias, bucket, key }
}

/** `./` and `/` in front, and `.` and `..`. */
const isSurelyLocal = (text: string): boolean => /^(\.{0,2}\/|\.{1,2}$)/.test(text)

export function parseTarget(text: string, aliases: { has(name: string): boolean }): Target {
  if (text === '') throw usageError('A target must not be empty.')
  if (text === '-') return { kind: 'stream' }
  if (!isSurelyLocal(text) && aliases.has(text.split('/', 1)[0]!)) return parseRemote(text)
  return { kind: 'local', path: text }
}

/** The error for a missing place: a mistyped alias is taken for a folder. */
export function missingPlace(text: string): Error {
  const missing = `There is no file or folder ${JSON.stringify(text)}`
  return notFoundError(
    isSurelyLocal(text)
      ? `${missing}.`
      : `${missing}, and no alias ${JSON.stringify(text.split('/', 1)[0])}: \`svcctl alias list\` shows those that there are.`,
  )
}

/** Throws a usage error unless there is a bucket. */
export function requireBucket(target: RemoteTarget): string {
  if (target.bucket === '') throw usageError(`${target.alias}: a bucket is missing, write ${target.alias}/bucket.`)
  return target.bucket
}

/** Throws a usage error unless it names one bucket and nothing in it. */
export function requireBucketOnly(target: RemoteTarget): string {
  if (target.key !== '') throw usageError(`${formatRemote(target)} names something in a bucket; name the bucket.`)
  return requireBucket(target)
}

/** Throws a usage error unless there is a key that can be an object's. */
export function requireKey(target: RemoteTarget): string {
  requireBucket(target)
  if (target.key === '') throw usageError(`${formatRemote(target)} names no object.`)
  return target.key
}

/** A prefix that ends at a slash, or everything. */
export function folderPrefix(key: string): string {
  return key === '' || key.endsWith('/') ? key : `${key}/`
}

export function formatRemote({ alias, bucket, key }: Omit<RemoteTarget, 'kind'>): string {
  return [alias, ...(bucket === '' ? [] : [bucket]), ...(key === '' ? [] : [key])].join('/')
}
