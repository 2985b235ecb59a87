/** What holds where a bucket has no rules of its own: `cors_allow_origin` of the settings. */

import type { MaybePromise } from 'svc/kernel'
import type { ApiSettings } from 'svc/plugins/s3/api'
import type { Settings } from 'svc/plugins/settings/api'
import { type ReadyRules, readyRules } from './matching.ts'

/** Headers of answers that browsers keep from pages unless they are named. */
const exposeHeaders = [
  'Accept-Ranges',
  'Content-Range',
  'ETag',
  'x-amz-checksum-crc32',
  'x-amz-checksum-crc32c',
  'x-amz-checksum-crc64nvme',
  'x-amz-checksum-sha1',
  'x-amz-checksum-sha256',
  'x-amz-checksum-type',
  'x-amz-delete-marker',
  'x-amz-id-2',
  'x-amz-mp-parts-count',
  'x-amz-request-id',
  'x-amz-tagging-count',
  'x-amz-version-id',
]

/** Undefined where the settings name no origin. */
export function createCommonRules(api: Settings<ApiSettings>): () => MaybePromise<ReadyRules | undefined> {
  let made: { readonly from: ApiSettings; readonly rules: ReadyRules | undefined } | undefined
  const rulesOf = (from: ApiSettings): ReadyRules | undefined => {
    // Values are the same object as long as nobody changes them.
    if (made?.from !== from) made = { from, rules: makeRules(from.cors_allow_origin) }
    return made.rules
  }
  return () => {
    const values = api.get()
    return values instanceof Promise ? values.then(rulesOf) : rulesOf(values)
  }
}

function makeRules(allowedOrigins: readonly string[]): ReadyRules | undefined {
  if (allowedOrigins.length === 0) return undefined
  return readyRules([
    {
      id: '',
      allowedOrigins: [...allowedOrigins],
      allowedMethods: ['GET', 'PUT', 'POST', 'DELETE', 'HEAD'],
      allowedHeaders: ['*'],
      exposeHeaders,
      maxAgeSeconds: undefined,
    },
  ])
}
