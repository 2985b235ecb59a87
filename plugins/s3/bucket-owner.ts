/** `x-amz-expected-bucket-owner`, and its counterpart for the source of a copy. */
import { isCatalogError } from 'svc/kernel'
import type { Bucket } from 'svc/plugins/objects/api'
import type { S3Operation } from './api.ts'
import { s3Errors } from './errors.ts'
import type { S3RequestContext } from './request.ts'

type Owned = Pick<Bucket, 'ownerId'>

/** Rejects with AccessDenied if the bucket of the request, or the server, has another owner. */
export async function checkExpectedOwner(
  context: S3RequestContext,
  operation: S3Operation,
  expected: string,
): Promise<void> {
  const { iam, objects } = context.environment
  if (context.level === 'service' || operation.name === 'CreateBucket') {
    if (iam.owner.ownerId !== expected) throw s3Errors.AccessDenied()
    return
  }
  const isAuthorized = operation.authorization === undefined
  requireOwner(expected, isAuthorized ? await objects.getBucket(context.bucket) : await ownerOfAny(context))
}

/** Throws AccessDenied. */
export function requireOwner(expected: string, { ownerId }: Owned): void {
  if (ownerId !== expected) throw s3Errors.AccessDenied('The bucket does not belong to the expected owner.')
}

/** A caller without any permission in the bucket does not learn whether it exists: all buckets have the same owner. */
async function ownerOfAny({ bucket, environment }: S3RequestContext): Promise<Owned> {
  try {
    return await environment.objects.getBucket(bucket)
  } catch (error) {
    if (isCatalogError(error) && error.code === 'NoSuchBucket') return environment.iam.owner
    throw error
  }
}
