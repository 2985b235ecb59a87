/** A simple model of S3's rules for versions and locks: a list of versions per key, newest first. */
import type { BucketLock, ObjectLock, Retention, Versioning } from '../api.ts'
import type { Tags } from '../tags.ts'

export interface ModelVersion {
  id: string
  /** Undefined: a delete marker. */
  body: Buffer | undefined
  etag: string
  tags: Tags
  lock: ObjectLock
}

export const unlocked: ObjectLock = { legalHold: false, retention: undefined }

export class VersionModel {
  versioning: Versioning = 'off'
  objectLock: BucketLock | undefined
  readonly keys = new Map<string, ModelVersion[]>()

  versions(key: string): ModelVersion[] {
    return this.keys.get(key) ?? []
  }

  current(key: string): ModelVersion | undefined {
    const newest = this.versions(key)[0]
    return newest?.body === undefined ? undefined : newest
  }

  find(key: string, id: string | undefined): ModelVersion | undefined {
    return id === undefined ? this.versions(key)[0] : this.versions(key).find(version => version.id === id)
  }

  /** `id` is the one the server returned; outside of a bucket with versioning the version is the null version. */
  add(key: string, id: string | undefined, version: Omit<ModelVersion, 'id'>): void {
    const others = this.versions(key)
    this.keys.set(
      key,
      this.versioning === 'enabled'
        ? [{ id: id!, ...version }, ...others]
        : [{ id: 'null', ...version }, ...others.filter(other => other.id !== 'null')],
    )
  }

  remove(key: string, id: string): void {
    this.keys.set(
      key,
      this.versions(key).filter(version => version.id !== id),
    )
  }

  isKept({ lock }: ModelVersion, nowMs: number, bypass: boolean): boolean {
    const { retention, legalHold } = lock
    const isActive = retention !== undefined && retention.retainUntilMs > nowMs
    return legalHold || (isActive && (retention.mode === 'COMPLIANCE' || !bypass))
  }

  /** Whether retention may change to this one. */
  mayRetain({ lock }: ModelVersion, next: Retention | null, nowMs: number, bypass: boolean): boolean {
    const { retention } = lock
    if (retention === undefined || retention.retainUntilMs <= nowMs) return true
    if (retention.mode === 'GOVERNANCE' && bypass) return true
    return next !== null && next.mode === retention.mode && next.retainUntilMs >= retention.retainUntilMs
  }

  /** All versions in the order of a listing. */
  all(): { key: string; version: ModelVersion; isLatest: boolean }[] {
    const keys = [...this.keys.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    return keys.flatMap(key => this.versions(key).map((version, i) => ({ key, version, isLatest: i === 0 })))
  }

  usage(prefix = '') {
    const all = this.all().filter(({ key }) => key.startsWith(prefix))
    const bodies = all.flatMap(({ version }) => (version.body === undefined ? [] : [version.body]))
    return {
      objects: all.filter(({ version, isLatest }) => isLatest && version.body !== undefined).length,
      versions: bodies.length,
      deleteMarkers: all.length - bodies.length,
      sizeBytes: bodies.reduce((sum, body) => sum + body.length, 0),
      uploads: 0,
      uploadBytes: 0,
    }
  }
}
