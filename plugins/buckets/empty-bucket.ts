/** Deletes everything in a bucket, unless a lock protects some of it. */
import { CatalogError, isCatalogError, type MaybePromise } from 'svc/kernel'
import {
  type ChangeOrigin,
  eachInTurns,
  isProtecting,
  type ObjectsService,
  objectErrors,
  type VersionSummary,
} from 'svc/plugins/objects/api'

const pageSize = 1000
/** Uploads that are aborted at once: they share the commits of the drive. */
const concurrency = 64
/** Pages of one call, ten million versions: whoever writes as fast as this deletes would keep it busy for ever. */
export const passesMaxDefault = 10_000

export interface EmptyOptions {
  /** In milliseconds since 1970: decides which retentions still protect. */
  now(): number
  readonly origin?: ChangeOrigin
  readonly passesMax?: number
  /** Versions that are written later are not deleted: the first one of them ends it. Milliseconds since 1970; absent: any. */
  readonly writtenUntilMs?: number | undefined
  /** Ends it by what it throws. */
  beforeCommit?(): MaybePromise<void>
  /** Versions and delete markers that have gone. */
  onDeleted?(count: number): void
}

/** Empties the bucket and deletes it. Whatever ends this half way says how much has gone. */
export async function deleteWithContent(objects: ObjectsService, bucket: string, options: EmptyOptions): Promise<void> {
  let deleted = 0
  try {
    await emptyBucket(objects, bucket, {
      ...options,
      onDeleted(count) {
        deleted += count
      },
    })
    await options.beforeCommit?.()
    await objects.deleteBucket(bucket)
  } catch (error) {
    if (deleted === 0 || !isCatalogError(error)) throw error
    const { code, status, message, title = message, extra, tags } = error
    const gone = deleted === 1 ? '1 version or delete marker is' : `${deleted} versions and delete markers are`
    const told = `${message.replace(/\.?$/, '.')} ${gone} deleted already.`
    throw new CatalogError(code, status, told, { cause: error, extra, tags }, title)
  }
}

/**
 * Every version, delete marker and upload. Throws BucketNotEmpty when a lock protects a version, when nothing of a page can
 * be deleted, and after `passesMax` pages, or when a version is newer than it may be. Nothing is deleted if a version is
 * protected from the start, also one whose retention somebody could bypass: that is asked for version by version. After any
 * other error, what was deleted before stays deleted. What is written meanwhile may be left.
 */
export async function emptyBucket(objects: ObjectsService, bucket: string, options: EmptyOptions): Promise<void> {
  const { now, origin, passesMax = passesMaxDefault, writtenUntilMs = Number.POSITIVE_INFINITY } = options
  const { beforeCommit = () => {}, onDeleted = () => {} } = options
  let passes = 0
  const beginPass = async () => {
    await beforeCommit()
    if (++passes > passesMax) {
      throw objectErrors.BucketNotEmpty(`After ${passesMax} pages something is left. To go on, delete it again.`)
    }
  }
  const deletePage = async (versions: readonly VersionSummary[]) => {
    await beginPass()
    const outcomes = await objects.deleteObjects(
      bucket,
      // A null version is replaced in its place: what is there by now was perhaps written too late.
      versions.map(({ key, versionId, etag, isDeleteMarker }) => ({
        key,
        versionId,
        ...(writtenUntilMs !== Number.POSITIVE_INFINITY && { conditions: { ifMatch: isDeleteMarker ? '' : etag } }),
      })),
      origin,
    )
    const failures = outcomes.flatMap(outcome => ('failed' in outcome ? [outcome.failed.code] : []))
    onDeleted(outcomes.filter(outcome => 'existed' in outcome && outcome.existed).length)
    if (failures.includes('AccessDenied')) {
      throw objectErrors.BucketNotEmpty('A version in the bucket is protected by object lock.')
    }
    if (failures.includes('PreconditionFailed')) throw writtenMeanwhile()
    // The next pass would meet the same ones, and so on.
    if (failures.length === outcomes.length) {
      throw objectErrors.BucketNotEmpty(`Versions in the bucket cannot be deleted: ${failures[0]}.`)
    }
  }
  /** Once through the bucket. Resolves with whether there were any. */
  const sweep = async (isWanted: (version: VersionSummary) => boolean): Promise<boolean> => {
    let hasAny = false
    let place = { keyMarker: '', versionIdMarker: '' }
    for (;;) {
      const page = await objects.listVersions({ bucket, prefix: '', delimiter: '', ...place, maxKeys: pageSize })
      if (page.versions.some(({ modifiedMs }) => modifiedMs > writtenUntilMs)) {
        throw writtenMeanwhile()
      }
      const wanted = page.versions.filter(isWanted)
      if (wanted.length > 0) {
        hasAny = true
        await deletePage(wanted)
      }
      if (!page.isTruncated) return hasAny
      place = { keyMarker: page.nextKeyMarker, versionIdMarker: page.nextVersionIdMarker }
    }
  }
  await requireUnprotected(objects, bucket, now)
  // No delete marker goes before the versions of the bucket have: a deleted object would come back if those could not be deleted.
  do {
    while (await sweep(({ isDeleteMarker }) => !isDeleteMarker));
  } while (await sweep(({ isDeleteMarker }) => isDeleteMarker))
  for (;;) {
    const { uploads } = await objects.listUploads({
      bucket,
      prefix: '',
      delimiter: '',
      keyMarker: '',
      uploadIdMarker: '',
      maxUploads: pageSize,
    })
    if (uploads.length === 0) break
    await beginPass()
    await inGroups(uploads, ({ key, uploadId }) => ignoreGone(objects.abortUpload(bucket, key, uploadId)))
  }
}

const writtenMeanwhile = () =>
  objectErrors.BucketNotEmpty('Something was written to the bucket while it was being deleted.')

/** Reads every version of a bucket with object lock, which is cheap beside deleting them. */
async function requireUnprotected(objects: ObjectsService, bucket: string, now: () => number): Promise<void> {
  if ((await objects.getBucket(bucket)).objectLock === undefined) return
  let after: Buffer | undefined
  do {
    const page = await objects.listAges({ bucket, ...(after && { after }), withLocks: true })
    await eachInTurns(page.entries, ({ lock }) => {
      if (lock === undefined || !isProtecting(lock, now())) return
      throw objectErrors.BucketNotEmpty('A version in the bucket is protected by object lock. Nothing was deleted.')
    })
    after = page.next
  } while (after !== undefined)
}

/** Somebody else may have been faster. */
async function ignoreGone(deleted: Promise<unknown>): Promise<void> {
  try {
    await deleted
  } catch (error) {
    if (!isCatalogError(error) || error.status !== 404 || error.code === 'NoSuchBucket') throw error
  }
}

async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += concurrency) {
    await Promise.all(items.slice(start, start + concurrency).map(work))
  }
}
