/**
 * The permitted changes of a lock, decided at the time of the commit. Source: AWS S3 User Guide, "Locking objects with Object
 * Lock". Retention in COMPLIANCE mode can only be extended; in GOVERNANCE mode any other change needs the permission to bypass
 * it; a legal hold can be set and removed freely. `versions.ts` decides what a lock prevents.
 */
import type { ObjectLock, Retention, VersionChange } from './api.ts'
import type { BucketDocument } from './bucket-document.ts'
import { objectErrors } from './errors.ts'
import { isRetaining } from './versions.ts'

/** Throws InvalidRequest if the bucket has no object lock, InvalidArgument if the retention has already expired. */
export function requireLockable(bucket: BucketDocument, lock: ObjectLock | undefined, nowMs: number): void {
  if (lock === undefined) return
  if (bucket.objectLock === undefined) {
    throw objectErrors.InvalidRequest('Bucket is missing Object Lock Configuration')
  }
  if (lock.retention !== undefined) requireFuture(lock.retention, nowMs)
}

function requireFuture({ retainUntilMs }: Retention, nowMs: number): void {
  if (!(retainUntilMs > nowMs)) throw objectErrors.InvalidArgument('The retain until date must be in the future!')
}

/** The lock after the change. Throws AccessDenied if the change would weaken it without the permission to do so. */
export function changeLock(
  bucket: BucketDocument,
  lock: ObjectLock | undefined,
  change: VersionChange,
  nowMs: number,
): ObjectLock {
  requireLockable(bucket, { retention: change.retention ?? undefined }, nowMs)
  const { retention = lock?.retention, legalHold = lock?.legalHold } = change
  if (change.retention !== undefined && lock !== undefined && isRetaining(lock, nowMs)) {
    requireStronger(lock.retention!, change.retention, change.bypassGovernance === true)
  }
  return { legalHold, retention: retention ?? undefined }
}

function requireStronger(before: Retention, after: Retention | null, bypassGovernance: boolean): void {
  if (before.mode === 'GOVERNANCE' && bypassGovernance) return
  if (after?.mode === before.mode && after.retainUntilMs >= before.retainUntilMs) return
  throw objectErrors.AccessDenied()
}
