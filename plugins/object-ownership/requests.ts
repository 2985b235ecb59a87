/** Access control lists in headers of writes: what is stored of them, and what is refused. */
import { chain, type MaybePromise } from 'svc/kernel'
import type { IamService, Identity } from 'svc/plugins/iam/api'
import { type CannedAcl, objectErrors } from 'svc/plugins/objects/api'
import { type S3Request, s3Errors } from 'svc/plugins/s3/api'
import { asksForAcl, readAclHeaders } from './access-control.ts'
import type { ObjectOwnershipService } from './api.ts'

type Ownership = Pick<ObjectOwnershipService, 'accessControl' | 'blocks'>

/** Throws AccessDenied, or rejects, for a list that grants something where public lists are refused. */
export function requirePermittedAcl(
  bucket: string,
  acl: CannedAcl | undefined,
  ownership: Pick<ObjectOwnershipService, 'blocks'>,
): MaybePromise<void> {
  if (acl === undefined) return
  return chain(ownership.blocks(bucket), ({ blockPublicAcls }) => {
    if (blockPublicAcls) throw s3Errors.AccessDenied('Public access control lists are blocked in this bucket.')
  })
}

/** For `S3Attribute.acceptAcl`. */
export function acceptAcl(
  request: S3Request,
  ownership: Ownership,
  owner: Identity,
): MaybePromise<CannedAcl | 'none' | undefined> {
  const { bucket, key, headers } = request
  return chain(ownership.accessControl(bucket), found => {
    if (found === undefined) return undefined
    const acl = readAclHeaders(headers, owner)
    if (acl === undefined) return 'none'
    if (!request.isAllowed('s3:PutObjectAcl', bucket, key)) throw s3Errors.AccessDenied()
    return chain(requirePermittedAcl(bucket, acl, ownership), () => acl)
  })
}

const ownerships = new Set(['BucketOwnerPreferred', 'ObjectWriter'])

/** For `ObjectOwnershipService.readNewBucket`. */
export function createReadNewBucket(
  ownership: Pick<ObjectOwnershipService, 'blocks'>,
  iam: Pick<IamService, 'owner'>,
): ObjectOwnershipService['readNewBucket'] {
  return request => {
    const { bucket, headers } = request
    const asked = headers['x-amz-object-ownership']
    if (asked === undefined || asked === 'BucketOwnerEnforced') {
      return chain(request.refuseAcl('bucket'), () => undefined)
    }
    if (!ownerships.has(String(asked))) throw objectErrors.InvalidArgument(`"${asked}" is no object ownership.`)
    requireRight(request, 's3:PutBucketOwnershipControls')
    const acl = readAclHeaders(headers, iam.owner)
    if (asksForAcl(headers)) requireRight(request, 's3:PutBucketAcl')
    const accessControl = { ownership: asked as 'BucketOwnerPreferred' | 'ObjectWriter', acl }
    return chain(requirePermittedAcl(bucket, acl, ownership), () => accessControl)
  }
}

function requireRight({ bucket, isAllowed }: S3Request, action: string): void {
  if (!isAllowed(action, bucket, '')) throw s3Errors.AccessDenied()
}
