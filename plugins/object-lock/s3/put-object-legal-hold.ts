import { childText, defineS3Operation, s3Errors } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'PutObjectLegalHold',
  summary: 'Sets or removes the legal hold of an object.',
  match: { method: 'PUT', level: 'object', query: ['legal-hold'] },
  action: 's3:PutObjectLegalHold',
  versionedAction: 's3:PutObjectLegalHold',
  body: { kind: 'xml', root: 'LegalHold', elements: { Status: 'text' }, maxBytes: 16 * 1024 },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'InvalidArgument',
    'InvalidRequest',
    'MalformedXML',
    'MethodNotAllowed',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchVersion',
  ],
  uses: ['objects'],
  async handle({ bucket, key, query, xml, origin }, { objects }) {
    const status = childText(xml!, 'Status')
    if (status !== 'ON' && status !== 'OFF') throw s3Errors.MalformedXML('Status must be ON or OFF.')
    await objects.changeVersion(bucket, key, query.get('versionId'), { legalHold: status === 'ON' }, origin)
    return {}
  },
})
