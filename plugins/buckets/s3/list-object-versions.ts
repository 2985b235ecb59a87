import { objectErrors } from 'svc/plugins/objects/api'
import { defineS3Operation, listingText, readListSize, requireEncodingType } from 'svc/plugins/s3/api'
import { writePrefixes, writeVersions } from '../listing.ts'

export default defineS3Operation({
  name: 'ListObjectVersions',
  summary: 'Lists every version and delete marker of a bucket, by key and then the newest first.',
  match: { method: 'GET', level: 'bucket', query: ['versions'] },
  action: 's3:ListBucketVersions',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'ListVersionsResult' },
  errors: ['InvalidArgument', 'NoSuchBucket'],
  uses: ['objects', 'iam'],
  async handle({ bucket, query, normalizeKey }, { objects, iam }) {
    const encoding = requireEncodingType(query.get('encoding-type'))
    const maxKeys = readListSize(query.get('max-keys'), 'max-keys')
    const prefix = normalizeKey(query.get('prefix') ?? '')
    const delimiter = query.get('delimiter') ?? ''
    const keyMarker = normalizeKey(query.get('key-marker') ?? '')
    const versionIdMarker = query.get('version-id-marker') ?? ''
    if (versionIdMarker !== '' && keyMarker === '') {
      throw objectErrors.InvalidArgument('A version-id marker cannot be specified without a key marker.', {
        extra: { ArgumentName: 'version-id-marker', ArgumentValue: versionIdMarker },
      })
    }
    const page = await objects.listVersions({ bucket, prefix, delimiter, keyMarker, versionIdMarker, maxKeys })
    return {
      xml: {
        Name: bucket,
        Prefix: listingText(prefix, encoding),
        KeyMarker: listingText(keyMarker, encoding),
        VersionIdMarker: versionIdMarker,
        NextKeyMarker: page.isTruncated ? listingText(page.nextKeyMarker, encoding) : undefined,
        NextVersionIdMarker: page.isTruncated && page.nextVersionIdMarker !== '' ? page.nextVersionIdMarker : undefined,
        MaxKeys: maxKeys,
        Delimiter: delimiter === '' ? undefined : listingText(delimiter, encoding),
        EncodingType: encoding,
        IsTruncated: page.isTruncated,
        '': [writeVersions(page.versions, encoding, iam.owner), writePrefixes(page.prefixes, encoding)],
      },
    }
  },
})
