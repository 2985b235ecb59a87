/**
 * Lifecycle: rules of a bucket by which versions expire and uploads are aborted. Source: AWS S3 User Guide, "Managing the lifecycle of
 * objects". Days are days of UTC.
 */

import type { MaybePromise } from 'svc/kernel'
import type { ObjectVersion, Upload } from 'svc/plugins/objects/api'
import type { Expiration } from './ready-rules.ts'
import type { LifecycleRule } from './rules.ts'

export { lifecycleErrors } from './errors.ts'
export type { Expiration } from './ready-rules.ts'
export { checkLifecycleRules, type LifecycleFilter, type LifecycleRule, type LifecycleRuleProblem } from './rules.ts'

/** `x-amz-transition-default-minimum-object-size`: stored and returned, without an effect, because there are no transitions. */
export type TransitionMinimum = 'all_storage_classes_128K' | 'varies_by_storage_class'

export interface Lifecycle {
  /** Empty without a configuration. */
  readonly rules: readonly LifecycleRule[]
  readonly transitionMinimum: TransitionMinimum
  readonly etag: string
}

export interface LifecycleRunResult {
  readonly buckets: number
  /** Versions that were old enough for some rule, and evaluated. */
  readonly versions: number
  /** Versions and delete markers that were removed. */
  readonly deleted: number
  /** Delete markers that were created. */
  readonly deleteMarkers: number
  /** Of these, those that took the place of a null version, which is gone for good: versioning is suspended. */
  readonly replaced: number
  readonly uploadsAborted: number
  /** Versions that a lock protected: they still exist, perhaps below a new delete marker. */
  readonly locked: number
}

/** For existing buckets only: the caller checks that. Changes reject with `storeErrors`. */
export interface LifecycleService {
  configuration(bucket: string): MaybePromise<Lifecycle>
  /**
   * Stores rules that passed `checkLifecycleRules`; an empty list removes the configuration. Rules without an id (the empty text) get one.
   * Resolves with the stored rules.
   */
  replace(
    bucket: string,
    rules: readonly LifecycleRule[],
    options?: { readonly ifMatch?: string; readonly transitionMinimum?: TransitionMinimum },
  ): Promise<Lifecycle>
  /** Applies the rules now, independently of the next scheduled run. Throws `conflict` while they are being applied. */
  run(bucket: string): Promise<LifecycleRunResult>
  /**
   * What these rules would do now. With a time (milliseconds since 1970): what has become by then of what exists now, after a run now, one at
   * each midnight (UTC) until then, and one then. Each version is counted once, by its end: one that gets a delete marker and is removed as an
   * old version later is `deleted`, and its delete marker is not counted. Changes nothing, and counts also while the rules are being applied.
   * Reads every version. `rules`: stored ones, or such as passed `checkLifecycleRules`.
   */
  preview(
    bucket: string,
    rules: readonly LifecycleRule[],
    options?: {
      readonly atMs?: number | undefined
      /** Nobody waits for the result any more. */
      readonly isGone?: () => boolean
    },
  ): Promise<LifecycleRunResult>
  /** When a newest version will expire, and by which rule. */
  expirationOf(
    version: Pick<ObjectVersion, 'bucket' | 'key' | 'modifiedMs' | 'sizeBytes' | 'tags'>,
  ): MaybePromise<Expiration | undefined>
  /** When an upload will be aborted, and by which rule. */
  abortionOf(upload: Pick<Upload, 'bucket' | 'key' | 'startedMs'>): MaybePromise<Expiration | undefined>
}

declare module 'svc/kernel' {
  interface Services {
    lifecycle: LifecycleService
  }
}
