/**
 * What may become of a lock. Source: AWS S3 User Guide, "Locking objects with Object Lock": retention in COMPLIANCE mode is only
 * ever extended; in GOVERNANCE mode everything but an extension needs the permission to bypass it; a legal hold comes and
 * goes freely. What a lock prevents is in versions.ts. The only time that counts is that of the commit.
 */
import type { ObjectLock, Retention, VersionChange } from './api.ts'
import type { BucketDocument } from './bucket-document.ts'
import { objectErrors } from './errors.ts'
import { isRetaining } from './versions.ts'

/** Throws InvalidRequest where the bucket knows no locks, InvalidArgument for a retention that has passed already. */
export function requireLockable(bucket: BucketDocument, lock: ObjectLock | undefined, nowMs: number): void {
  if (lock === undefined) return
  if (bucket.objectLock === undefined) {
    throw objectErrors.InvalidRequest('Bucket is missing Object Lock Configuration')
  }
  if (lock.retention !== undefined) requireFuture(lock.retention, nowMs)
}

function requireFuture({ retainUntilMs }: Retention, nowMs: number): void {
  if (retainUntilMs <= nowMs) throw objectErrors.InvalidArgument('The retain until date must be in the future!')
}

/** The lock after the change. Throws AccessDenied where it would be weakened without the right to. */
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
