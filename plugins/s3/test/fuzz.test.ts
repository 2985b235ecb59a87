/**
 * Any request gets a well-formed answer, and none gets an internal error. A failure prints its seed and path: put them into `options` to
 * repeat it.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { XMLValidator } from 'fast-xml-parser'
import t from 'tap'
import { type Answer, headOf, startServer } from './start.ts'

const options = { numRuns: Number(process.env.FUZZ_RUNS ?? 250) }
const server = await startServer()
t.teardown(() => server.stop())
const Bucket = 'fuzz-bucket'

/** Creates what a request may have deleted: the bucket, its key and its upload. Returns the id of the upload. */
async function restore(): Promise<string> {
  await server.send({ method: 'PUT', path: `/${Bucket}` })
  await server.send({ method: 'PUT', path: `/${Bucket}/key`, body: 'x'.repeat(100) })
  return (await server.send({ method: 'POST', path: `/${Bucket}/key`, query: 'uploads=' })).xml('UploadId')!
}

const uploadId = await restore()

function check(answer: Answer, method: string): void {
  const what = `${method} -> ${answer.status} ${answer.text.slice(0, 300)}`
  assert.ok(answer.status >= 200 && answer.status < 600, what)
  assert.ok(answer.status !== 500, what)
  // HTTP itself refused the head: the method is unknown then, and the connection ends.
  const isUnparsed = answer.xml('Code') === 'BadRequest' && answer.headers.connection === 'close'
  if ((method === 'HEAD' && !isUnparsed) || answer.status === 204 || answer.status === 304) {
    assert.equal(answer.body.length, 0, what)
    return
  }
  if (answer.headers['content-length'] !== undefined) {
    assert.equal(answer.body.length, Number(answer.headers['content-length']), what)
  }
  if (answer.headers['content-type'] === 'application/xml' && answer.body.length > 0) {
    assert.equal(XMLValidator.validate(answer.text), true, what)
  }
  if (answer.status >= 400) {
    assert.match(answer.text, /<Error><Code>[A-Za-z0-9]+<\/Code><Message>[^<]+<\/Message>/, what)
    assert.equal(answer.xml('RequestId'), answer.headers['x-amz-request-id'], what)
  }
}

const noDefects = () => {
  const defects = server.kernel.logs.filter(line => line.level === 'error' || line.level === 'fatal')
  assert.deepEqual(defects, [])
}

const piece = fc.constantFrom(
  'key',
  'a',
  '/',
  '//',
  '..',
  '.',
  '%2F',
  '%2f',
  '%00',
  '%',
  '%zz',
  '%ff',
  '%C3%BC',
  '+',
  '%2B',
  ' ',
  '\\',
  '~',
  '*',
  ';',
  '=',
  '&',
  '?',
  '#',
  '"',
  '<',
  'ü',
  '%F0%9F%98%80',
  'x'.repeat(300),
  '%0A',
  '%0D',
)
const name = fc.constantFrom(
  'list-type',
  'prefix',
  'delimiter',
  'max-keys',
  'marker',
  'start-after',
  'continuation-token',
  'encoding-type',
  'fetch-owner',
  'uploads',
  'uploadId',
  'partNumber',
  'part-number-marker',
  'max-parts',
  'max-uploads',
  'key-marker',
  'upload-id-marker',
  'delete',
  'location',
  'acl',
  'tagging',
  'versioning',
  'versionId',
  'versions',
  'attributes',
  'x-id',
  'response-content-type',
  'response-expires',
  'max-buckets',
  'X-Amz-Expires',
  'X-Amz-Signature',
  'X-Amz-Algorithm',
  'frob',
  '%ff',
  'x y',
  '',
)
const value = fc.constantFrom(
  '',
  '2',
  '1',
  '0',
  '-1',
  '10001',
  'url',
  'key',
  'null',
  uploadId,
  '%ff',
  '%00',
  '%0a',
  '1e3',
  '99999999999999999999',
  'true',
  '/',
  'ü',
  'MQ',
  'a%0d%0ab',
)
const headerName = fc.constantFrom(
  'range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'content-md5',
  'content-type',
  'content-encoding',
  'x-amz-acl',
  'x-amz-storage-class',
  'x-amz-checksum-crc32',
  'x-amz-checksum-sha256',
  'x-amz-checksum-algorithm',
  'x-amz-checksum-type',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-checksum-mode',
  'x-amz-trailer',
  'x-amz-decoded-content-length',
  'x-amz-copy-source',
  'x-amz-copy-source-range',
  'x-amz-copy-source-if-match',
  'x-amz-metadata-directive',
  'x-amz-tagging-directive',
  'x-amz-expected-bucket-owner',
  'x-amz-object-attributes',
  'x-amz-max-parts',
  'x-amz-part-number-marker',
  'x-amz-meta-a',
  'x-amz-server-side-encryption',
  'x-amz-mp-object-size',
  'x-amz-if-match-size',
  'x-amz-if-match-last-modified-time',
  'x-amz-website-redirect-location',
  'expect',
  'if-range',
)
const headerValue = fc.constantFrom(
  '',
  '*',
  '"abc"',
  'bytes=0-1',
  'bytes=-0',
  'bytes=5-2',
  'private',
  'CRC32',
  'AAAAAA==',
  'SHA256',
  'COMPOSITE',
  'FULL_OBJECT',
  'REPLACE',
  'ENABLED',
  `/${Bucket}/key`,
  `${Bucket}/%zz`,
  `${Bucket}%2Fkey`,
  'ETag,Checksum',
  '5',
  '-5',
  '99999999999999999999',
  'Fri, 02 Jan 2026 03:04:05 GMT',
  'rubbish',
  '\u00fc',
  'aws-chunked',
  '100-continue',
  'x-amz-checksum-crc32',
)

const request = fc.record({
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'PUT', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH'),
  target: fc.oneof(
    { weight: 6, arbitrary: fc.array(piece, { maxLength: 4 }).map(pieces => `/${Bucket}/${pieces.join('')}`) },
    { weight: 3, arbitrary: fc.constantFrom(`/${Bucket}`, '/', '/no-such-bucket/x') },
    { weight: 1, arbitrary: fc.array(piece, { maxLength: 4 }).map(pieces => `/${pieces.join('')}`) },
  ),
  query: fc.array(fc.tuple(name, value, fc.boolean()), { maxLength: 4 }),
  headers: fc.array(fc.tuple(headerName, headerValue), { maxLength: 4 }),
  body: fc.constantFrom(undefined, '', 'hello', '<Delete/>', '5\r\nhello\r\n0\r\n\r\n'),
  payload: fc.constantFrom(
    undefined,
    undefined,
    'UNSIGNED-PAYLOAD',
    'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  ),
  signing: fc.constantFrom('good', 'good', 'good', 'good', 'none', 'bad'),
})

t.test('any request gets a well-formed answer', async () => {
  await fc.assert(
    fc.asyncProperty(request, async ({ method, target, query, headers, body, payload, signing }) => {
      const [path = '/', inTarget = ''] = target.split('?')
      const parameters = query.map(([key, text, bare]) => (bare ? key : `${key}=${text}`))
      const rawQuery = [inTarget, ...parameters].filter(part => part !== '').join('&')
      const given = Object.fromEntries(headers)
      // Requests that no client can send need no answer of S3.
      const wire = `${path}${rawQuery === '' ? '' : `?${rawQuery}`}`.replaceAll(' ', '%20').replace(/#.*/, '')
      const [wirePath = '/', wireQuery = ''] = wire.split('?', 2)
      const bytes = Buffer.from(body ?? '')
      let head: Record<string, string> = { host: server.host, ...given }
      if (signing !== 'none') {
        head = {
          ...server.sign({
            method,
            path: Buffer.from(wirePath).toString('latin1'),
            query: Buffer.from(wireQuery).toString('latin1'),
            headers: given,
            payload: payload ?? bytes,
          }).headers,
        }
        if (signing === 'bad') head['x-amz-date'] = '20260101T000000Z'
      }
      const lengths: Record<string, string> = body === undefined ? {} : { 'content-length': String(bytes.length) }
      const answer = await server.exchange(
        Buffer.concat([
          headOf(method, Buffer.from(wire).toString('latin1'), { ...head, ...lengths, connection: 'close' }),
          bytes,
        ]),
      )
      check(answer, method)
      noDefects()
    }),
    { ...options, numRuns: options.numRuns * 2 },
  )
})

const documentsOf = (living: string) =>
  [
    [
      'POST',
      'delete=',
      '<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>false</Quiet><Object><Key>a&#x1;</Key><VersionId>null</VersionId></Object></Delete>',
    ],
    [
      'POST',
      `uploadId=${living}`,
      '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"x"</ETag><ChecksumCRC32>AAAAAA==</ChecksumCRC32></Part></CompleteMultipartUpload>',
    ],
    [
      'PUT',
      '',
      '<CreateBucketConfiguration><LocationConstraint>us-east-1</LocationConstraint></CreateBucketConfiguration>',
    ],
  ] as const

t.test('any damaged document gets an error answer, or has the same meaning', async () => {
  const documents = documentsOf(await restore())
  const damage = fc.array(
    fc.tuple(
      fc.nat(200),
      fc.nat(12),
      fc.string({ unit: fc.constantFrom(...'<>&;/![]-?"\'=# \0\n\r1axKey\u00fc\u{1f600}'), maxLength: 6 }),
    ),
    { maxLength: 3 },
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...documents), damage, async ([method, query, document], damages) => {
      let text: string = document
      for (const [at, cut, put] of damages) text = text.slice(0, at) + put + text.slice(at + cut)
      const level = query === '' ? '/fuzz-other-bucket' : query === 'delete=' ? `/${Bucket}` : `/${Bucket}/key`
      const answer = await server.send({
        method,
        path: level,
        query,
        body: text,
        headers: { 'content-md5': createHash('md5').update(text).digest('base64') },
      })
      check(answer, method)
      noDefects()
    }),
    options,
  )
  const key = await server.send({ path: `/${Bucket}/key` })
  assert.equal(key.text, 'x'.repeat(100))
})

t.test('random bytes instead of HTTP get an answer or none, and affect no other client', async () => {
  await restore()
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async bytes => {
      const socket = await server.open()
      socket.end(bytes)
      await new Promise(resolve => {
        socket.on('close', resolve)
        socket.on('error', resolve)
        socket.resume()
      })
      noDefects()
    }),
    { ...options, numRuns: 50 },
  )
  assert.equal((await server.send({ path: `/${Bucket}/key` })).status, 200)
})
