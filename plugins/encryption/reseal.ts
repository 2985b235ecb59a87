/**
 * Rewraps data keys: under the current master key after a rotation (`resealKms` of the Admin API), or one of them under another KMS key
 * (UpdateObjectEncryption). The bytes of objects are neither read nor written.
 *
 * A run skips data keys that are wrapped under the current key, so after an interruption it need only be started again. A rename can move
 * a version to a place that the walk has passed already: therefore a bucket is walked again until a pass rewraps nothing, at most
 * `passesMax` times.
 */
import { type CatalogError, isCatalogError } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import { type KmsService, notConfiguredTitle } from 'svc/plugins/kms/api'
import type { Lease, LockService } from 'svc/plugins/lock/api'
import {
  type EncryptedEntry,
  type ObjectEncryption,
  type ObjectPlace,
  type ObjectsService,
  onDeleteMarker,
} from 'svc/plugins/objects/api'
import type { EncryptionService, ResealResult } from './api.ts'
import type { DataKeys } from './data-keys.ts'
import { encryptionErrors } from './errors.ts'
import { decodeSealed, encodeSealed } from './sealed.ts'

const passesMax = 5
/** Data keys that are rewrapped at the same time. */
const atOnce = 32

export interface ResealOptions {
  readonly objects: ObjectsService
  readonly kms: KmsService
  readonly dataKeys: DataKeys
  readonly locks: LockService
}

export interface Reseal extends Pick<EncryptionService, 'changeKey'> {
  /** One at a time: throws `conflict` otherwise. */
  run(bucket: string | undefined): Promise<ResealResult>
}

export function createReseal({ objects, kms, dataKeys, locks }: ResealOptions): Reseal {
  const rewrap = async (
    place: ObjectPlace,
    encryption: ObjectEncryption,
    keyId: string | undefined,
  ): Promise<ObjectEncryption> => {
    const sealed = decodeSealed(encryption.sealed)
    const dataKey = await dataKeys.rewrap(place, place, sealed, keyId)
    return { ...encryption, sealed: encodeSealed({ ...sealed, dataKey }) }
  }

  const resealOne = async (bucket: string, entry: EncryptedEntry): Promise<boolean> => {
    const { key, versionId, uploadId, encryption } = entry
    const { dataKey } = decodeSealed(encryption.sealed)
    if (await kms.isCurrent(dataKey, encryption.kmsKeyId)) return false
    const change = { from: encryption.sealed, to: await rewrap({ bucket, key }, encryption, encryption.kmsKeyId) }
    if (uploadId !== undefined) await objects.changeUpload(bucket, key, uploadId, change)
    else await objects.changeVersion(bucket, key, versionId, { encryption: change })
    return true
  }

  /** Resolves with the number of rewrapped data keys. */
  const pass = async (bucket: string, counts: Counts, { check }: Lease): Promise<number> => {
    let resealed = 0
    for (let after: Buffer | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const page: Awaited<ReturnType<ObjectsService['listEncrypted']>> = await objects.listEncrypted(bucket, after)
      const entries = page.entries.filter(({ encryption }) => encryption.type !== 'SSE-C')
      for (const { uploadId } of entries) counts[uploadId === undefined ? 'versions' : 'uploads']++
      for (let from = 0; from < entries.length; from += atOnce) {
        await check()
        const tried = entries.slice(from, from + atOnce).map(entry => resealOne(bucket, entry))
        for (const outcome of await Promise.allSettled(tried)) {
          if (outcome.status === 'fulfilled') resealed += outcome.value ? 1 : 0
          else if (!isPassed(outcome.reason)) fail(counts, outcome.reason)
        }
      }
      after = page.next
    }
    return resealed
  }

  const resealBucket = async (bucket: string, total: Counts, lease: Lease): Promise<void> => {
    for (let walked = 0; walked < passesMax; walked++) {
      const counts = newCounts()
      const resealed = await pass(bucket, counts, lease)
      total.resealed += resealed
      // The last pass has seen the final state, so its counts are the result.
      if (resealed > 0 && walked + 1 < passesMax) continue
      total.versions += counts.versions
      total.uploads += counts.uploads
      total.failed += counts.failed
      total.firstError ||= counts.firstError
      return
    }
  }

  const bucketNames = async (): Promise<string[]> => {
    const names: string[] = []
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<ObjectsService['listBuckets']>> = await objects.listBuckets({
        prefix: '',
        startAfter,
        limit: 1000,
      })
      names.push(...page.buckets.map(({ name }) => name))
      startAfter = page.next
    }
    return names
  }

  return {
    async run(bucket) {
      if (!kms.isConfigured) throw adminErrors.not_implemented(notConfiguredTitle)
      if (bucket !== undefined) await objects.getBucket(bucket)
      return locks.hold('svc/reseal', { source: 'resealKms' }, async lease => {
        const total = newCounts()
        const names = bucket === undefined ? await bucketNames() : [bucket]
        for (const name of names) await resealBucket(name, total, lease)
        await lease.check()
        if (bucket === undefined && total.failed === 0) await kms.onResealed()
        const { formerKeys } = await kms.status()
        return { buckets: names.length, ...total, ...(formerKeys !== undefined && { formerKeys }) }
      })
    },

    async changeKey(bucket, key, versionId, { kmsKeyId, bucketKeyEnabled }) {
      const version = await objects.getObject(bucket, key, versionId)
      if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
      const { encryption } = version
      if (encryption === undefined || encryption.type === 'SSE-C') {
        throw encryptionErrors.InvalidRequest('Only objects with SSE-S3 or SSE-KMS can be put under another key.')
      }
      if (!kms.isConfigured) throw encryptionErrors.NotImplemented()
      await kms.requireKey(kmsKeyId)
      const again = await rewrap({ bucket, key }, encryption, kmsKeyId)
      const to: ObjectEncryption = { ...again, type: 'SSE-KMS', kmsKeyId, bucketKeyEnabled }
      await objects.changeVersion(bucket, key, version.versionId, { encryption: { from: encryption.sealed, to } })
    },
  }
}

type Counts = { -readonly [K in keyof Omit<ResealResult, 'buckets' | 'formerKeys'>]: ResealResult[K] }

function newCounts(): Counts {
  return { versions: 0, uploads: 0, resealed: 0, failed: 0, firstError: '' }
}

function fail(counts: Counts, reason: unknown): void {
  counts.failed++
  counts.firstError ||= isCatalogError(reason) ? messageOf(reason) : 'The server failed. Its log has the reason.'
}

/** The message for operators: for an unavailable key the cause, which says what to do and is hidden from other clients. */
function messageOf({ code, message, cause }: CatalogError): string {
  return code === 'kms_unavailable' && isCatalogError(cause) ? cause.message : message
}

const passed = new Set(['gone', 'NoSuchKey', 'NoSuchVersion', 'NoSuchUpload'])

/** Whether the version was deleted or replaced meanwhile. Its replacement has the current key, or the next pass finds it. */
function isPassed(reason: unknown): boolean {
  return isCatalogError(reason) && passed.has(reason.code)
}
