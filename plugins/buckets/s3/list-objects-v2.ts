import { objectErrors } from 'svc/plugins/objects/api'
import { defineS3Operation, listingText, readListSize, requireEncodingType } from 'svc/plugins/s3/api'
import { readToken, writeObjects, writePrefixes, writeToken } from '../listing.ts'

export default defineS3Operation({
  name: 'ListObjectsV2',
  summary: 'Lists objects of a bucket in UTF-8 byte order, a page at a time.',
  match: { method: 'GET', level: 'bucket', query: ['list-type=2'] },
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
    const startAfter = query.get('start-after')
    const token = query.get('continuation-token')
    if (token === '') {
      throw objectErrors.InvalidArgument('The continuation token provided is incorrect', {
        extra: { ArgumentName: 'continuation-token' },
      })
    }
    const page = await objects.listObjects({
      bucket,
      prefix,
      delimiter,
      startAfter: token === undefined ? normalizeKey(startAfter ?? '') : readToken(token),
      maxKeys,
    })
    return {
      xml: {
        Name: bucket,
        Prefix: listingText(prefix, encoding),
        StartAfter: startAfter === undefined ? undefined : listingText(startAfter, encoding),
        ContinuationToken: token,
        NextContinuationToken: page.next === undefined ? undefined : writeToken(page.next),
        KeyCount: page.objects.length + page.prefixes.length,
        MaxKeys: maxKeys,
        Delimiter: delimiter === '' ? undefined : listingText(delimiter, encoding),
        EncodingType: encoding,
        IsTruncated: page.next !== undefined,
        '': [
          writeObjects(page.objects, encoding, query.get('fetch-owner') === 'true' ? iam.owner : undefined),
          writePrefixes(page.prefixes, encoding),
        ],
      },
    }
  },
})
