import { isCatalogError } from 'svc/kernel'
import { adminErrors, invalidFields } from 'svc/plugins/admin/api'
import type { BucketPolicyService } from '../api.ts'
import { type Preset, unusableInPrefix, withPreset } from '../simple-access.ts'
import { readPolicy } from './read-policy.ts'
import { writePolicy } from './write-policy.ts'

/** Bounds the attempts when others keep changing the policy. */
const attemptsMax = 16

/** Changes the preset of one prefix, without losing concurrent changes of the policy. */
export async function applyPreset(
  bucketPolicy: BucketPolicyService,
  bucket: string,
  prefix: string,
  preset: Preset,
): Promise<void> {
  if (unusableInPrefix.test(prefix)) {
    throw invalidFields([{ element: '/prefix', message: 'has a *, ? or $, which are special in a policy' }])
  }
  for (let attempt = 1; ; attempt++) {
    try {
      await changeOnce(bucketPolicy, bucket, prefix, preset)
      return
    } catch (error) {
      if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
      // The policy has changed since it was read.
      if (attempt === attemptsMax)
        throw adminErrors.conflict('Other requests keep changing the policy: try again.', { cause: error })
    }
  }
}

async function changeOnce(
  bucketPolicy: BucketPolicyService,
  bucket: string,
  prefix: string,
  preset: Preset,
): Promise<void> {
  const found = await readPolicy(bucketPolicy, bucket)
  if (found === undefined) {
    const Statement = withPreset(bucket, [], prefix, preset)
    if (Statement.length === 0) return
    await writePolicy(bucketPolicy, bucket, { Version: '2012-10-17', Statement }, { ifNoneMatch: '*' })
    return
  }
  const { document } = found.policy
  const Statement = withPreset(bucket, document.Statement, prefix, preset)
  if (JSON.stringify(Statement) === JSON.stringify(document.Statement)) return
  const options = { ifMatch: found.etag }
  if (Statement.length === 0) await bucketPolicy.replace(bucket, undefined, options)
  else await writePolicy(bucketPolicy, bucket, { ...document, Statement }, options)
}
