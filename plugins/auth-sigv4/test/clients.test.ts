/** The AWS SDK over real sockets, against a server that only verifies requests. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { isCatalogError } from 'svc/kernel'
import type { Authentication } from 'svc/plugins/iam/api'
import t from 'tap'
import { accessKey, region, secretKey, startAuth } from './fixture.ts'

const auth = await startAuth(Date.now())

interface Arrival {
  readonly authentication: Authentication
  readonly target: string
  readonly sha256: string
  readonly trailers: readonly string[]
}

const arrivals: Arrival[] = []

async function verify(request: IncomingMessage): Promise<Arrival> {
  const target = request.url!
  const question = target.indexOf('?')
  const authentication = auth.authenticate({
    api: 's3',
    method: request.method!,
    rawPath: question < 0 ? target : target.slice(0, question),
    rawQuery: question < 0 ? '' : target.slice(question + 1),
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    host: request.headers.host!,
    secure: false,
  })
  const decoder = authentication.createDecoder()
  const hash = createHash('sha256')
  for await (const bytes of request) {
    if (decoder === undefined) hash.update(bytes)
    else decoder.push(bytes, payload => hash.update(payload))
  }
  return { authentication, target, sha256: hash.digest('hex'), trailers: [...(decoder?.end().keys() ?? [])] }
}

const server = createServer((request, response) => {
  verify(request).then(
    arrival => {
      arrivals.push(arrival)
      const listing = arrival.target.includes('list-type=2')
      response.end(listing ? '<ListBucketResult></ListBucketResult>' : '')
    },
    (error: unknown) => {
      const known = isCatalogError(error) ? error : undefined
      response.writeHead(known?.status ?? 500, { 'content-type': 'application/xml' })
      response.end(`<Error><Code>${known?.code ?? 'InternalError'}</Code><Message>${error}</Message></Error>`)
    },
  )
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const client = (secret = secretKey) =>
  new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId: accessKey, secretAccessKey: secret },
    maxAttempts: 1,
  })
const s3 = client()
t.teardown(() => {
  s3.destroy()
  server.close()
})

const Bucket = 'bucket'
const keys = ['plain', 'a b/c+d', "it's (odd)!*", 'ünï/日本/😀', '../up//twice/', 'a%2Fb', '.', '~', 'a?b#c&d=e']
const body = Buffer.alloc(200_000, 'payload ')
const bodySha256 = createHash('sha256').update(body).digest('hex')
const last = () => arrivals.at(-1)!

t.test('odd keys, parameters and metadata arrive with a valid signature', async () => {
  for (const Key of keys) {
    await s3.send(new GetObjectCommand({ Bucket, Key, ResponseContentType: 'text/plain; a=b', VersionId: 'a+b/c=' }))
    assert.equal(last().authentication.identity?.accessKey, accessKey, Key)
    await s3.send(new ListObjectsV2Command({ Bucket, Prefix: Key, Delimiter: '/', StartAfter: `${Key}&` }))
    assert.equal(last().authentication.method, 'header')
  }
  await s3.send(
    new PutObjectCommand({ Bucket, Key: 'meta', Body: body, Metadata: { a: 'two  spaces', b: ' at the ends ' } }),
  )
  assert.equal(last().authentication.method, 'header')
})

t.test('buffers and streams arrive whole, with the checksum where the SDK puts it', async () => {
  await s3.send(new PutObjectCommand({ Bucket, Key: 'buffer', Body: body }))
  assert.equal(last().sha256, bodySha256)
  assert.notEqual(last().authentication.payload.kind, 'chunked')
  for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'SHA1', 'SHA256'] as const) {
    // The sizes of the pieces differ from the SDK's own chunks.
    const pieces = Array.from({ length: 201 }, (_, i) => body.subarray(i * 1000, (i + 1) * 1000))
    const Body = Readable.from(pieces.filter(piece => piece.length > 0))
    await s3.send(new PutObjectCommand({ Bucket, Key: 'stream', Body, ContentLength: body.length, ChecksumAlgorithm }))
    assert.equal(last().sha256, bodySha256)
    assert.deepEqual(last().authentication.payload, { kind: 'chunked', signed: false, trailer: true })
    assert.deepEqual(last().trailers, [`x-amz-checksum-${ChecksumAlgorithm.toLowerCase()}`])
  }
})

/** Status of a request to exactly this URL: `fetch` would resolve `..` in its path. */
function send(url: string, method = 'GET', body?: Buffer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const path = url.slice(endpoint.length)
    httpRequest(endpoint, { method, path }, response => resolve(response.resume().statusCode))
      .on('error', reject)
      .end(body)
  })
}

t.test('presigned URLs are valid unchanged, and invalid after a change', async () => {
  for (const Key of keys) {
    const url = await getSignedUrl(
      s3,
      new GetObjectCommand({ Bucket, Key, ResponseContentDisposition: 'attachment; a="b"' }),
      {
        expiresIn: 60,
      },
    )
    assert.equal(await send(url), 200, Key)
    assert.equal(last().authentication.method, 'presigned')
    assert.equal(await send(`${url}&v=1`), 403)
    assert.equal(await send(url, 'DELETE'), 403)
  }
  const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'put', ContentType: 'text/plain' }), {
    expiresIn: 60,
  })
  assert.equal(await send(url, 'PUT', body), 200)
  assert.equal(last().sha256, bodySha256)
})

t.test('a wrong secret gets the error that the SDK expects', async () => {
  const wrong = client('not the secret')
  await assert.rejects(wrong.send(new GetObjectCommand({ Bucket, Key: 'plain' })), { name: 'SignatureDoesNotMatch' })
  wrong.destroy()
})
