import type { CompiledPolicy } from 'svc/plugins/policy/api'
import type { Preconditions } from 'svc/plugins/store/api'
import type { BucketPolicyService } from '../api.ts'
import { bucketPolicyProblems } from '../errors.ts'
import { bodyBytesMax } from './policy-schema.ts'

/** Stores a policy that was sent as JSON. Rejects with `malformed_policy`, `public_access_blocked`, `precondition_failed`. */
export async function writePolicy(
  bucketPolicy: BucketPolicyService,
  bucket: string,
  document: object,
  preconditions: Preconditions,
): Promise<{ readonly policy: CompiledPolicy; readonly etag: string }> {
  const text = textOf(document)
  const { policy, errors } = bucketPolicy.compile(bucket, text)
  if (policy === undefined) throw bucketPolicyProblems.malformed_policy(errors[0]?.message, { cause: errors })
  if (policy.isPublic && (await bucketPolicy.refusesPublic(bucket))) throw bucketPolicyProblems.public_access_blocked()
  const etag = await bucketPolicy.replace(bucket, text, preconditions)
  return { policy, etag: etag! }
}

/** Formats the policy for readers, unless white space would make it too long. */
function textOf(document: object): string {
  const text = JSON.stringify(document, undefined, 2)
  return Buffer.byteLength(text) <= bodyBytesMax ? text : JSON.stringify(document)
}
