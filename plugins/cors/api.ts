/**
 * Cross-origin resource sharing: rules of a bucket that say which pages of other origins a browser may let read its answers. They
 * grant nothing by themselves: who may do what is decided as for every request. Source: AWS S3 User Guide, "Using cross-origin
 * resource sharing"; WHATWG Fetch, section 3.2.
 */
import type { MaybePromise } from 'svc/kernel'
import type { CorsRule } from './rules.ts'

export { corsErrors } from './errors.ts'
export { type CorsRule, type CorsRuleProblem, checkCorsRules } from './rules.ts'

/** CORS rules of buckets. Callers make sure that the bucket exists. Changes reject with `storeErrors`. */
export interface CorsService {
  /** In the order in which they are evaluated; empty where there are none. */
  rules(bucket: string): MaybePromise<{ readonly rules: readonly CorsRule[]; readonly etag: string }>
  /** Rules that `checkCorsRules` has nothing against; none removes them all. Resolves with the ETag. */
  replace(bucket: string, rules: readonly CorsRule[], options?: { readonly ifMatch?: string }): Promise<string>
}

declare module 'svc/kernel' {
  interface Services {
    cors: CorsService
  }
}
