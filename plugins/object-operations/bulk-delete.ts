/**
 * Deletes objects, and everything under folders, in commits of many objects. Each object is authorized separately; a failure does not
 * affect other objects.
 */
import type { AdminRequest } from 'svc/plugins/admin/api'
import { type DeleteOutcome, mapInTurns, type ObjectsService } from 'svc/plugins/objects/api'
import { conditionAction, unquoteEtag } from 'svc/plugins/s3/api'
import type { Static } from 'typebox'
import type { BulkDeleteResult } from './admin/bulk-delete-schema.ts'

export interface Target {
  readonly key: string
  readonly versionId?: string | undefined
  /** What it has to have. */
  readonly etag?: string | undefined
}

type Result = Static<typeof BulkDeleteResult>
type Failure = Result['errors'][number]

/** Keys that one listing of a folder asks for. */
export const listPageSize = 1000
const keyBytesMax = 1024
/** Of what one request reports, deleted or failed: the answer is kept in memory until the client has read it. */
const outcomeBytesMax = 8 * 1024 * 1024
/** Of an outcome, apart from its key. */
const outcomeBytes = 100

type Asking = Pick<AdminRequest, 'exchange' | 'isAllowed' | 'isItemAllowed' | 'origin'>

export class BulkDelete {
  readonly result: Result = { deleted: [], errors: [], isTruncated: false }
  readonly #request: Asking
  readonly #objects: ObjectsService
  readonly #bucket: string
  readonly #bypassGovernance: boolean
  /** About as many as the answer will have. */
  #answerBytes = 0

  constructor(request: Asking, objects: ObjectsService, bucket: string, bypassGovernance: boolean) {
    this.#request = request
    this.#objects = objects
    this.#bucket = bucket
    this.#bypassGovernance = bypassGovernance
  }

  async deleteAll(targets: readonly Target[]): Promise<void> {
    const decisions = await mapInTurns(targets, target => this.#mayDelete(target))
    const allowed = targets.filter((_, index) => decisions[index])
    if (allowed.length === 0) return
    const items = await mapInTurns(allowed, ({ key, versionId, etag }) => ({
      key,
      versionId,
      conditions: conditionsOf(etag),
      bypassGovernance: versionId !== undefined && this.#mayBypass(key, versionId),
    }))
    const outcomes = await this.#objects.deleteObjects(this.#bucket, items, this.#request.origin)
    for (const [index, outcome] of outcomes.entries()) this.#report(allowed[index]!, outcome)
  }

  /** Deletes the current objects under a prefix; in a bucket with versioning they get delete markers. */
  async deleteCurrent(prefix: string): Promise<void> {
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      if (this.#isOver()) return
      const page: Awaited<ReturnType<ObjectsService['listObjects']>> = await this.#objects.listObjects({
        bucket: this.#bucket,
        prefix,
        delimiter: '',
        startAfter,
        maxKeys: listPageSize,
      })
      await this.deleteAll(page.objects.map(({ key }) => ({ key, versionId: undefined })))
      startAfter = page.next
    }
  }

  /** Deletes all versions and delete markers under a prefix, or of one key. */
  async deleteVersions(prefix: string, onlyKey?: string): Promise<void> {
    let [keyMarker, versionIdMarker] = ['', '']
    for (let isMore = true; isMore; ) {
      if (this.#isOver()) return
      const page = await this.#objects.listVersions({
        bucket: this.#bucket,
        prefix,
        delimiter: '',
        keyMarker,
        versionIdMarker,
        maxKeys: listPageSize,
      })
      const found = onlyKey === undefined ? page.versions : page.versions.filter(({ key }) => key === onlyKey)
      await this.deleteAll(found.map(({ key, versionId }) => ({ key, versionId })))
      ;({ nextKeyMarker: keyMarker, nextVersionIdMarker: versionIdMarker } = page)
      isMore = page.isTruncated && found.length === page.versions.length
    }
  }

  fail({ key, versionId }: Target, code: Failure['code'], message: string): void {
    this.#count(key)
    this.result.errors.push({ key, ...(versionId === undefined ? undefined : { versionId }), code, message })
  }

  #count(key: string): void {
    this.#answerBytes += key.length + outcomeBytes
  }

  /** Whether enough is done: the answer is large, or nobody waits for it any more. */
  #isOver(): boolean {
    if (this.#answerBytes < outcomeBytesMax && !this.#request.exchange.response.destroyed) return false
    this.result.isTruncated = true
    return true
  }

  #mayDelete(target: Target): boolean {
    const action = target.versionId === undefined ? 's3:DeleteObject' : 's3:DeleteObjectVersion'
    const conditions = conditionsOf(target.etag)
    const telling = conditions && conditionAction(conditions, target.versionId)
    const actions = telling === undefined ? [action] : [action, telling]
    const isAllowed = (one: string) =>
      this.#request.isItemAllowed(one, this.#bucket, target.key, { versionId: target.versionId })
    if (!actions.every(isAllowed)) {
      this.fail(target, 'access_denied', 'You may not do this.')
      return false
    }
    if (Buffer.byteLength(target.key) > keyBytesMax) {
      this.fail(target, 'object_not_found', 'The key is not valid.')
      return false
    }
    return true
  }

  #mayBypass(key: string, versionId: string): boolean {
    const action = 's3:BypassGovernanceRetention'
    return this.#bypassGovernance && this.#request.isAllowed(action, this.#bucket, key, { versionId })
  }

  #report(target: Target, outcome: DeleteOutcome): void {
    if ('failed' in outcome) {
      const { code, message } = outcome.failed
      this.fail(target, codesOfS3[code] ?? 'internal_error', message)
      return
    }
    const { key, versionId } = target
    this.#count(key)
    this.result.deleted.push({
      key,
      ...(versionId === undefined ? undefined : { versionId }),
      deleteMarker: outcome.isDeleteMarker,
      ...(outcome.isDeleteMarker && outcome.versionId !== undefined
        ? { deleteMarkerVersionId: outcome.versionId }
        : undefined),
    })
  }
}

const conditionsOf = (etag: string | undefined) => (etag === undefined ? undefined : { ifMatch: unquoteEtag(etag) })

const codesOfS3: Readonly<Record<string, Failure['code']>> = {
  // The policies allowed the delete, so only a lock can have refused it.
  AccessDenied: 'object_locked',
  // No version has an invalid version id.
  InvalidArgument: 'version_not_found',
  NoSuchKey: 'object_not_found',
  NoSuchVersion: 'version_not_found',
  PreconditionFailed: 'precondition_failed',
}
