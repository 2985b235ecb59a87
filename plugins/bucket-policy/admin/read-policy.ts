import type { CompiledPolicy } from 'svc/plugins/policy/api'
import { storeErrors } from 'svc/plugins/store/api'
import type { BucketPolicyService } from '../api.ts'

export interface ReadablePolicy {
  readonly policy: CompiledPolicy
  readonly etag: string
}

/** Undefined if there is none. Rejects with `document_unreadable`. */
export async function readPolicy(
  bucketPolicy: BucketPolicyService,
  bucket: string,
): Promise<ReadablePolicy | undefined> {
  const found = await bucketPolicy.get(bucket)
  if (found === undefined) return undefined
  if (found === 'unreadable' || found.policy === undefined) {
    throw storeErrors.document_unreadable(
      'The stored policy cannot be read: everything is denied until it is replaced or deleted.',
    )
  }
  return { policy: found.policy, etag: found.etag }
}
