/** Bytes over the Admin API: uploads, downloads, copies and metadata, for signed callers and for pages of the console. */
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { GetObjectCommand, GetObjectTaggingCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { type AdminCaller, responseProblems, startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin()
const { s3: client, signed } = server
t.teardown(() => server.stop())
const { users } = server.kernel.services
const secretKey = 'a-secret-of-a-user'
const as = async (
  accessKey: string,
  Action: string[],
  Resource: string[],
  Condition?: object,
): Promise<AdminCaller> => {
  const statement = {
    Effect: 'Allow',
    Action,
    Resource: Resource.map(one => `arn:aws:s3:::${one}`),
    ...(Condition && { Condition }),
  }
  await users.putPolicy(accessKey, { Version: '2012-10-17', Statement: [statement] })
  await users.createUser({ accessKey, secretKey, policyNames: [accessKey] })
  return server.signedBy(accessKey, secretKey)
}
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`
const fits = (id: string, json: unknown) =>
  t.same(responseProblems(server.operations.find(operation => operation.id === id)!, json), [], id)
const base = '/api/v1/buckets/photos/objects'
const at = (operation: string, key: string, more = '') => `${base}/${operation}?key=${encodeURIComponent(key)}${more}`
const upload = (key: string, body: string | Buffer, headers: Record<string, string> = {}, call = signed) =>
  call({ method: 'POST', path: at('upload', key), headers: { 'content-type': 'text/plain', ...headers }, body })
const download = (key: string, headers = {}, more = '', call = signed) =>
  call({ path: at('download', key, more), headers })
const large = Buffer.alloc(3 * 1024 * 1024 + 17, 'photograph ')
const lastAudit = async (requestId: string) => {
  for (let attempt = 0; attempt < 4500; attempt++) {
    const { items } = (await signed({ path: `/api/v1/audit?requestId=${requestId}` })).json
    if (items.length > 0) return items[0]
    await new Promise(done => setTimeout(done, 20))
  }
  return undefined
}

t.test('downloaded bytes equal uploaded bytes, over both APIs', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos' } })
  const made = await upload('a/ä b.txt', 'hello', { 'x-amz-meta-colour': 'red', 'x-amz-tagging': 'kind=text' })
  t.equal(made.status, 201)
  fits('uploadObject', made.json)
  t.equal((await signed({ path: String(made.headers.location) })).json.size, 5)
  const [Bucket, Key] = ['photos', 'a/ä b.txt']
  const got = await client.send(new GetObjectCommand({ Bucket, Key }))
  t.match(got, { ContentType: 'text/plain', Metadata: { colour: 'red' } })
  t.same((await client.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet, [{ Key: 'kind', Value: 'text' }])
  t.equal((await upload('large', large)).json.size, large.length)
  const whole = await download('large')
  t.equal(whole.text, large.toString())
  t.equal(whole.headers['content-length'], String(large.length))
  t.equal((await upload('folder/', '')).status, 201)
  const chunked = await signed({
    method: 'POST',
    path: at('upload', 'chunked'),
    headers: { 'content-type': 'text/plain', 'content-md5': createHash('md5').update('x').digest('base64') },
    body: 'x',
  })
  t.equal(chunked.status, 201)
})

t.test('a page of the console uploads and downloads, with its token', async t => {
  const { call, cookie } = await server.login()
  t.equal(outcome(await upload('page', large, {}, call)), '201')
  t.equal((await download('page', {}, '', call)).text.length, large.length)
  t.equal(outcome(await upload('page', 'x', { 'x-csrf-token': 'wrong' }, call)), '403 invalid_csrf_token')
  const foreign = await server.anonymous({ method: 'POST', path: at('upload', 'page'), headers: { cookie }, body: 'x' })
  t.equal(outcome(foreign), '403 invalid_csrf_token')
  t.equal((await download('page', {}, '', call)).text.length, large.length, 'and nothing was stored')
})

t.test('bytes that differ from the announced digests are not stored', async t => {
  const wrong = { 'content-md5': createHash('md5').update('other').digest('base64') }
  t.equal(outcome(await upload('bad', 'x', wrong)), '400 bad_digest')
  t.equal(outcome(await upload('bad', large, { 'x-amz-checksum-crc32': 'AAAAAA==' })), '400 bad_digest')
  t.equal(outcome(await upload('bad', 'x', { 'content-md5': 'no' })), '400 invalid_argument')
  t.equal(outcome(await upload('bad', 'x', { 'x-amz-checksum-crc32': 'no' })), '400 invalid_argument')
  t.equal(outcome(await upload('bad', 'x', { 'x-amz-storage-class': 'GLACIER' })), '400 invalid_argument')
  t.equal(outcome(await upload('bad', 'x', { 'x-amz-server-side-encryption': 'AES256' })), '501 not_implemented')
  t.equal(outcome(await download('bad')), '404 object_not_found')
  t.equal(outcome(await upload('k'.repeat(1025), 'x')), '400 invalid_argument')
  t.equal(outcome(await upload('large', 'x', { 'if-none-match': '*' })), '412 precondition_failed')
})

/** A request written to a socket: `write` gets the socket when the head is sent. */
const byHand = (path: string, head: string[], write: (socket: ReturnType<typeof connect>) => void): Promise<string> =>
  new Promise(done => {
    const socket = connect(server.port, '127.0.0.1')
    let text = ''
    socket.on('data', bytes => (text += bytes.toString('latin1')))
    socket.on('close', () => done(text))
    socket.on('error', () => {})
    socket.write([`POST ${path} HTTP/1.1`, `host: 127.0.0.1:${server.port}`, ...head, '', ''].join('\r\n'))
    write(socket)
  })

t.test('a body of unknown length, a truncated one, and one that is too long', async t => {
  const { cookie, csrfToken } = await server.login()
  const session = [`cookie: ${cookie}`, `origin: http://127.0.0.1:${server.port}`, `x-csrf-token: ${csrfToken}`]
  const answer = await byHand(
    at('upload', 'unknown'),
    [...session, 'transfer-encoding: chunked', 'connection: close'],
    socket => {
      for (let at = 0; at < large.length; at += 100_000) {
        const chunk = large.subarray(at, at + 100_000)
        socket.write(`${chunk.length.toString(16)}\r\n`)
        socket.write(chunk)
        socket.write('\r\n')
      }
      socket.write('0\r\n\r\n')
    },
  )
  t.match(answer, /^HTTP\/1.1 201 /)
  t.equal((await download('unknown')).text, large.toString())

  await byHand(
    at('upload', 'broken'),
    [...session, `content-length: ${large.length}`, 'user-agent: breaker'],
    socket => {
      socket.write(large.subarray(0, 1_000_000), () => setTimeout(() => socket.destroy(), 50))
    },
  )
  t.equal(outcome(await download('broken')), '404 object_not_found')
  const isBreaker = ({ userAgent }: { userAgent: string }) => userAgent === 'breaker'
  let record: object | undefined
  for (let attempt = 0; attempt < 4500 && record === undefined; attempt++) {
    record = (await signed({ path: '/api/v1/audit?action=uploadObject&status=499' })).json.items.find(isBreaker)
    await new Promise(done => setTimeout(done, 20))
  }
  t.match(record, { status: 499, object: 'broken', bucket: 'photos' })

  const refused = await byHand(at('upload', 'huge'), [...session, 'content-length: 6000000000'], socket => {
    socket.write(large)
  })
  t.match(refused, /^HTTP\/1.1 413 [\s\S]*"entity_too_large"/, 'the answer arrives, though the client still sends')
})

t.test('ranges, conditions, and types that a browser may show', async t => {
  const etag = createHash('md5').update('hello').digest('hex')
  const key = 'a/ä b.txt'
  const range = await download(key, { range: 'bytes=1-3' })
  t.equal(`${range.status} ${range.text} ${range.headers['content-range']}`, '206 ell bytes 1-3/5')
  t.equal((await download('large', { range: 'bytes=-17' })).text, large.subarray(-17).toString())
  const beyond = await download(key, { range: 'bytes=5-' })
  t.equal(`${outcome(beyond)} ${beyond.headers['content-range']}`, '416 range_not_satisfiable bytes */5')
  const unchanged = await download(key, { 'if-none-match': `"${etag}"` })
  t.equal(`${unchanged.status} ${unchanged.text}`, '304 ')
  t.equal(unchanged.headers.etag, `"${etag}"`)
  const since = String(unchanged.headers['last-modified'])
  t.equal((await download(key, { 'if-modified-since': since })).status, 304)
  t.equal(outcome(await download(key, { 'if-match': '"other"' })), '412 precondition_failed')
  t.equal((await download(key, { range: 'bytes=0-0', 'if-range': '"other"' })).status, 200)
  t.equal((await download('folder/')).text, '')

  const types: [stored: string, inline: boolean, type: string, kind: string][] = [
    ['image/png', true, 'image/png', 'inline'],
    ['image/png', false, 'image/png', 'attachment'],
    ['image/svg+xml', true, 'image/svg+xml', 'attachment'],
    ['text/html; charset=x', true, 'text/plain; charset=utf-8', 'inline'],
    ['application/pdf', true, 'application/pdf', 'inline'],
    ['application/xhtml+xml', true, 'application/xhtml+xml', 'attachment'],
    ['video/mp4', true, 'video/mp4', 'inline'],
    ['image/x+xml', true, 'image/x+xml', 'attachment'],
    ['Image/VND.a+XML; charset=utf-8', true, 'Image/VND.a+XML; charset=utf-8', 'attachment'],
    ['audio/x+xml', true, 'audio/x+xml', 'attachment'],
    ['image/xml', true, 'image/xml', 'attachment'],
    ['text/javascript', true, 'text/plain; charset=utf-8', 'inline'],
    ['Text/JavaScript', false, 'application/octet-stream', 'attachment'],
    ['application/x-ecmascript; charset=utf-8', true, 'application/octet-stream', 'attachment'],
    ['text/css', false, 'application/octet-stream', 'attachment'],
  ]
  for (const [stored, inline, type, kind] of types) {
    await upload('shown/ü".x', 'x', { 'content-type': stored })
    const { headers } = await download('shown/ü".x', {}, inline ? '&inline=true' : '')
    t.match(headers, {
      'content-type': type,
      'content-disposition': `${kind}; filename="__.x"; filename*=UTF-8''%C3%BC%22.x`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'private, no-store',
    })
  }
})

t.test('metadata is replaced in place, and never restores old bytes', async t => {
  await upload('meta', 'first', { 'x-amz-meta-old': '1', 'cache-control': 'no-cache', 'x-amz-tagging': 'a=b' })
  const set = (body: object, headers: Record<string, string> = {}) =>
    signed({ method: 'PUT', path: at('metadata', 'meta'), headers, body })
  const { json, headers } = await set({ contentType: 'image/png', userMetadata: { New: 'ä' } })
  fits('setObjectMetadata', json)
  t.equal(headers.etag, `"${json.etag}"`)
  const { json: detail } = await signed({ path: at('stat', 'meta') })
  t.match(detail, { contentType: 'image/png', userMetadata: { new: 'ä' }, tags: { a: 'b' }, size: 5 })
  t.same([detail.cacheControl, detail.userMetadata.old], [undefined, undefined])
  t.equal(outcome(await set({}, { 'if-match': '"other"' })), '412 precondition_failed')
  t.equal(outcome(await set({}, { 'if-match': json.etag })), '200')
  // The content is as it was, and what somebody has seen of the rest is not.
  const { metadataEtag } = (await signed({ path: at('stat', 'meta') })).json
  t.equal(outcome(await set({ contentType: 'image/gif' }, { 'if-match': metadataEtag })), '200')
  t.equal(outcome(await set({}, { 'if-match': metadataEtag })), '412 precondition_failed')
  const atOnce = (more: Record<string, string> = {}) =>
    Promise.all(Array.from({ length: 16 }, (_, index) => set({ contentType: `at/${index}` }, more)))
  t.same(new Set((await atOnce()).map(outcome)), new Set(['200']), 'whoever names nothing comes last or first')
  const seen = (await signed({ path: at('stat', 'meta') })).json.metadataEtag
  t.equal((await atOnce({ 'if-match': seen })).filter(({ status }) => status === 200).length, 1, 'one has been quicker')
  t.equal(outcome(await set({ userMetadata: { a: 'x'.repeat(2048) } })), '400 invalid_argument')
  t.equal(outcome(await set({ userMetadata: { 'no name': 'x' } })), '400 invalid_argument')
  t.equal(outcome(await set({ contentType: 'a\r\nb: c' })), '400 invalid_argument')
  const writes = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      index % 2 === 0 ? upload('meta', `body ${index}`) : set({ contentType: `x/${index}` }),
    ),
  )
  t.ok(writes.every(({ status }) => status < 300))
  t.match((await download('meta')).text, /^body \d+$/)
})

t.test('copies, moves, and restored versions', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'archive', versioning: true } })
  const copy = (body: object, call = signed, bucket = 'archive', headers = {}) =>
    call({ method: 'POST', path: `/api/v1/buckets/${bucket}/objects/copy`, body, headers })
  const source = { bucket: 'photos', key: 'large' }
  const copied = await copy({ source, key: 'l', metadata: { contentType: 'x/y' }, tags: { t: '1' } })
  fits('copyObject', copied.json)
  t.equal(outcome(copied), '200')
  t.match((await signed({ path: '/api/v1/buckets/archive/objects/stat?key=l' })).json, {
    contentType: 'x/y',
    tags: { t: '1' },
  })
  t.equal(outcome(await copy({ source, key: 'l', overwrite: false })), '412 precondition_failed')
  // What is replaced is what somebody has seen.
  const meta = { bucket: 'photos', key: 'meta' }
  const seen = { 'if-match': `"${copied.json.etag}"` }
  t.equal(
    outcome(await copy({ source: meta, key: 'l' }, signed, 'archive', { 'if-match': '"other"' })),
    '412 precondition_failed',
  )
  t.equal(outcome(await copy({ source: meta, key: 'none' }, signed, 'archive', seen)), '404 object_not_found')
  t.equal(outcome(await copy({ source: meta, key: 'l' }, signed, 'archive', seen)), '200')
  t.equal(outcome(await copy({ source: meta, key: 'l' }, signed, 'archive', seen)), '412 precondition_failed')
  t.equal(outcome(await copy({ source: { ...meta, etag: 'other' }, key: 'l' })), '412 precondition_failed')
  const { versionId } = copied.json
  const restored = await copy({ source: { bucket: 'archive', key: 'l', versionId }, key: 'l' })
  t.equal(restored.json.size, large.length)
  const here = { bucket: 'archive', key: 'l' }
  for (const bad of [
    { source: here, key: 'l' },
    { source: here, key: 'l', move: true, metadata: {} },
    { source: { ...here, versionId }, key: 'm', move: true },
  ]) {
    t.equal(outcome(await copy(bad)), '400 invalid_argument')
  }
  t.equal(outcome(await copy({ source: here, key: 'moved', move: true })), '200')
  t.equal(outcome(await signed({ path: '/api/v1/buckets/archive/objects/download?key=l' })), '404 object_not_found')
  t.equal(outcome(await copy({ source: here, key: 'again' })), '404 object_not_found')
  t.equal(outcome(await copy({ source: { bucket: 'missing', key: 'x' }, key: 'again' })), '404 bucket_not_found')
})

t.test('permissions of each operation', async t => {
  const reader = await as('reader', ['s3:GetObject'], ['photos/a/*'])
  const writer = await as('writer', ['s3:PutObject'], ['photos/in/*'])
  const tagger = await as('tagger', ['s3:PutObject', 's3:PutObjectTagging'], ['photos/in/*'], {
    StringEquals: { 's3:RequestObjectTag/kind': 'text' },
  })
  const copier = await as('copier', ['s3:GetObject', 's3:PutObject'], ['photos/a/*', 'archive/*'])
  t.equal((await download('a/ä b.txt', {}, '', reader)).status, 200)
  t.equal(outcome(await download('large', {}, '', reader)), '403 access_denied')
  t.equal(outcome(await download('a/ä b.txt', {}, '&versionId=null', reader)), '403 access_denied')
  t.equal(outcome(await upload('a/x', 'x', {}, reader)), '403 access_denied')
  t.equal(outcome(await upload('in/x', 'x', {}, writer)), '201')
  t.equal(outcome(await upload('in/x', 'x', { 'x-amz-tagging': 'a=b' }, writer)), '403 access_denied')
  t.equal(outcome(await upload('in/x', 'x', { 'if-match': '"a"' }, writer)), '403 access_denied')
  t.equal(outcome(await upload('in/x', 'x', { 'x-amz-tagging': 'kind=text' }, tagger)), '201')
  t.equal(outcome(await upload('in/x', 'x', { 'x-amz-tagging': 'kind=film' }, tagger)), '403 access_denied')
  t.equal(outcome(await upload('in/x', 'x', { 'x-amz-object-lock-legal-hold': 'ON' }, writer)), '403 access_denied')
  const metadata = { method: 'PUT', path: at('metadata', 'in/x'), body: {} }
  t.equal(outcome(await writer(metadata)), '403 access_denied')
  const copy = (key: string, more: object, call: AdminCaller) =>
    call({
      method: 'POST',
      path: '/api/v1/buckets/archive/objects/copy',
      body: { source: { bucket: 'photos', key }, key: 'c', ...more },
    })
  t.match((await copy('large', {}, copier)).json, {
    code: 'access_denied',
    detail: 'You may not do this: it needs the right s3:GetObject for the bucket photos.',
  })
  t.equal(outcome(await copy('a/ä b.txt', {}, copier)), '403 access_denied', 'its tags may not be copied')
  await client.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a/plain', Body: 'x' }))
  t.equal(outcome(await copy('a/plain', {}, copier)), '200')
  const copyOver = { method: 'POST', path: '/api/v1/buckets/photos/objects/copy', headers: { 'if-match': '"a"' } }
  const onto = (key: string) => ({ ...copyOver, body: { source: { bucket: 'photos', key: 'a/plain' }, key } })
  t.equal(outcome(await (await as('blind', ['s3:GetObject'], ['photos/a/plain']))(onto('a/x'))), '403 access_denied')
  const half = await as('half', ['s3:PutObject', 's3:GetObject'], ['photos/a/plain'])
  t.equal(outcome(await half(onto('in/x'))), '403 access_denied')
  t.equal(outcome(await copy('a/plain', { move: true }, copier)), '403 access_denied')
  t.equal((await signed({ path: at('stat', 'a/plain') })).status, 200)
  const denied = await upload('a/x', 'x', {}, reader)
  t.match(await lastAudit(String(denied.headers['x-request-id'])), {
    api: 'uploadObject',
    bucket: 'photos',
    object: 'a/x',
    status: 403,
    errorCode: 'access_denied',
    identity: { accessKey: 'reader' },
  })
  const seen = await download('large', { range: 'bytes=0-1999999' })
  t.match(await lastAudit(String(seen.headers['x-request-id'])), {
    api: 'downloadObject',
    status: 206,
    bytesSent: 2_000_000,
  })
})
