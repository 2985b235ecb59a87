import { defineS3Operation, listingText, readListSize, requireEncodingType } from 'svc/plugins/s3/api'
import { writeObjects, writePrefixes } from '../listing.ts'

export default defineS3Operation({
  name: 'ListObjects',
  summary: 'Lists objects of a bucket: the first version of the listing, which old clients still use.',
  match: { method: 'GET', level: 'bucket' },
  action: 's3:ListBucket',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'ListBucketResult' },
  errors: ['InvalidArgument', 'NoSuchBucket'],
  uses: ['objects', 'iam'],
  async handle({ bucket, query, normalizeKey }, { objects, iam }) {
    const encoding = requireEncodingType(query.get('encoding-type'))
    const maxKeys = readListSize(query.get('max-keys'), 'max-keys')
    const prefix = normalizeKey(query.get('prefix') ?? '')
    const delimiter = query.get('delimiter') ?? ''
    const marker = query.get('marker') ?? ''
    const page = await objects.listObjects({ bucket, prefix, delimiter, startAfter: normalizeKey(marker), maxKeys })
    return {
      xml: {
        Name: bucket,
        Prefix: listingText(prefix, encoding),
        Marker: listingText(marker, encoding),
        // Without a delimiter clients go on from the last key themselves.
        NextMarker: page.next !== undefined && delimiter !== '' ? listingText(page.next, encoding) : undefined,
        MaxKeys: maxKeys,
        Delimiter: delimiter === '' ? undefined : listingText(delimiter, encoding),
        EncodingType: encoding,
        IsTruncated: page.next !== undefined,
        '': [writeObjects(page.objects, encoding, iam.owner), writePrefixes(page.prefixes, encoding)],
      },
    }
  },
})
