import type { CompiledPolicy } from 'svc/plugins/policy/api'
import { storeErrors } from 'svc/plugins/store/api'
import type { BucketPolicyService } from '../api.ts'

export interface ReadablePolicy {
  readonly policy: CompiledPolicy
  readonly etag: string
}

/** Undefined where there is none. Rejects with `document_unreadable`. */
export async function readPolicy(
  bucketPolicy: BucketPolicyService,
  bucket: string,
): Promise<ReadablePolicy | undefined> {
  const found = await bucketPolicy.get(bucket)
  if (found === undefined) return undefined
  if (found === 'unreadable' || found.policy === undefined) {
    throw storeErrors.document_unreadable(
      'What is stored is no policy that can be read: it denies everything until it is replaced or deleted.',
    )
  }
  return { policy: found.policy, etag: found.etag }
}
