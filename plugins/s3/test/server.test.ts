import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectHttp2, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { crc32 } from 'node:zlib'
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import { encodeChunks, presignUrl } from 'svc/plugins/auth-sigv4/api'
import { storageErrors } from 'svc/plugins/storage/api'
import t from 'tap'
import type { S3Operation, S3RequestRecord } from '../api.ts'
import { toS3Error } from '../failure.ts'
import type { S3RequestContext } from '../request.ts'
import { patienceMs } from '../slow-answer.ts'
import { headOf, parseAnswer, readAll, rootUser, signer, startServer } from './start.ts'

const records: S3RequestRecord[] = []
let slowFails = false
/** The duration of the slow operation. */
let slowUntil: Promise<void> = Promise.resolve()
let storageProblem = ''

const testOperation = (name: string, handle: S3Operation['handle'], isSlow = false): S3Operation => ({
  name,
  summary: 'For tests.',
  match: { method: 'PUT', level: 'bucket', query: [name] },
  action: `s3:${name}`,
  body: { kind: 'none' },
  reply: { kind: 'xml', root: `${name}Result` },
  isSlow,
  errors: [],
  handle,
})

const observing = definePlugin({
  name: 'observing',
  setup({ contribute }) {
    contribute('s3.observer', 'a-broken-one', () => {
      throw new Error('observer broke')
    })
    contribute('s3.observer', 'records', record => records.push(record))
    const slow = async () => {
      await slowUntil
      if (slowFails) throw new Error('secret of the slow one')
      return { xml: { Done: true } }
    }
    const broken = () => {
      throw new Error('secret of the broken one')
    }
    const away = () => {
      throw storageErrors.unavailable(storageProblem)
    }
    for (const operation of [
      testOperation('slow-test', slow, true),
      testOperation('broken-test', broken),
      testOperation('away-test', away),
    ]) {
      contribute('s3.operation', operation.name, operation)
    }
  },
})

const server = await startServer({ plugins: [observing] })
t.teardown(() => server.stop())
const { send, client } = server
const Bucket = 'the-bucket'
await send({ method: 'PUT', path: `/${Bucket}` })

const md5 = (body: string | Buffer) => createHash('md5').update(body).digest('base64')
const crc = (body: string | Buffer) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(body))
  return bytes.toString('base64')
}
const put = (key: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  send({ method: 'PUT', path: `/${Bucket}/${key}`, headers, body })
const statusOf = async (key: string) => (await send({ path: `/${Bucket}/${key}` })).status

/** The record of a request, once its connection is finished. */
async function recordOf(requestId: string | undefined): Promise<S3RequestRecord[]> {
  for (let tries = 0; tries < 9000; tries++) {
    const found = records.filter(record => requestId === undefined || record.requestId === requestId)
    if (found.length > 0) return found
    await sleep(10)
  }
  return []
}

t.test('an error is the XML document of S3, and only its head for HEAD', async t => {
  const answer = await send({ path: `/${Bucket}/missing%26%3C` })
  t.equal(answer.status, 404)
  t.equal(answer.headers['content-type'], 'application/xml')
  t.equal(answer.headers['content-length'], String(answer.body.length))
  t.match(answer.text, /^<\?xml version="1.0" encoding="UTF-8"\?>\n<Error><Code>NoSuchKey<\/Code><Message>/)
  t.equal(answer.xml('Key'), 'missing&amp;&lt;')
  t.equal(answer.xml('Resource'), `/${Bucket}/missing&amp;&lt;`)
  t.equal(answer.xml('RequestId'), answer.headers['x-amz-request-id'])
  t.equal(answer.xml('HostId'), answer.headers['x-amz-id-2'])
  t.ok(answer.headers.date)
  const head = await send({ method: 'HEAD', path: `/${Bucket}/missing` })
  t.equal(head.status, 404)
  t.equal(head.body.length, 0)
  t.equal(head.headers['x-minio-error-code'], 'NoSuchKey')
  t.equal(head.headers['x-minio-error-desc'], `"${answer.xml('Message')}"`)
  t.notOk('x-minio-error-code' in answer.headers, 'the document says it')
})

t.test('anonymous and forged requests are refused, for any operation', async t => {
  for (const [method, path, query] of [
    ['GET', '/', ''],
    ['GET', `/${Bucket}`, 'list-type=2'],
    ['GET', `/${Bucket}/missing`, ''],
    ['PUT', `/${Bucket}/a`, ''],
    ['PUT', '/another-bucket', ''],
    ['DELETE', `/${Bucket}`, ''],
    ['POST', `/${Bucket}`, 'delete'],
    ['GET', `/${Bucket}`, 'acl'],
    ['PATCH', `/${Bucket}`, ''],
    ['POST', `/${Bucket}`, 'location'],
  ] as const) {
    const answer = await send({ method, path, query, anonymous: true, headers: { 'content-length': '0' } })
    t.equal(`${answer.status} ${answer.xml('Code')}`, '403 AccessDenied', `${method} ${path}?${query}`)
  }
  const missing = await send({ method: 'GET', path: '/no-such-bucket', query: 'acl', anonymous: true })
  t.equal(`${missing.status} ${missing.xml('Code')}`, '404 NoSuchBucket', 'which buckets there are is no secret')
  const { headers } = server.sign({ method: 'GET', path: '/' })
  const forged = { ...headers, authorization: headers.authorization!.replace(/.$/, c => (c === '0' ? '1' : '0')) }
  const answer = await server.exchange(headOf('GET', '/', { ...forged, connection: 'close' }))
  t.equal(`${answer.status} ${answer.xml('Code')}`, '403 SignatureDoesNotMatch')
  const bucket = await send({ method: 'HEAD', path: `/${Bucket}`, anonymous: true })
  t.equal(bucket.status, 403)
  t.equal(bucket.headers['x-amz-bucket-region'], 'us-east-1')
})

t.test('operations of plugins that are not loaded are answered 501 with the name of the plugin', async t => {
  const bucketLevel: [method: string, parameter: string, operation: string, plugin: string][] = [
    ['PUT', 'replication', 'PutBucketReplication', 'replication'],
    ['PUT', 'website', 'PutBucketWebsite', 'website'],
    ['PUT', 'intelligent-tiering&id=x', 'PutBucketIntelligentTieringConfiguration', 'intelligent-tiering'],
    ['GET', 'metadataTable', 'GetBucketMetadataTableConfiguration', 'metadata-tables'],
  ]
  for (const [method, query, operation, plugin] of bucketLevel) {
    const answer = await send({ method, path: `/${Bucket}`, query, body: method === 'PUT' ? '<x/>' : undefined })
    t.equal(`${answer.status} ${answer.xml('Code')} ${answer.xml('Plugin')}`, `501 NotImplemented ${plugin}`, query)
    t.match(answer.xml('Detail'), operation)
    const missing = await send({ method, path: '/no-such-bucket', query })
    t.equal(missing.xml('Code'), 'NoSuchBucket', `${query} of a bucket that is not there`)
  }
  for (const [method, query, plugin] of [
    ['PUT', 'annotation&annotationName=x', 'annotations'],
    ['POST', 'restore', 'tier'],
    ['POST', 'select&select-type=2', 'select'],
    ['GET', 'annotations=', 'annotations'],
  ] as const) {
    const answer = await send({ method, path: `/${Bucket}/sub`, query, body: 'x' })
    t.equal(`${answer.status} ${answer.xml('Plugin')}`, `501 ${plugin}`, query)
  }
  t.equal(await statusOf('sub'), 404, 'nothing was stored')
  t.equal((await send({ method: 'POST', path: '/', body: 'Action=AssumeRole' })).xml('Plugin'), 'sts')
})

t.test('an unknown bare parameter is a sub-resource; one with a value is harmless', async t => {
  for (const query of ['frobnicate', 'frobnicate=', 'newThing&x=1']) {
    const answer = await send({ method: 'PUT', path: `/${Bucket}/fro`, query, body: 'x' })
    t.equal(`${answer.status} ${answer.xml('Code')}`, '501 NotImplemented', query)
  }
  t.equal(await statusOf('fro'), 404)
  for (const query of ['x-id=PutObject', 'v=1', 'cache=2&_=3', 'x-amz-unknown=1']) {
    t.equal((await send({ method: 'PUT', path: `/${Bucket}/fro`, query, body: 'x' })).status, 200, query)
  }
})

t.test('wrong methods and contradicting parameters are named', async t => {
  const location = await send({ method: 'PUT', path: `/${Bucket}`, query: 'location', body: '' })
  t.equal(`${location.status} ${location.xml('Code')} ${location.headers.allow}`, '405 MethodNotAllowed GET')
  const patch = await send({ method: 'PATCH', path: `/${Bucket}/x`, body: '' })
  t.equal(`${patch.status} ${patch.headers.allow}`, '405 DELETE, GET, HEAD, OPTIONS, PUT')
  const both = await send({ path: `/${Bucket}`, query: 'location&uploads' })
  t.equal(`${both.status} ${both.xml('Code')}`, '400 InvalidArgument')
  for (const query of ['partNumber=1', 'uploadId=x']) {
    const answer = await send({ method: 'PUT', path: `/${Bucket}/part`, query, body: 'x' })
    t.equal(`${answer.status} ${answer.xml('Code')}`, '400 InvalidArgument', query)
  }
  t.equal(await statusOf('part'), 404)
  const version = await send({ method: 'PUT', path: `/${Bucket}/x`, query: 'versionId=1', body: 'x' })
  t.equal(`${version.status} ${version.xml('Code')}`, '400 InvalidArgument')
})

t.test('headers that request missing features are refused, never ignored', async t => {
  const refused: [header: string, value: string, answer: string][] = [
    ['x-amz-server-side-encryption', 'rot13', '400 InvalidArgument undefined'],
    ['x-amz-server-side-encryption-customer-algorithm', 'AES256', '400 InvalidRequest undefined'],
    ['x-amz-write-offset-bytes', '0', '501 NotImplemented append'],
    ['x-amz-acl', 'public-read', '400 AccessControlListNotSupported undefined'],
    ['x-amz-acl', 'nonsense', '400 InvalidArgument undefined'],
    ['x-amz-grant-read', 'id=1', '400 AccessControlListNotSupported undefined'],
    ['x-amz-storage-class', 'GLACIER', '400 InvalidStorageClass undefined'],
    ['x-amz-meta-big', 'x'.repeat(2100), '400 MetadataTooLarge undefined'],
    ['x-amz-expected-bucket-owner', '123456789012', '403 AccessDenied undefined'],
    ['if-none-match', '"abc"', '501 NotImplemented undefined'],
  ]
  for (const [header, value, expected] of refused) {
    const answer = await put('refused', 'x', { [header]: value })
    t.equal(`${answer.status} ${answer.xml('Code')} ${answer.xml('Plugin')}`, expected, header)
  }
  t.equal(await statusOf('refused'), 404)
  for (const [header, value] of [
    ['x-amz-acl', 'private'],
    ['x-amz-acl', 'bucket-owner-full-control'],
    ['x-amz-tagging', ''],
    ['x-amz-storage-class', 'REDUCED_REDUNDANCY'],
    ['x-amz-expected-bucket-owner', server.kernel.services.iam.owner.ownerId],
  ] as const) {
    t.equal((await put('accepted', 'x', { [header]: value })).status, 200, header)
  }
  const sse = { 'x-amz-server-side-encryption-customer-algorithm': 'AES256' }
  const read = await send({ path: `/${Bucket}/accepted`, headers: sse })
  t.equal(`${read.status} ${read.xml('Code')}`, '400 InvalidRequest')
})

t.test('the digests that a request announces must match its payload', async t => {
  const body = 'hello world'
  const crc32c = 'yZRlqg=='
  const cases: [name: string, headers: Record<string, string>, code: string | undefined][] = [
    ['right MD5', { 'content-md5': md5(body) }, undefined],
    ['wrong MD5', { 'content-md5': md5('x') }, 'BadDigest'],
    ['short MD5', { 'content-md5': 'abcd' }, 'InvalidDigest'],
    ['empty MD5', { 'content-md5': '' }, 'InvalidDigest'],
    ['hex MD5', { 'content-md5': createHash('md5').update(body).digest('hex') }, 'InvalidDigest'],
    ['right CRC32', { 'x-amz-checksum-crc32': crc(body) }, undefined],
    ['right CRC32C', { 'x-amz-checksum-crc32c': crc32c }, undefined],
    ['wrong CRC32', { 'x-amz-checksum-crc32': crc('x') }, 'BadDigest'],
    ['malformed CRC32', { 'x-amz-checksum-crc32': 'xx' }, 'InvalidRequest'],
    ['of an algorithm that there is not', { 'x-amz-checksum-foo': 'Rk9P' }, 'InvalidRequest'],
    ['two', { 'x-amz-checksum-crc32': crc(body), 'x-amz-checksum-crc32c': crc32c }, 'InvalidRequest'],
    ['SDK', { 'x-amz-checksum-crc32': crc(body), 'x-amz-sdk-checksum-algorithm': 'CRC32' }, undefined],
    ['SDK other', { 'x-amz-checksum-crc32': crc(body), 'x-amz-sdk-checksum-algorithm': 'SHA1' }, 'InvalidRequest'],
    ['SDK alone', { 'x-amz-sdk-checksum-algorithm': 'CRC32' }, 'InvalidRequest'],
  ]
  for (const [name, headers, code] of cases) {
    const key = `claim-${name.replaceAll(' ', '-')}`
    const answer = await put(key, body, headers)
    t.equal(answer.xml('Code'), code, name)
    t.equal(await statusOf(key), code === undefined ? 200 : 404, name)
  }
  const sha = await send({ method: 'PUT', path: `/${Bucket}/sha`, body, payload: createHash('sha256').digest('hex') })
  t.equal(`${sha.status} ${sha.xml('Code')}`, '400 XAmzContentSHA256Mismatch')
  t.equal(await statusOf('sha'), 404)
})

t.test('a body needs a length', async t => {
  const path = `/${Bucket}/length`
  const none = await send({ method: 'PUT', path })
  t.equal(`${none.status} ${none.xml('Code')}`, '411 MissingContentLength')
  const { headers } = server.sign({ method: 'PUT', path, payload: 'UNSIGNED-PAYLOAD' })
  const chunked = await server.exchange(
    Buffer.concat([
      headOf('PUT', path, { ...headers, 'transfer-encoding': 'chunked' }),
      Buffer.from('3\r\nabc\r\n0\r\n\r\n'),
    ]),
  )
  t.equal(`${chunked.status} ${chunked.xml('Code')}`, '411 MissingContentLength')
  const large = await send({ method: 'PUT', path, headers: { 'content-length': String(6 * 1024 ** 3) } })
  t.equal(`${large.status} ${large.xml('Code')}`, '400 EntityTooLarge')
})

t.test('aws-chunked bodies are unwrapped, and checked before anything is stored', async t => {
  const body = Buffer.from('hello chunked world'.repeat(1000))
  const upload = async (
    key: string,
    options: {
      trailer?: string
      length?: number
      announce?: string
      chunks?: Buffer[]
      extra?: Record<string, string>
    } = {},
  ) => {
    const path = `/${Bucket}/${key}`
    const wire = encodeChunks({
      chunks: options.chunks ?? [body],
      trailers: { 'x-amz-checksum-crc32': options.trailer ?? crc(body) },
    })
    return send({
      method: 'PUT',
      path,
      headers: {
        'content-encoding': 'aws-chunked,gzip',
        'x-amz-decoded-content-length': String(options.length ?? body.length),
        'x-amz-trailer': options.announce ?? 'x-amz-checksum-crc32',
        ...options.extra,
      },
      payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      body: wire,
    })
  }
  t.equal((await upload('chunked')).status, 200)
  const stored = await send({ path: `/${Bucket}/chunked` })
  t.ok(stored.body.equals(body))
  t.equal(stored.headers['content-encoding'], 'gzip')
  t.equal((await upload('chunked-2', { chunks: [body.subarray(0, 9000), body.subarray(9000)] })).status, 200)
  t.equal((await upload('bad-1', { trailer: crc('x') })).xml('Code'), 'BadDigest')
  t.equal((await upload('bad-2', { length: body.length + 1 })).xml('Code'), 'IncompleteBody')
  t.equal((await upload('bad-3', { length: body.length - 1 })).xml('Code'), 'IncompleteBody')
  t.equal((await upload('bad-4', { extra: { 'x-amz-checksum-crc32': crc(body) } })).xml('Code'), 'InvalidRequest')
  t.equal(
    (await upload('bad-5', { extra: { 'x-amz-sdk-checksum-algorithm': 'SHA256' } })).xml('Code'),
    'InvalidRequest',
  )
  t.equal((await upload('bad-6', { trailer: '!!' })).status, 400)
  for (let i = 1; i <= 6; i++) t.equal(await statusOf(`bad-${i}`), 404, `bad-${i}`)
})

t.test(
  'presigned URLs: parameters stand for headers, and a presigned checksum of an empty body gets an error that explains it',
  async t => {
    const upload = async (query: string, body: string) => {
      const url = presignUrl(signer, {
        method: 'PUT',
        url: `http://${server.host}/${Bucket}/presigned?${query}`,
        expiresSeconds: 60,
        nowMs: Date.now(),
      })
      const answer = await fetch(url, { method: 'PUT', body })
      return { status: answer.status, text: await answer.text() }
    }
    t.equal((await upload('x-amz-meta-color=gr%C3%BCn&x-amz-storage-class=STANDARD', 'x')).status, 200)
    const head = await send({ method: 'HEAD', path: `/${Bucket}/presigned` })
    t.equal(Buffer.from(head.headers['x-amz-meta-color']!, 'latin1').toString('utf8'), 'grün')
    t.match(await upload('x-amz-server-side-encryption=rot13', 'x'), { status: 400 })
    t.match(await upload('x-amz-acl=public-read', 'x'), { status: 400 })
    const trap = 'x-amz-checksum-crc32=AAAAAA%3D%3D&x-amz-sdk-checksum-algorithm=CRC32'
    t.match(await upload(trap, 'not empty'), { status: 400, text: /requestChecksumCalculation: WHEN_REQUIRED/ })
    t.match(await upload(trap, ''), { status: 200 })
    t.match(await upload(`x-amz-checksum-crc32=${encodeURIComponent(crc('x'))}`, 'x'), { status: 200 })
  },
)

t.test('connections stay in step when a request is refused before its body was read', async t => {
  const path = `/no-such-bucket/k`
  const refused = server.sign({ method: 'PUT', path, payload: 'UNSIGNED-PAYLOAD' }).headers
  const second = server.sign({ method: 'GET', path: '/' }).headers
  const socket = await server.open()
  const small = Buffer.alloc(10_000, 'GET / HTTP/1.1\r\n\r\n')
  socket.write(headOf('PUT', path, { ...refused, 'content-length': String(small.length) }))
  await sleep(30)
  socket.write(small)
  socket.write(headOf('GET', '/', { ...second, connection: 'close' }))
  const answers = (await readAll(socket)).toString('latin1')
  t.equal(answers.match(/HTTP\/1\.1 \d{3}/g)?.join(), 'HTTP/1.1 404,HTTP/1.1 200')

  const large = await server.open()
  large.write(headOf('PUT', path, { ...refused, 'content-length': String(300 * 1024 ** 2) }))
  const reading = readAll(large)
  let wroteBytes = 0
  const piece = Buffer.alloc(256 * 1024)
  for (; wroteBytes < 300 * 1024 ** 2 && !large.destroyed; wroteBytes += piece.length) {
    if (!large.write(piece)) await Promise.race([new Promise(resolve => large.once('drain', resolve)), sleep(1500)])
  }
  const answer = parseAnswer(await reading)
  t.equal(answer.status, 404)
  t.equal(answer.xml('Code'), 'NoSuchBucket')
  t.equal(answer.headers.connection, 'close')
  t.ok(wroteBytes < 100 * 1024 ** 2, `the connection was closed after ${wroteBytes} bytes`)
})

t.test('100-continue is sent only when the body is read', async t => {
  const ask = async (path: string, good = true, length = 5) => {
    const { headers } = server.sign({ method: 'PUT', path, payload: 'UNSIGNED-PAYLOAD' })
    const socket = await server.open()
    const extra = { expect: '100-continue', 'content-length': String(length), connection: 'close' }
    const authorization = good ? headers.authorization! : headers.authorization!.replace(/.{4}$/, '0000')
    socket.write(headOf('PUT', path, { ...headers, ...extra, authorization }))
    const first = await new Promise<Buffer>(resolve => socket.once('data', resolve))
    if (first.toString().startsWith('HTTP/1.1 100')) {
      socket.write('hello')
      return parseAnswer(Buffer.concat([first, await readAll(socket)]))
    }
    const answer = parseAnswer(Buffer.concat([first, await readAll(socket)]))
    return { ...answer, refusedAtOnce: true }
  }
  t.match(await ask(`/${Bucket}/expected`), { status: 200 })
  t.equal(await statusOf('expected'), 200)
  t.match(await ask(`/${Bucket}/unexpected`, false), { status: 403, refusedAtOnce: true })
  t.match(await ask('/no-such-bucket/k', true, 1_000_000), { status: 404, refusedAtOnce: true })
})

t.test('a truncated upload leaves nothing, and is recorded once', async t => {
  for (const sizeBytes of [1000, 5_000_000]) {
    records.length = 0
    const path = `/${Bucket}/aborted`
    const { headers } = server.sign({ method: 'PUT', path, payload: 'UNSIGNED-PAYLOAD' })
    const socket = await server.open()
    socket.write(headOf('PUT', path, { ...headers, 'content-length': String(sizeBytes) }))
    socket.write(Buffer.alloc(Math.floor(sizeBytes / 2)))
    await sleep(50)
    socket.destroy()
    t.match(await recordOf(undefined), [{ status: 499, errorCode: 'RequestAborted', operation: 'PutObject' }])
    t.equal(await statusOf('aborted'), 404)
  }
  t.equal(server.kernel.logs.filter(line => line.msg === 'a request failed').length, 0)
})

t.test('a large object reaches a slow reader whole, and one that disconnects is recorded', async t => {
  const body = Buffer.alloc(12_000_000)
  for (let i = 0; i < body.length; i += 4) body.writeUInt32LE((i * 2654435761) >>> 0, i)
  await client.send(new PutObjectCommand({ Bucket, Key: 'large', Body: body }))
  const whole = await client.send(new GetObjectCommand({ Bucket, Key: 'large' }))
  t.ok(body.equals(await whole.Body!.transformToByteArray()))
  const range = await send({ path: `/${Bucket}/large`, headers: { range: 'bytes=1000001-9000000' } })
  t.equal(range.status, 206)
  t.ok(body.subarray(1_000_001, 9_000_001).equals(range.body))

  const { headers } = server.sign({ method: 'GET', path: `/${Bucket}/large` })
  const slow = await server.open()
  slow.write(headOf('GET', `/${Bucket}/large`, { ...headers, connection: 'close' }))
  const received: Buffer[] = []
  for await (const chunk of slow) {
    received.push(chunk)
    if (received.length % 20 === 0) await sleep(5)
  }
  t.ok(body.equals(parseAnswer(Buffer.concat(received)).body))

  records.length = 0
  const leaving = await server.open()
  leaving.write(headOf('GET', `/${Bucket}/large`, headers))
  await new Promise(resolve => leaving.once('data', resolve))
  leaving.destroy()
  const [record, ...others] = await recordOf(undefined)
  t.match(record, { status: 499, operation: 'GetObject', key: 'large' })
  t.ok(record!.sentBytes < body.length)
  t.equal(others.length, 0)
})

t.test('each request is observed once, with its facts', async t => {
  records.length = 0
  const begunMs = Date.now()
  await send({
    method: 'PUT',
    path: `/${Bucket}/observed`,
    query: 'x-id=PutObject',
    body: 'hello',
    plainHeaders: { 'user-agent': 'test/1' },
  })
  const failed = await send({ path: `/${Bucket}/unobserved` })
  await send({ path: '/%zz' })
  for (let tries = 0; tries < 9000 && records.length < 3; tries++) await sleep(10)
  t.match(records, [
    {
      operation: 'PutObject',
      method: 'PUT',
      path: `/${Bucket}/observed`,
      bucket: Bucket,
      key: 'observed',
      identity: { accessKey: rootUser },
      clientAddress: '127.0.0.1',
      userAgent: 'test/1',
      status: 200,
      errorCode: undefined,
      receivedBytes: 5,
      sentBytes: 0,
    },
    { operation: 'GetObject', requestId: failed.headers['x-amz-request-id'], status: 404, errorCode: 'NoSuchKey' },
    { operation: 'Unknown', status: 400, errorCode: 'InvalidURI', bucket: '' },
  ])
  t.equal(records.length, 3)
  t.equal(records[1]!.sentBytes, failed.body.length)
  for (const record of records) {
    t.ok(record.durationMs > 0 && record.durationMs <= Date.now() - begunMs + 1)
    t.ok(record.timeMs >= begunMs - 1 && record.timeMs <= Date.now())
  }
})

t.test('a defect is answered as InternalError and reveals nothing', async t => {
  const answer = await send({ method: 'PUT', path: `/${Bucket}`, query: 'broken-test' })
  t.equal(`${answer.status} ${answer.xml('Code')}`, '500 InternalError')
  t.notMatch(answer.text, /secret/)
  const requestId = answer.headers['x-amz-request-id']
  const logged = server.kernel.logs.find(line => line.requestId === requestId && line.msg === 'a request failed')
  t.match(logged, { level: 'error', err: { message: /secret of the broken one/, stack: String } })
})

t.test('a slow operation keeps the connection alive and ends with its document', async t => {
  // Only the wait before the white space is shorter; other deadlines stay long enough for a busy machine.
  const { clock } = server.kernel.ports
  let onWhiteSpace = () => {}
  const after = (ms: number, callback: () => void) => {
    // Other waits keep their length.
    if (ms !== patienceMs || callback.name !== 'keepAlive') return clock.after(ms, callback)
    return clock.after(1, () => {
      callback()
      onWhiteSpace()
    })
  }
  const takeLong = () => {
    let pieces = 0
    slowUntil = new Promise(resolve => {
      onWhiteSpace = () => ++pieces === 3 && resolve()
    })
  }
  const fast = await startServer({
    plugins: [observing],
    ports: { clock: { ...clock, after } },
  })
  t.teardown(() => fast.stop())
  await fast.send({ method: 'PUT', path: `/${Bucket}` })
  takeLong()
  const done = await fast.send({ method: 'PUT', path: `/${Bucket}`, query: 'slow-test' })
  t.equal(done.status, 200)
  t.match(
    done.text,
    /^<\?xml version="1.0" encoding="UTF-8"\?>\n +<slow-testResult xmlns="[^"]+"><Done>true<\/Done><\/slow-testResult>$/,
  )
  records.length = 0
  slowFails = true
  takeLong()
  const failed = await fast.send({ method: 'PUT', path: `/${Bucket}`, query: 'slow-test' })
  t.equal(failed.status, 200)
  t.match(failed.text, /^<\?xml[^\n]+\n +<Error><Code>InternalError<\/Code>/)
  t.notMatch(failed.text, /secret/)
  t.match(await recordOf(failed.headers['x-amz-request-id']), [{ status: 200, errorCode: 'InternalError' }])
  const inTime = await send({ method: 'PUT', path: `/${Bucket}`, query: 'slow-test' })
  t.equal(inTime.status, 500, 'before the first white space an error still has its status')
  slowFails = false
})

t.test('the reason why the storage cannot serve is shown to signed requests, without paths', async t => {
  const ask = async (problem: string) => {
    storageProblem = problem
    const answer = await send({ method: 'PUT', path: `/${Bucket}`, query: 'away-test' })
    t.equal(answer.headers['retry-after'], '1')
    return `${answer.status} ${answer.xml('Code')} ${answer.xml('Message')}`
  }
  const few = '2 of 4 drives have all records; 3 are needed to write.'
  t.equal(await ask(few), `503 ServiceUnavailable ${few}`)
  const plain = 'The service is temporarily unavailable. Please retry.'
  t.equal(await ask('The drive /mnt/d3 has not answered for 2 s.'), `503 ServiceUnavailable ${plain}`)
  const stranger = { identity: undefined } as S3RequestContext
  t.match(toS3Error(stranger, storageErrors.unavailable(few)), { code: 'ServiceUnavailable', message: plain })
})

t.test('virtual hosts, keys without normalization, and a draining server', async t => {
  const other = await startServer({ config: { s3: { domain: ['s3.test'], keyNormalization: 'none' } } })
  t.teardown(() => other.stop())
  const ask = async (method: string, host: string, path: string, body = '') => {
    const { signRequest } = await import('svc/plugins/auth-sigv4/api')
    const { headers } = signRequest(signer, { method, host, path, payload: Buffer.from(body), nowMs: Date.now() })
    return other.exchange(
      Buffer.concat([
        headOf(method, path, { ...headers, connection: 'close', 'content-length': String(body.length) }),
        Buffer.from(body),
      ]),
    )
  }
  t.equal((await ask('PUT', 'my.bucket.s3.test', '/')).status, 200)
  t.equal((await ask('PUT', 'my.bucket.s3.test:9000', '/a//u%CC%88', 'x')).status, 200)
  t.equal((await ask('GET', 's3.test', '/my.bucket/a//u%CC%88')).text, 'x')
  t.equal((await ask('GET', 's3.test', '/my.bucket/a//%C3%BC')).status, 404)
  t.match((await ask('GET', 's3.test', '/')).text, /<Name>my\.bucket<\/Name>/)

  await other.kernel.drain()
  const refused = await ask('GET', 's3.test', '/')
  t.equal(`${refused.status} ${refused.xml('Code')}`, '503 ServiceUnavailable')
  t.equal(refused.headers['retry-after'], '1')
  t.equal(refused.headers.connection, 'close')
})

t.test('HTTP/2 has the same answers, and a refused upload ends only its stream', async t => {
  const certsDir = mkdtempSync(join(tmpdir(), 'svc-s3-certs-'))
  t.teardown(() => rmSync(certsDir, { recursive: true }))
  const files = ['-keyout', join(certsDir, 'private.key'), '-out', join(certsDir, 'public.crt')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', '-x509', ...key, '-days', '2', ...names, ...files], { stdio: 'ignore' })
  const secure = await startServer({ config: { tls: { certsDir } } })
  t.teardown(() => secure.stop())
  const session = connectHttp2(`https://${secure.host}`, { rejectUnauthorized: false })
  t.teardown(() => session.destroy())

  const ask = (method: string, path: string, body?: Buffer) =>
    new Promise<{ head: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
      const payload = body === undefined ? undefined : 'UNSIGNED-PAYLOAD'
      const { host, ...headers } = secure.sign({ method, path, payload }).headers
      const stream = session.request(
        { ...headers, ':method': method, ':path': path, ':authority': host, 'content-length': body?.length },
        { endStream: body === undefined },
      )
      const chunks: Buffer[] = []
      let head: IncomingHttpHeaders = {}
      stream.on('response', received => {
        head = received
      })
      stream.on('data', chunk => chunks.push(chunk))
      stream.on('end', () => resolve({ head, body: Buffer.concat(chunks) }))
      stream.on('error', reject)
      if (body !== undefined) stream.end(body)
    })

  const large = Buffer.alloc(9_000_000, 'large')
  t.match(await ask('PUT', `/${Bucket}`, Buffer.alloc(0)), { head: { ':status': 200, server: 'svc' } })
  t.match(await ask('PUT', `/${Bucket}/large`, large), { head: { ':status': 200 } })
  t.match(await ask('PUT', `/${Bucket}/small`, Buffer.from('grün')), { head: { ':status': 200 } })
  t.ok((await ask('GET', `/${Bucket}/large`)).body.equals(large))
  t.equal((await ask('GET', `/${Bucket}/small`)).body.toString(), 'grün')
  t.match(await ask('HEAD', `/${Bucket}/large`), { head: { ':status': 200, 'content-length': '9000000' } })
  const missing = await ask('GET', `/${Bucket}/missing`)
  t.match(missing, {
    head: { ':status': 404, 'x-amz-request-id': /^[0-9A-F]{16}$/, 'content-type': 'application/xml' },
  })
  t.match(missing.body.toString(), /<Code>NoSuchKey<\/Code>/)
  for (let i = 0; i < 20; i++) {
    const refused = await ask('PUT', '/no-such-bucket/large', large.subarray(0, 1_000_000))
    t.equal(refused.head[':status'], 404)
  }
  t.equal((await ask('GET', `/${Bucket}/small`)).body.toString(), 'grün', 'the connection goes on')

  // Clients in Go lose an answer whose stream is reset before its end. An anonymous request is refused before its body arrives.
  const stranger = { ':method': 'PUT', ':path': `/${Bucket}/a`, ':authority': secure.host, 'content-length': '3' }
  for (let i = 0; i < 10; i++) {
    const frames = await framesOf(secure.host, stranger)
    const end = frames.findIndex(({ type, flags }) => type <= 1 && (flags & 1) === 1)
    const reset = frames.findIndex(({ type }) => type === 3)
    t.ok(end >= 0 && (reset === -1 || reset > end), JSON.stringify(frames))
  }
})

/** Frames of the only stream of a connection, until that stream is closed; the body has three bytes. */
function framesOf(host: string, headers: OutgoingHttpHeaders): Promise<{ type: number; flags: number }[]> {
  const [hostname, port] = host.split(':')
  const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ['h2'] })
  const received: Buffer[] = []
  const tapped = new Duplex({
    read() {},
    write: (chunk, _encoding, done) => socket.write(chunk, done),
    final: done => socket.end(done),
  })
  socket.on('data', chunk => {
    received.push(chunk)
    tapped.push(chunk)
  })
  const session = connectHttp2(`https://${host}`, { createConnection: () => tapped })
  const stream = session.request(headers)
  stream.end('abc')
  stream.resume()
  return new Promise((resolve, reject) => {
    stream.on('error', reject)
    stream.on('close', () => {
      session.destroy()
      socket.destroy()
      const bytes = Buffer.concat(received)
      const frames: { type: number; flags: number }[] = []
      for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
        if (bytes.readUInt32BE(at + 5) === 1) frames.push({ type: bytes[at + 3]!, flags: bytes[at + 4]! })
      }
      resolve(frames)
    })
  })
}
