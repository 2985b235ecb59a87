import { childrenNamed, childText, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'

const ownerships = ['BucketOwnerEnforced', 'BucketOwnerPreferred', 'ObjectWriter'] as const

export default defineS3Operation({
  name: 'PutBucketOwnershipControls',
  summary:
    "Sets the object ownership of a bucket, which turns access control lists on or off; off only while that of the bucket is the owner's.",
  match: { method: 'PUT', level: 'bucket', query: ['ownershipControls'] },
  action: 's3:PutBucketOwnershipControls',
  body: {
    kind: 'xml',
    root: 'OwnershipControls',
    elements: { Rule: { ObjectOwnership: 'text' } },
    maxBytes: 16 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['InvalidBucketAclWithObjectOwnership', 'MalformedXML', 'NoSuchBucket'],
  uses: ['objectOwnership', 'objects'],
  async handle({ bucket, xml }, { objectOwnership, objects }) {
    const ownership = readOwnership(xml!)
    await objects.getBucket(bucket)
    await objectOwnership.changeAccessControl(bucket, former => {
      if (ownership !== 'BucketOwnerEnforced') return { ...former, ownership }
      if (former?.acl === undefined) return undefined
      throw s3Errors.InvalidBucketAclWithObjectOwnership()
    })
    await objectOwnership.setOwnershipControls(bucket, true)
    return {}
  },
})

function readOwnership(xml: XmlNode): (typeof ownerships)[number] {
  const [rule, ...more] = childrenNamed(xml, 'Rule')
  if (rule === undefined || more.length > 0) throw s3Errors.MalformedXML('OwnershipControls holds one Rule.')
  const text = childText(rule, 'ObjectOwnership')
  const ownership = ownerships.find(name => name === text)
  if (ownership === undefined) {
    throw s3Errors.MalformedXML('ObjectOwnership is BucketOwnerEnforced, BucketOwnerPreferred or ObjectWriter.')
  }
  return ownership
}
