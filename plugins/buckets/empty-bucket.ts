/** Deletes everything in a bucket, as far as no lock protects it. */
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import { type ChangeOrigin, type ObjectsService, objectErrors } from 'svc/plugins/objects/api'

const pageSize = 1000
/** Uploads that are aborted at once: they share the commits of the drive. */
const concurrency = 64
/** Pages of one call, ten million versions: whoever writes as fast as this deletes would keep it busy for ever. */
export const passesMaxDefault = 10_000

export interface EmptyOptions {
  readonly origin?: ChangeOrigin
  readonly passesMax?: number
  /** Versions that are written later are not deleted: the first one of them ends it. Milliseconds since 1970; absent: any. */
  readonly writtenUntilMs?: number | undefined
  /** Ends it by what it throws. */
  beforeCommit?(): MaybePromise<void>
}

/**
 * Every version, delete marker and upload. Throws BucketNotEmpty when a lock protects a version, when nothing of a page can
 * be deleted, and after `passesMax` pages, or when a version is newer than it may be; what was deleted before stays deleted. What is written meanwhile may be left.
 */
export async function emptyBucket(
  objects: ObjectsService,
  bucket: string,
  {
    origin,
    passesMax = passesMaxDefault,
    writtenUntilMs = Number.POSITIVE_INFINITY,
    beforeCommit = () => {},
  }: EmptyOptions = {},
): Promise<void> {
  let passes = 0
  const beginPass = async () => {
    await beforeCommit()
    if (++passes > passesMax) {
      throw objectErrors.BucketNotEmpty(`After ${passesMax} pages something is left. To go on, delete it again.`)
    }
  }
  for (;;) {
    // Always from the start: what was listed is gone by the next page.
    const { versions } = await objects.listVersions({
      bucket,
      prefix: '',
      delimiter: '',
      keyMarker: '',
      versionIdMarker: '',
      maxKeys: pageSize,
    })
    if (versions.length === 0) break
    if (versions.some(({ modifiedMs }) => modifiedMs > writtenUntilMs)) {
      throw objectErrors.BucketNotEmpty('Something was written to the bucket while it was being deleted.')
    }
    await beginPass()
    const outcomes = await objects.deleteObjects(
      bucket,
      versions.map(({ key, versionId }) => ({ key, versionId })),
      origin,
    )
    const failures = outcomes.flatMap(outcome => ('failed' in outcome ? [outcome.failed.code] : []))
    if (failures.includes('AccessDenied')) {
      throw objectErrors.BucketNotEmpty('A version in the bucket is protected by object lock.')
    }
    // The next pass would meet the same ones, and so on.
    if (failures.length === outcomes.length) {
      throw objectErrors.BucketNotEmpty(`Versions in the bucket cannot be deleted: ${failures[0]}.`)
    }
  }
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
