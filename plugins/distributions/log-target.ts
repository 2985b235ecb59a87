/** Reads the target of a distribution's access log: `log` is the log of the server; the other form is `bucket:<bucket>/<prefix>`. */
import type { Distribution, StoredDistribution } from './document.ts'

export interface LogBucket {
  readonly bucket: string
  /** Empty, or ends in a slash. */
  readonly prefix: string
}

const form = /^bucket:([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.*)$/s

/** Undefined for the log of the server. Throws TypeError for text that is no target. */
export function parseLogTarget(target = 'log'): LogBucket | undefined {
  if (target === 'log') return undefined
  const [, bucket, prefix] = form.exec(target) ?? []
  if (bucket === undefined || prefix === undefined) throw new TypeError('is neither log nor bucket:<bucket>/<prefix>')
  if (prefix !== '' && !prefix.endsWith('/')) throw new TypeError('has a prefix that does not end in a slash')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are to be found
  if (prefix.startsWith('/') || /[\u0000-\u001f\u007f]/.test(prefix))
    throw new TypeError('has a prefix that begins with a slash, or has control characters')
  return { bucket, prefix }
}

/** All keys of the log begin with it. */
export const logPrefixOf = (id: string, { prefix }: LogBucket): string => `${prefix}${id}/`

/** The bucket to which a distribution writes its log, if it does. */
export function logBucketOf({ logging }: Pick<StoredDistribution, 'logging'>): LogBucket | undefined {
  return logging.accessLog === true ? parseLogTarget(logging.target) : undefined
}

export interface LogExposure {
  /** The distribution that writes the log. */
  readonly writer: string
  /** The distribution through which everybody could read it. */
  readonly reader: string
}

/** Logs hold addresses and paths of visitors: none may lie where a website shows it to everybody. */
export function logExposure(saved: Distribution, others: readonly Distribution[]): LogExposure | undefined {
  const pairs = [saved, ...others].flatMap(other => [
    { writer: saved, reader: other },
    { writer: other, reader: saved },
  ])
  const found = pairs.find(({ writer, reader }) => isShown(writer, reader))
  return found && { writer: found.writer.id, reader: found.reader.id }
}

function isShown(writer: Distribution, reader: Distribution): boolean {
  const log = logBucketOf(writer)
  if (log === undefined || log.bucket !== reader.origin.bucket || !isPublicWebsite(reader)) return false
  const keys = logPrefixOf(writer.id, log)
  return keys.startsWith(reader.origin.pathPrefix) || reader.origin.pathPrefix.startsWith(keys)
}

/** Everybody may read something of it. */
export function isPublicWebsite({ mode, defaultBehavior, behaviors }: StoredDistribution): boolean {
  const accesses = [defaultBehavior, ...behaviors].map(({ access }) => access ?? defaultBehavior.access ?? 'public')
  return mode === 'website' && accesses.includes('public')
}
