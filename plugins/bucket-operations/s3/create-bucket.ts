import { objectErrors } from 'svc/plugins/objects/api'
import { childrenNamed, childText, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'
import { requireNewBucketName } from '../bucket-name.ts'

const ownerships = new Set(['BucketOwnerEnforced', 'BucketOwnerPreferred', 'ObjectWriter'])

export default defineS3Operation<'objects' | 'iam' | 'authSigv4'>({
  name: 'CreateBucket',
  summary: 'Creates a bucket.',
  match: { method: 'PUT', level: 'bucket' },
  action: 's3:CreateBucket',
  body: { kind: 'xml', root: 'CreateBucketConfiguration', maxBytes: 64 * 1024, optional: true },
  reply: { kind: 'empty', status: 200 },
  features: ['x-amz-object-ownership'],
  errors: [
    'BucketAlreadyExists',
    'BucketAlreadyOwnedByYou',
    'InvalidArgument',
    'InvalidBucketAclWithObjectOwnership',
    'InvalidBucketName',
    'InvalidLocationConstraint',
    'MalformedXML',
    'NotImplemented',
  ],
  async handle({ bucket, headers, identity, xml }, { objects, iam, authSigv4 }) {
    requireNewBucketName(bucket)
    requireOwnership(headers['x-amz-object-ownership'] as string | undefined)
    if (xml !== undefined) readConfiguration(xml, authSigv4.region)
    await objects.createBucket(bucket, { region: authSigv4.region, owner: identity ?? iam.owner })
    return { headers: { Location: `/${bucket}` } }
  },
})

function requireOwnership(value: string | undefined): void {
  if (value === undefined || value === 'BucketOwnerEnforced') return
  if (!ownerships.has(value)) throw objectErrors.InvalidArgument(`"${value}" is no object ownership.`)
  throw s3Errors.NotImplemented(`The object ownership ${value} needs the plugin "acl", which is not loaded.`, {
    extra: { Header: 'x-amz-object-ownership', Plugin: 'acl' },
  })
}

/** Every SDK sends the region of its client, some always `us-east-1`: both are where the bucket will be anyway. */
function readConfiguration(xml: XmlNode, region: string): void {
  const location = childText(xml, 'LocationConstraint')
  if (location !== undefined && location !== '' && location !== region && location !== 'us-east-1') {
    throw s3Errors.InvalidLocationConstraint(undefined, { extra: { LocationConstraint: location } })
  }
  for (const child of childrenNamed(xml, 'Tags')) {
    if (child.children.length === 0) continue
    throw s3Errors.NotImplemented('Tags of a bucket need the plugin "tagging", which is not loaded.', {
      extra: { Plugin: 'tagging' },
    })
  }
  for (const name of ['Location', 'Bucket']) {
    if (childrenNamed(xml, name).length === 0) continue
    throw s3Errors.NotImplemented('Directory buckets need the plugin "directory-buckets", which is not loaded.', {
      extra: { Plugin: 'directory-buckets' },
    })
  }
}
