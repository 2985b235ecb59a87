import assert from 'node:assert/strict'
import { S3Client } from '@aws-sdk/client-s3'
import { S3RequestPresigner } from '@aws-sdk/s3-request-presigner'
import fc from 'fast-check'
import t from 'tap'
import { encodeChunks, presignUrl, signPolicy, signRequest } from '../api.ts'
import { emptySha256 } from '../canonical.ts'
import { formatAmzDate } from '../date.ts'
import { encodeText } from '../encoding.ts'
import { accessKey, decode, outcome, received, region, secretKey, signer, startAuth } from './fixture.ts'

const documentsMs = Date.UTC(2013, 4, 24)
const documents = await startAuth(documentsMs)
const nowMs = Date.UTC(2026, 6, 1, 12, 30, 15)
const auth = await startAuth(nowMs)

const authorization = (signedHeaders: string, signature: string) =>
  `AWS4-HMAC-SHA256 Credential=${accessKey}/20130524/us-east-1/s3/aws4_request,SignedHeaders=${signedHeaders},Signature=${signature}`

t.test('the examples of "Authenticating requests: using the Authorization header" hold', async () => {
  const host = 'examplebucket.s3.amazonaws.com'
  const base = { host, 'x-amz-content-sha256': emptySha256, 'x-amz-date': '20130524T000000Z' }
  const short = 'host;x-amz-content-sha256;x-amz-date'
  const examples: [string, string, Record<string, string>, string, string][] = [
    [
      'GET',
      '/test.txt',
      { ...base, range: 'bytes=0-9' },
      'host;range;x-amz-content-sha256;x-amz-date',
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'PUT',
      '/test%24file.text',
      {
        ...base,
        date: 'Fri, 24 May 2013 00:00:00 GMT',
        'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
        'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      },
      'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ],
    ['GET', '/?lifecycle', base, short, 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    ['GET', '/?max-keys=2&prefix=J', base, short, '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ]
  for (const [method, target, headers, signedHeaders, signature] of examples) {
    const signed = { ...headers, authorization: authorization(signedHeaders, signature) }
    const { identity, method: how } = documents.authenticate(received(method, target, signed))
    assert.equal(identity?.accessKey, accessKey, target)
    assert.equal(how, 'header')
  }
  // Our signer creates the same signature.
  const made = signRequest(signer, { method: 'GET', host, path: '/', query: 'prefix=J&max-keys=2', nowMs: documentsMs })
  assert.ok(made.headers.authorization!.endsWith(examples[3]![4]))
})

t.test('the example of "Authenticating requests: using query parameters" holds', async () => {
  const target =
    '/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404'
  const host = 'examplebucket.s3.amazonaws.com'
  assert.equal(documents.authenticate(received('GET', target, { host })).method, 'presigned')
  assert.equal(
    presignUrl(signer, { method: 'GET', url: `https://${host}/test.txt`, expiresSeconds: 86400, nowMs: documentsMs }),
    `https://${host}${target}`,
  )
})

const streamed = Buffer.alloc(66_560, 'a')
const streamedChunks = [streamed.subarray(0, 65_536), streamed.subarray(65_536)]

t.test('the example of "Transferring payload in multiple chunks" holds', async () => {
  const headers = {
    host: 's3.amazonaws.com',
    'content-encoding': 'aws-chunked',
    'content-length': '66824',
    'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
    'x-amz-date': '20130524T000000Z',
    'x-amz-decoded-content-length': '66560',
    'x-amz-storage-class': 'REDUCED_REDUNDANCY',
  }
  const seed = '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9'
  const signed = authorization(Object.keys(headers).sort().join(';'), seed)
  const authentication = documents.authenticate(
    received('PUT', '/examplebucket/chunkObject.txt', { ...headers, authorization: signed }),
  )
  assert.deepEqual(authentication.payload, { kind: 'chunked', signed: true, trailer: false })
  const wire = Buffer.concat([
    Buffer.from('10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n'),
    streamedChunks[0]!,
    Buffer.from('\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n'),
    streamedChunks[1]!,
    Buffer.from('\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n'),
  ])
  assert.equal(wire.length, 66_824)
  assert.deepEqual(decode(authentication.createDecoder()!, [wire]).payload, streamed)
  const { headers: made, signing } = signRequest(signer, {
    method: 'PUT',
    host: headers.host,
    path: '/examplebucket/chunkObject.txt',
    headers: {
      'content-encoding': headers['content-encoding'],
      'content-length': headers['content-length'],
      'x-amz-decoded-content-length': headers['x-amz-decoded-content-length'],
      'x-amz-storage-class': headers['x-amz-storage-class'],
    },
    payload: headers['x-amz-content-sha256'],
    nowMs: documentsMs,
  })
  assert.ok(made.authorization!.endsWith(seed))
  assert.deepEqual(encodeChunks({ chunks: streamedChunks, signing }), wire)
})

t.test('the example of "… in multiple chunks including trailing headers" holds', async () => {
  const headers = {
    host: 's3.amazonaws.com',
    'content-encoding': 'aws-chunked',
    'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER',
    'x-amz-date': '20130524T000000Z',
    'x-amz-decoded-content-length': '66560',
    'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    'x-amz-trailer': 'x-amz-checksum-crc32c',
  }
  const signed = authorization(
    Object.keys(headers).sort().join(';'),
    '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e',
  )
  const authentication = documents.authenticate(
    received('PUT', '/examplebucket/chunkObject.txt', { ...headers, authorization: signed }),
  )
  const wire = Buffer.concat([
    Buffer.from('10000;chunk-signature=b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2\r\n'),
    streamedChunks[0]!,
    Buffer.from('\r\n400;chunk-signature=1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7\r\n'),
    streamedChunks[1]!,
    Buffer.from('\r\n0;chunk-signature=2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992\r\n'),
    Buffer.from('x-amz-checksum-crc32c:sOO8/Q==\r\n'),
    Buffer.from('x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n'),
  ])
  assert.deepEqual(decode(authentication.createDecoder()!, [wire]), {
    payload: streamed,
    trailers: { 'x-amz-checksum-crc32c': 'sOO8/Q==' },
  })
})

t.test('the example of a POST policy holds', async () => {
  const policy =
    'eyAiZXhwaXJhdGlvbiI6ICIyMDE1LTEyLTMwVDEyOjAwOjAwLjAwMFoiLA0KICAiY29uZGl0aW9ucyI6IFsNCiAgICB7ImJ1Y2tldCI6ICJzaWd2NGV4YW1wbGVidWNrZXQifSwNCiAgICBbInN0YXJ0cy13aXRoIiwgIiRrZXkiLCAidXNlci91c2VyMS8iXSwNCiAgICB7ImFjbCI6ICJwdWJsaWMtcmVhZCJ9LA0KICAgIHsic3VjY2Vzc19hY3Rpb25fcmVkaXJlY3QiOiAiaHR0cDovL3NpZ3Y0ZXhhbXBsZWJ1Y2tldC5zMy5hbWF6b25hd3MuY29tL3N1Y2Nlc3NmdWxfdXBsb2FkLmh0bWwifSwNCiAgICBbInN0YXJ0cy13aXRoIiwgIiRDb250ZW50LVR5cGUiLCAiaW1hZ2UvIl0sDQogICAgeyJ4LWFtei1tZXRhLXV1aWQiOiAiMTQzNjUxMjM2NTEyNzQifSwNCiAgICB7IngtYW16LXNlcnZlci1zaWRlLWVuY3J5cHRpb24iOiAiQUVTMjU2In0sDQogICAgWyJzdGFydHMtd2l0aCIsICIkeC1hbXotbWV0YS10YWciLCAiIl0sDQoNCiAgICB7IngtYW16LWNyZWRlbnRpYWwiOiAiQUtJQUlPU0ZPRE5ON0VYQU1QTEUvMjAxNTEyMjkvdXMtZWFzdC0xL3MzL2F3czRfcmVxdWVzdCJ9LA0KICAgIHsieC1hbXotYWxnb3JpdGhtIjogIkFXUzQtSE1BQy1TSEEyNTYifSwNCiAgICB7IngtYW16LWRhdGUiOiAiMjAxNTEyMjlUMDAwMDAwWiIgfQ0KICBdDQp9'
  const fields = {
    policy,
    'x-amz-algorithm': 'AWS4-HMAC-SHA256',
    'x-amz-credential': `${accessKey}/20151229/us-east-1/s3/aws4_request`,
    'x-amz-date': '20151229T000000Z',
    'x-amz-signature': '8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e',
  }
  const { identity, method, payload } = auth.authenticateForm(new Map(Object.entries(fields)))
  assert.equal(identity?.isRoot, true)
  assert.equal(method, 'form')
  assert.deepEqual(payload, { kind: 'unsigned' })
  assert.deepEqual(signPolicy(signer, Buffer.from(policy, 'base64').toString(), Date.UTC(2015, 11, 29)), fields)
})

/** The signers of the AWS SDK for JavaScript. */
const client = new S3Client({ region, credentials: { accessKeyId: accessKey, secretAccessKey: secretKey } })
t.teardown(() => client.destroy())
const sdkSigner = await client.config.signer()
const sdkPresigner = new S3RequestPresigner({ ...client.config })

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const hostileText = fc.oneof(
  text,
  fc.constantFrom('a-b', 'a', '+', ' ', '%', '%2F', '=', '&', '..', '//', '~', "!'()*", 'é', '日本', '😀', '\0'),
)
const request = fc.record({
  method: fc.constantFrom('GET', 'PUT', 'DELETE', 'HEAD', 'POST'),
  segments: fc.array(hostileText, { minLength: 1, maxLength: 4 }),
  query: fc
    .dictionary(hostileText, hostileText, { maxKeys: 5 })
    // The SDK's signer drops this character.
    .filter(query => !Object.hasOwn(query, '__proto__')),
  metadata: fc.dictionary(
    fc.stringMatching(/^[a-z0-9-]{1,8}$/),
    fc.stringMatching(/^[!-~]{1,8}( {1,3}[!-~]{1,8}){0,2}$/),
    {
      maxKeys: 3,
    },
  ),
})
const sdkRequest = ({
  method,
  segments,
  query,
  metadata,
}: typeof request extends fc.Arbitrary<infer T> ? T : never) => ({
  method,
  protocol: 'http:',
  hostname: 'storage.example.org',
  port: 9000,
  path: `/bucket/${segments.map(encodeText).join('/')}`,
  query,
  headers: {
    host: 'storage.example.org:9000',
    ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-amz-meta-${name}`, value])),
  } as Record<string, string>,
})
const rawQuery = (query: Record<string, unknown>) =>
  Object.entries(query)
    .map(([name, value]) => `${encodeText(name)}=${encodeText(String(value))}`)
    .join('&')

t.test('headers that the SDK signs are accepted, and our signer creates the same signature', async () => {
  await fc.assert(
    fc.asyncProperty(request, async shape => {
      const unsigned = sdkRequest(shape)
      const signed = await sdkSigner.sign(
        { ...unsigned, headers: { ...unsigned.headers, 'x-amz-content-sha256': emptySha256 } },
        { signingDate: new Date(nowMs) },
      )
      const query = rawQuery(shape.query)
      const target = query === '' ? unsigned.path : `${unsigned.path}?${query}`
      assert.equal(auth.authenticate(received(shape.method, target, signed.headers)).identity?.accessKey, accessKey)
      const ours = signRequest(signer, {
        method: shape.method,
        host: unsigned.headers.host!,
        path: unsigned.path,
        query,
        headers: unsigned.headers,
        nowMs,
      })
      const signatureOf = (header: string) => header.slice(header.indexOf('Signature='))
      assert.equal(signatureOf(ours.headers.authorization!), signatureOf(signed.headers.authorization!))
    }),
    { numRuns: 150 },
  )
})

t.test('URLs that the SDK presigns are accepted, until one character is changed', async () => {
  await fc.assert(
    fc.asyncProperty(request, fc.nat(), async (shape, seed) => {
      const signed = await sdkPresigner.presign(sdkRequest({ ...shape, metadata: {} }), {
        signingDate: new Date(nowMs - 60_000),
        expiresIn: 3600,
      })
      const target = `${signed.path}?${rawQuery(signed.query as Record<string, string>)}`
      const headers = { host: 'storage.example.org:9000' }
      assert.equal(auth.authenticate(received(shape.method, target, headers)).method, 'presigned')
      const at = 1 + (seed % (target.length - 1))
      const changed = `${target.slice(0, at)}${target[at] === 'x' ? 'y' : 'x'}${target.slice(at + 1)}`
      outcome(() => {
        // A change in the names of the signature's own parameters makes the request anonymous instead of presigned.
        const { method } = auth.authenticate(received(shape.method, changed, headers))
        assert.notEqual(method, 'presigned', `changed at ${at}: ${changed}`)
      })
    }),
    { numRuns: 150 },
  )
})

t.test('a presigned request may cover a digest that only a header has', async () => {
  const presigner = sdkSigner as unknown as Pick<S3RequestPresigner, 'presign'>
  const unsigned = sdkRequest({ method: 'PUT', segments: ['key'], query: {}, metadata: {} })
  // Without the header the SDK signs the digest of an empty body, without a parameter for it.
  const signed = await presigner.presign(unsigned, { signingDate: new Date(nowMs), expiresIn: 60 })
  const target = `${signed.path}?${rawQuery(signed.query as Record<string, string>)}`
  const headers = { host: 'storage.example.org:9000' }
  const withDigest = received('PUT', target, { ...headers, 'x-amz-content-sha256': emptySha256 })
  assert.deepEqual(auth.authenticate(withDigest).payload, { kind: 'sha256', hex: emptySha256 })
  assert.equal(
    outcome(() => auth.authenticate(received('PUT', target, headers))),
    'SignatureDoesNotMatch 403',
  )
})

t.test('the exported function and the service presign alike', async () => {
  const url = 'http://storage.example.org:9000/bucket/a%20key?response-content-type=text%2Fplain'
  const ours = presignUrl(signer, { method: 'GET', url, expiresSeconds: 60, nowMs })
  const { hash, search, pathname, host } = new URL(ours)
  assert.equal(hash, '')
  assert.equal(auth.authenticate(received('GET', pathname + search, { host })).method, 'presigned')
  for (const expiresSeconds of [0, -1, 604_801, 1.5, Number.NaN]) {
    assert.throws(() => presignUrl(signer, { method: 'GET', url, expiresSeconds, nowMs }), RangeError)
  }
  for (const bad of ['/bucket/key', 'ftp://host/', 'http://user@host/', 'http://host/#a', 'http://']) {
    assert.throws(() => presignUrl(signer, { method: 'GET', url: bad, expiresSeconds: 60, nowMs }), RangeError)
  }
  assert.equal(formatAmzDate(nowMs), '20260701T123015Z')
})
