import { childrenNamed, childText, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'

const others = ['BucketOwnerPreferred', 'ObjectWriter']

export default defineS3Operation<'objectOwnership' | 'objects'>({
  name: 'PutBucketOwnershipControls',
  summary: 'Accepts that the owner of a bucket owns its objects; access control lists cannot be turned on.',
  match: { method: 'PUT', level: 'bucket', query: ['ownershipControls'] },
  action: 's3:PutBucketOwnershipControls',
  body: {
    kind: 'xml',
    root: 'OwnershipControls',
    elements: { Rule: { ObjectOwnership: 'text' } },
    maxBytes: 16 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['MalformedXML', 'NoSuchBucket', 'NotImplemented'],
  async handle({ bucket, xml }, { objectOwnership, objects }) {
    const ownership = readOwnership(xml!)
    await objects.getBucket(bucket)
    if (others.includes(ownership)) {
      throw s3Errors.NotImplemented(`The object ownership ${ownership} needs the plugin "acl", which is not loaded.`, {
        extra: { Plugin: 'acl' },
      })
    }
    await objectOwnership.setOwnershipControls(bucket, true)
    return {}
  },
})

function readOwnership(xml: XmlNode): string {
  const [rule, ...more] = childrenNamed(xml, 'Rule')
  if (rule === undefined || more.length > 0) throw s3Errors.MalformedXML('OwnershipControls holds one Rule.')
  const ownership = childText(rule, 'ObjectOwnership')
  if (ownership === undefined || (ownership !== 'BucketOwnerEnforced' && !others.includes(ownership))) {
    throw s3Errors.MalformedXML('ObjectOwnership is BucketOwnerEnforced, BucketOwnerPreferred or ObjectWriter.')
  }
  return ownership
}
