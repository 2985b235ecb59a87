import { childText, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'PutBucketVersioning',
  summary: 'Enables or suspends versioning of a bucket.',
  match: { method: 'PUT', level: 'bucket', query: ['versioning'] },
  action: 's3:PutBucketVersioning',
  body: {
    kind: 'xml',
    root: 'VersioningConfiguration',
    elements: { Status: 'text', MfaDelete: 'text' },
    maxBytes: 16 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['InvalidBucketState', 'MalformedXML', 'NoSuchBucket', 'NotImplemented'],
  uses: ['objects'],
  async handle({ bucket, xml }, { objects }) {
    await objects.changeBucket(bucket, { versioning: readStatus(xml!) })
    return {}
  },
})

function readStatus(xml: XmlNode): 'enabled' | 'suspended' {
  const mfaDelete = childText(xml, 'MfaDelete') ?? 'Disabled'
  if (mfaDelete === 'Enabled') {
    throw s3Errors.NotImplemented('MFA delete is not implemented: there are no MFA devices here.', {
      extra: { Header: 'x-amz-mfa' },
    })
  }
  const status = childText(xml, 'Status')
  if (mfaDelete !== 'Disabled' || (status !== 'Enabled' && status !== 'Suspended')) {
    throw s3Errors.MalformedXML('Status is Enabled or Suspended, and MfaDelete is Disabled.')
  }
  return status === 'Enabled' ? 'enabled' : 'suspended'
}
