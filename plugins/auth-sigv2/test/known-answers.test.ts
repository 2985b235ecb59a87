/** The examples of AWS's documentation, "Signing and authenticating REST requests", each with the signature that stands there. */
import t from 'tap'
import { accessKey, received, startChain } from './fixture.ts'

interface Example {
  readonly name: string
  readonly method: string
  readonly target: string
  readonly bucket?: string
  readonly date: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly signature: string
}

const examples: readonly Example[] = [
  {
    name: 'Object GET',
    method: 'GET',
    target: '/photos/puppy.jpg',
    bucket: 'awsexamplebucket1',
    date: 'Tue, 27 Mar 2007 19:36:42 +0000',
    signature: 'qgk2+6Sv9/oM7G3qLEjTH1a1l1g=',
  },
  {
    name: 'Object PUT',
    method: 'PUT',
    target: '/photos/puppy.jpg',
    bucket: 'awsexamplebucket1',
    date: 'Tue, 27 Mar 2007 21:15:45 +0000',
    headers: [
      ['Content-Type', 'image/jpeg'],
      ['Content-Length', '94328'],
    ],
    signature: 'iqRzw+ileNPu1fhspnRs8nOjjIA=',
  },
  {
    name: 'List',
    method: 'GET',
    target: '/?prefix=photos&max-keys=50&marker=puppy',
    bucket: 'awsexamplebucket1',
    date: 'Tue, 27 Mar 2007 19:42:41 +0000',
    headers: [['User-Agent', 'Mozilla/5.0']],
    signature: 'm0WP8eCtspQl5Ahe6L1SozdX9YA=',
  },
  {
    name: 'Fetch',
    method: 'GET',
    target: '/?acl',
    bucket: 'awsexamplebucket1',
    date: 'Tue, 27 Mar 2007 19:44:46 +0000',
    signature: '82ZHiFIjc+WbcwFKGUVEQspPn+0=',
  },
  {
    name: 'Delete, the bucket in the path',
    method: 'DELETE',
    target: '/awsexamplebucket1/photos/puppy.jpg',
    date: 'Tue, 27 Mar 2007 21:20:26 +0000',
    headers: [['User-Agent', 'dotnet']],
    signature: 'XbyTlbQdu9Xw5o8P4iMwPktxQd8=',
  },
  {
    name: 'Upload, with repeated headers and names in capitals',
    method: 'PUT',
    target: '/db-backup.dat.gz',
    bucket: 'static.example.com',
    date: 'Tue, 27 Mar 2007 21:06:08 +0000',
    headers: [
      ['x-amz-acl', 'public-read'],
      ['content-type', 'application/x-download'],
      ['Content-MD5', '4gJE4saaMU4BqNR0kLY+lw=='],
      ['X-Amz-Meta-ReviewedBy', 'joe@example.com'],
      ['X-Amz-Meta-ReviewedBy', 'jane@example.com'],
      ['X-Amz-Meta-FileChecksum', '0x02661779'],
      ['X-Amz-Meta-ChecksumAlgorithm', 'crc32'],
      ['Content-Disposition', 'attachment; filename=database.dat'],
      ['Content-Encoding', 'gzip'],
    ],
    signature: 'jtBQa0Aq+DkULFI8qrpwIjGEx0E=',
  },
  {
    name: 'List all my buckets',
    method: 'GET',
    target: '/',
    date: 'Wed, 28 Mar 2007 01:29:59 +0000',
    signature: 'qGdzdERIC03wnaRNKh6OqZehG9s=',
  },
  {
    name: 'Unicode keys, escaped as they were sent',
    method: 'GET',
    target: '/dictionary/fran%C3%A7ais/pr%c3%a9f%c3%a8re',
    date: 'Wed, 28 Mar 2007 01:49:49 +0000',
    signature: 'DNEZGsoieTZ92F3bUfSPQcbGmlM=',
  },
]

t.test('the signatures of the documentation hold, and no other', async t => {
  for (const { name, method, target, bucket, date, headers = [], signature } of examples) {
    const iam = await startChain(Date.parse(date))
    const request = (given: string) =>
      received(
        method,
        target,
        [['Host', 'h'], ['Date', date], ...headers, ['Authorization', `AWS ${accessKey}:${given}`]],
        {
          hostBucket: bucket ?? '',
        },
      )
    const answer = await iam.authenticate(request(signature))
    t.match(
      answer,
      { identity: { accessKey }, method: 'header', signatureVersion: 'AWS', signedMs: Date.parse(date) },
      name,
    )
    const other = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`
    t.throws(() => iam.authenticate(request(other)), { code: 'SignatureDoesNotMatch' }, name)
  }
})

t.test('so does the one in the query', async t => {
  const iam = await startChain(1175139620_000 - 60_000)
  const target = (expires: number) =>
    `/photos/puppy.jpg?AWSAccessKeyId=${accessKey}&Signature=NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D&Expires=${expires}`
  const request = (expires: number) => received('GET', target(expires), [['Host', 'h']], { hostBucket: 'johnsmith' })
  t.match(await iam.authenticate(request(1175139620)), {
    identity: { accessKey },
    method: 'presigned',
    signatureVersion: 'AWS',
    payload: { kind: 'unsigned' },
  })
  t.throws(() => iam.authenticate(request(1175139621)), { code: 'SignatureDoesNotMatch' })
})
