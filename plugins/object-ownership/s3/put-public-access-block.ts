import { childText, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'PutPublicAccessBlock',
  summary: 'Replaces what public access is blocked in a bucket; what is left out is not blocked.',
  match: { method: 'PUT', level: 'bucket', query: ['publicAccessBlock'] },
  action: 's3:PutBucketPublicAccessBlock',
  body: {
    kind: 'xml',
    root: 'PublicAccessBlockConfiguration',
    elements: {
      BlockPublicAcls: 'text',
      IgnorePublicAcls: 'text',
      BlockPublicPolicy: 'text',
      RestrictPublicBuckets: 'text',
    },
    maxBytes: 16 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['MalformedXML', 'NoSuchBucket'],
  uses: ['objectOwnership', 'objects'],
  async handle({ bucket, xml }, { objectOwnership, objects }) {
    const block = {
      blockPublicAcls: readFlag(xml!, 'BlockPublicAcls'),
      ignorePublicAcls: readFlag(xml!, 'IgnorePublicAcls'),
      blockPublicPolicy: readFlag(xml!, 'BlockPublicPolicy'),
      restrictPublicBuckets: readFlag(xml!, 'RestrictPublicBuckets'),
    }
    await objects.getBucket(bucket)
    await objectOwnership.setPublicAccessBlock(bucket, block)
    return {}
  },
})

function readFlag(xml: XmlNode, name: string): boolean {
  const text = childText(xml, name)?.trim().toLowerCase() ?? 'false'
  if (text !== 'true' && text !== 'false') throw s3Errors.MalformedXML(`${name} is true or false.`)
  return text === 'true'
}
