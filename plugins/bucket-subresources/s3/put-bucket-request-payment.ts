import { defineS3Operation } from 'svc/plugins/s3/api'
import { notBuilt, requireChoice } from '../requests.ts'

export default defineS3Operation({
  name: 'PutBucketRequestPayment',
  summary: 'Accepts that the owner pays for requests; nobody else can.',
  match: { method: 'PUT', level: 'bucket', query: ['requestPayment'] },
  action: 's3:PutBucketRequestPayment',
  body: { kind: 'xml', root: 'RequestPaymentConfiguration', elements: { Payer: 'text' }, maxBytes: 16 * 1024 },
  reply: { kind: 'empty', status: 200 },
  errors: ['MalformedXML', 'NoSuchBucket', 'NotImplemented'],
  uses: ['objects'],
  async handle({ bucket, xml }, { objects }) {
    const payer = requireChoice(xml!, 'Payer', ['BucketOwner', 'Requester'])
    await objects.getBucket(bucket)
    if (payer === 'Requester') throw notBuilt('Requests that the requester pays for', 'request-payment')
    return {}
  },
})
