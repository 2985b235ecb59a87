import type { Clock } from 'svc/kernel'
import type { CompiledPolicy } from 'svc/plugins/policy/api'
import { defineS3Operation, readDocument, type S3Request, s3Errors } from 'svc/plugins/s3/api'
import { bucketPolicyErrors } from '../errors.ts'
import { describeProblems } from '../problem-text.ts'

/** UTF-8 bytes, as on AWS. */
const textBytesMax = 20 * 1024

export default defineS3Operation({
  name: 'PutBucketPolicy',
  summary: 'Replaces the policy of a bucket. A caller that could not replace it again afterwards has to confirm.',
  match: { method: 'PUT', level: 'bucket', query: ['policy'] },
  action: 's3:PutBucketPolicy',
  body: { kind: 'stream' },
  reply: { kind: 'empty', status: 204 },
  errors: ['BadDigest', 'MalformedPolicy', 'NoSuchBucket'],
  uses: ['bucketPolicy', 'checksums', 'objects', 'ports'],
  async handle(request, { bucketPolicy, checksums, objects, ports: { clock } }) {
    const { bucket } = request
    await objects.getBucket(bucket)
    const text = readText(await readDocument(request.body, textBytesMax, tooLong, checksums))
    const { policy, errors } = bucketPolicy.compile(bucket, text)
    if (policy === undefined) throw bucketPolicyErrors.MalformedPolicy(describeProblems(errors))
    if (policy.isPublic && (await bucketPolicy.refusesPublic(bucket))) throw publicBlocked(policy)
    if (!isConfirmed(request) && !bucketPolicy.keepsAccess(request.identity, bucket, policy, factsOf(request, clock))) {
      throw s3Errors.AccessDenied(
        'With this policy you could not replace it again: confirm with x-amz-confirm-remove-self-bucket-access: true.',
      )
    }
    await bucketPolicy.replace(bucket, text)
    return {}
  },
})

function readText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw bucketPolicyErrors.MalformedPolicy('The policy is not UTF-8.', { cause })
  }
}

function tooLong(sizeBytes: number) {
  return bucketPolicyErrors.MalformedPolicy(`The policy has ${sizeBytes} bytes; at most ${textBytesMax} are allowed.`)
}

function publicBlocked({ statements }: CompiledPolicy) {
  const { index, sid } = statements.find(({ isPublic }) => isPublic)!
  const name = sid === '' ? `statement ${index}` : `statement ${index} (${sid})`
  return s3Errors.AccessDenied(`Public access is blocked, and ${name} of the policy allows something to everybody.`)
}

function isConfirmed({ headers }: S3Request): boolean {
  return String(headers['x-amz-confirm-remove-self-bucket-access']).toLowerCase() === 'true'
}

function factsOf({ clientAddress, secure, headers, query }: S3Request, clock: Clock) {
  const signature = 'header' as const
  return { sourceAddress: clientAddress, secure, timeMs: clock.now(), headers, query, signature }
}
