/**
 * Adds `x-amz-expiration` to answers about newest versions, and `x-amz-abort-date` and `x-amz-abort-rule-id` to answers about uploads.
 * Source: AWS S3 API reference, HeadObject, PutObject, CreateMultipartUpload.
 */

import { chain, type MaybePromise } from 'svc/kernel'
import { httpDate, type S3Attribute } from 'svc/plugins/s3/api'
import type { Expiration, LifecycleService } from './api.ts'

type Headers = Readonly<Record<string, string>>

export function expirationHeader(lifecycle: Pick<LifecycleService, 'expirationOf' | 'abortionOf'>): S3Attribute {
  return {
    headers: [],
    read: () => undefined,
    describe({ query }, version) {
      if (query.has('versionId')) return undefined
      const expiration: MaybePromise<Expiration | undefined> = lifecycle.expirationOf(version)
      // Rules are in memory from the start on (index.ts); if they must be read again, one answer lacks the header.
      return expiration instanceof Promise ? undefined : expirationOf(expiration)
    },
    describeWritten: (_, written) => chain(lifecycle.expirationOf(written), expirationOf),
    describeUpload: (_, upload) => chain(lifecycle.abortionOf(upload), abortionOf),
  }
}

function expirationOf(expiration: Expiration | undefined): Headers | undefined {
  if (expiration === undefined) return undefined
  const { dueMs, ruleId } = expiration
  return { 'x-amz-expiration': `expiry-date="${httpDate(dueMs)}", rule-id="${encodeURIComponent(ruleId)}"` }
}

function abortionOf(expiration: Expiration | undefined): Headers | undefined {
  if (expiration === undefined) return undefined
  const { dueMs, ruleId } = expiration
  return { 'x-amz-abort-date': httpDate(dueMs), 'x-amz-abort-rule-id': encodeURIComponent(ruleId) }
}
