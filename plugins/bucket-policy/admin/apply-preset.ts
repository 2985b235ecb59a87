import { isCatalogError } from 'svc/kernel'
import { adminErrors, invalidFields } from 'svc/plugins/admin/api'
import type { StatementDocument } from 'svc/plugins/policy/api'
import type { BucketPolicyService } from '../api.ts'
import { type Preset, rulesOf, unusableInPrefix, withPreset } from '../simple-access.ts'
import { readPolicy } from './read-policy.ts'
import { writePolicy } from './write-policy.ts'

/** Bounds the attempts when others keep changing the policy. */
const attemptsMax = 16

/** Changes the preset of one prefix, or of all where `prefix` is undefined, without losing concurrent changes of the policy. */
export async function applyPreset(
  bucketPolicy: BucketPolicyService,
  bucket: string,
  prefix: string | undefined,
  preset: Preset,
): Promise<void> {
  if (prefix !== undefined && unusableInPrefix.test(prefix)) {
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
  prefix: string | undefined,
  preset: Preset,
): Promise<void> {
  const found = await readPolicy(bucketPolicy, bucket)
  if (found === undefined) {
    const Statement = changed(bucket, [], prefix, preset)
    if (Statement.length === 0) return
    await writePolicy(bucketPolicy, bucket, { Version: '2012-10-17', Statement }, { ifNoneMatch: '*' })
    return
  }
  const { document } = found.policy
  const Statement = changed(bucket, document.Statement, prefix, preset)
  if (JSON.stringify(Statement) === JSON.stringify(document.Statement)) return
  const options = { ifMatch: found.etag }
  if (Statement.length === 0) await bucketPolicy.replace(bucket, undefined, options)
  else await writePolicy(bucketPolicy, bucket, { ...document, Statement }, options)
}

function changed(
  bucket: string,
  statements: readonly StatementDocument[],
  prefix: string | undefined,
  preset: Preset,
): readonly StatementDocument[] {
  const prefixes = prefix === undefined ? rulesOf(bucket, statements).map(rule => rule.prefix) : [prefix]
  return prefixes.reduce((left, one) => withPreset(bucket, left, one, preset), statements)
}
