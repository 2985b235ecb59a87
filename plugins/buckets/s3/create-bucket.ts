import { isDeepStrictEqual } from 'node:util'
import { isCatalogError } from 'svc/kernel'
import 'svc/plugins/object-ownership/api'
import { objectErrors, requireNewBucketName, type Tags } from 'svc/plugins/objects/api'
import { childrenNamed, childText, defineS3Operation, type S3Request, s3Errors, type XmlNode } from 'svc/plugins/s3/api'
import { readTagSet, tagSetElements } from 'svc/plugins/tagging/api'

export default defineS3Operation({
  name: 'CreateBucket',
  summary: 'Creates a bucket.',
  match: { method: 'PUT', level: 'bucket' },
  action: 's3:CreateBucket',
  body: {
    kind: 'xml',
    root: 'CreateBucketConfiguration',
    elements: { LocationConstraint: 'text', Location: 'anything', Bucket: 'anything', Tags: tagSetElements },
    maxBytes: 64 * 1024,
    optional: true,
  },
  reply: { kind: 'empty', status: 200 },
  features: ['x-amz-acl', 'x-amz-object-ownership'],
  errors: [
    'BucketAlreadyExists',
    'BucketAlreadyOwnedByYou',
    'AccessControlListNotSupported',
    'AccessDenied',
    'BadRequest',
    'InvalidArgument',
    'InvalidBucketAclWithObjectOwnership',
    'InvalidBucketName',
    'InvalidLocationConstraint',
    'InvalidTag',
    'MalformedXML',
    'NotImplemented',
  ],
  uses: ['objects', 'iam', 'authSigv4', 'objectOwnership'],
  async handle(request, { objects, iam, authSigv4, objectOwnership }) {
    const { bucket, xml } = request
    requireNewBucketName(bucket)
    const accessControl = await objectOwnership.readNewBucket(request)
    const tags = xml === undefined ? undefined : readConfiguration(xml, authSigv4.region)
    if (tags !== undefined && !request.isAllowed('s3:PutBucketTagging', bucket, '')) throw s3Errors.AccessDenied()
    const { region } = authSigv4
    const objectLock = readObjectLock(request)
    try {
      await objects.createBucket(bucket, { region, owner: iam.owner, tags, objectLock })
      if (accessControl !== undefined) await objectOwnership.changeAccessControl(bucket, () => accessControl)
    } catch (error) {
      // In this region, for reasons of history, AWS answers as if the bucket had been created; nothing of it changes.
      const isRepeated = isCatalogError(error) && error.code === 'BucketAlreadyOwnedByYou' && region === 'us-east-1'
      if (!isRepeated) throw error
      const existing = await objects.getBucket(bucket)
      const lists = await objectOwnership.accessControl(bucket)
      const { headers } = request
      const differs = [
        headers['x-amz-bucket-object-lock-enabled'] !== undefined && objectLock !== (existing.objectLock !== undefined),
        tags !== undefined && !isDeepStrictEqual(tags, existing.tags),
        headers['x-amz-object-ownership'] !== undefined && accessControl?.ownership !== lists?.ownership,
        accessControl !== undefined && accessControl.acl !== lists?.acl,
      ]
      // Whoever asked for another bucket than there is must not believe to have it.
      if (differs.includes(true)) throw error
    }
    return { headers: { Location: `/${bucket}`, 'x-amz-bucket-arn': `arn:aws:s3:::${bucket}` } }
  },
})

/** Object lock needs its own permissions on top, and those for versioning, which comes with it. */
function readObjectLock({ headers, bucket, isAllowed }: S3Request): boolean {
  const asked = headers['x-amz-bucket-object-lock-enabled'] as string | undefined
  if (asked === undefined || asked.toLowerCase() === 'false') return false
  if (asked.toLowerCase() !== 'true') {
    throw objectErrors.InvalidArgument('x-amz-bucket-object-lock-enabled is true or false.')
  }
  for (const action of ['s3:PutBucketObjectLockConfiguration', 's3:PutBucketVersioning']) {
    if (!isAllowed(action, bucket, '')) throw s3Errors.AccessDenied()
  }
  return true
}

/**
 * The tags of the bucket to be, if it has any. Every SDK sends the region of its client, some always `us-east-1`: both are where
 * the bucket will be anyway.
 */
function readConfiguration(xml: XmlNode, region: string): Tags | undefined {
  const location = childText(xml, 'LocationConstraint')
  if (location !== undefined && location !== '' && location !== region && location !== 'us-east-1') {
    throw s3Errors.InvalidLocationConstraint(undefined, { extra: { LocationConstraint: location } })
  }
  for (const name of ['Location', 'Bucket']) {
    if (childrenNamed(xml, name).length === 0) continue
    throw s3Errors.NotImplemented('Directory buckets need the plugin "directory-buckets", which is not loaded.', {
      extra: { Plugin: 'directory-buckets' },
    })
  }
  const [set, ...others] = childrenNamed(xml, 'Tags')
  if (others.length > 0) throw s3Errors.MalformedXML('A bucket has one set of tags.')
  return set === undefined || set.children.length === 0 ? undefined : readTagSet(set, 'bucket')
}
