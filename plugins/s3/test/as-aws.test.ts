/** Details of answers that clients compare with AWS's. */
import t from 'tap'
import { startServer } from './start.ts'

const server = await startServer()
t.teardown(() => server.stop())
const bucket = 'as-aws'
const created = await server.send({ method: 'PUT', path: `/${bucket}` })
const put = (key: string, headers: Record<string, string> = {}, body = 'x') =>
  server.send({ method: 'PUT', path: `/${bucket}/${key}`, headers, body })

t.test('CreateBucket names the bucket by its ARN', async t => {
  t.equal(created.headers['x-amz-bucket-arn'], `arn:aws:s3:::${bucket}`)
})

t.test('a message is that of AWS, and the element Detail has ours', async t => {
  const missing = await server.send({ path: '/no-such-bucket/key' })
  t.equal(missing.xml('Message'), 'The specified bucket does not exist')
  t.equal(missing.xml('Detail'), undefined)
  const named = await server.send({ method: 'PUT', path: '/ab' })
  t.equal(named.xml('Message'), 'The specified bucket is not valid.')
  t.match(named.xml('Detail'), /3 to 63/)
  const malformed = await server.send({ method: 'PUT', path: `/${bucket}`, query: 'versioning=', body: '<X/>' })
  t.equal(
    malformed.xml('Message'),
    'The XML you provided was not well-formed or did not validate against our published schema',
  )
  t.type(malformed.xml('Detail'), 'string')
})

t.test('empty pairs in x-amz-tagging are no tags', async t => {
  t.equal((await put('tagged', { 'x-amz-tagging': '&a=1&&b=2&' })).status, 200)
  const { headers } = await server.send({ path: `/${bucket}/tagged` })
  t.equal(headers['x-amz-tagging-count'], '2')
  t.equal((await put('untagged', { 'x-amz-tagging': '&' })).status, 200)
})

t.test('POST to a key without a query is not allowed', async t => {
  const { status, text } = await server.send({ method: 'POST', path: `/${bucket}/key`, body: 'x' })
  t.equal(status, 405, text)
})

t.test('a part may be listed only once', async t => {
  const uploadId = (await server.send({ method: 'POST', path: `/${bucket}/parts`, query: 'uploads=' })).xml('UploadId')!
  const query = `partNumber=1&uploadId=${uploadId}`
  const { headers } = await server.send({ method: 'PUT', path: `/${bucket}/parts`, query, body: 'x' })
  const part = `<Part><PartNumber>1</PartNumber><ETag>${headers.etag}</ETag></Part>`
  const { status, text } = await server.send({
    method: 'POST',
    path: `/${bucket}/parts`,
    query: `uploadId=${uploadId}`,
    body: `<CompleteMultipartUpload>${part}${part}</CompleteMultipartUpload>`,
  })
  t.equal(status, 400)
  t.match(text, '<Code>InvalidPartOrder</Code>')
})

t.test('a negative MaxAgeSeconds is accepted', async t => {
  const rule = '<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod><MaxAgeSeconds>-1</MaxAgeSeconds>'
  const body = `<CORSConfiguration><CORSRule>${rule}</CORSRule></CORSConfiguration>`
  t.equal((await server.send({ method: 'PUT', path: `/${bucket}`, query: 'cors=', body })).status, 200)
  const { text } = await server.send({ path: `/${bucket}`, query: 'cors=' })
  t.match(text, '<MaxAgeSeconds>-1</MaxAgeSeconds>')
})

t.test('the headers of a preflight also select the rule of another request', async t => {
  const rule = (method: string, header: string) =>
    `<CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>${method}</AllowedMethod><ExposeHeader>${header}</ExposeHeader></CORSRule>`
  const body = `<CORSConfiguration>${rule('GET', 'x-get')}${rule('PUT', 'x-put')}</CORSConfiguration>`
  await server.send({ method: 'PUT', path: `/${bucket}`, query: 'cors=', body })
  const ask = async (headers: Record<string, string>) =>
    (await server.send({ path: `/${bucket}`, headers: { origin: 'http://a.test', ...headers } })).headers
  t.equal((await ask({}))['access-control-expose-headers'], 'x-get')
  t.equal((await ask({ 'access-control-request-method': 'PUT' }))['access-control-expose-headers'], 'x-put')
  t.equal((await ask({ 'access-control-request-method': 'DELETE' }))['access-control-allow-origin'], undefined)
})

t.test('writes in a suspended bucket return no version id', async t => {
  for (const status of ['Enabled', 'Suspended']) {
    const body = `<VersioningConfiguration><Status>${status}</Status></VersioningConfiguration>`
    await server.send({ method: 'PUT', path: `/${bucket}`, query: 'versioning=', body })
  }
  t.equal((await put('suspended')).headers['x-amz-version-id'], undefined)
  const copied = await put('copied', { 'x-amz-copy-source': `/${bucket}/suspended` }, '')
  t.equal(copied.status, 200, copied.text)
  t.equal(copied.headers['x-amz-version-id'], undefined)
  t.equal((await server.send({ path: `/${bucket}/suspended` })).headers['x-amz-version-id'], 'null')
})

t.test('values of a repeated metadata header are joined by a comma without a blank', async t => {
  const path = `/${bucket}/repeated`
  const { headers } = server.sign({
    method: 'PUT',
    path,
    headers: { 'x-amz-meta-a': 'one,two, three' },
    payload: Buffer.alloc(0),
  })
  const lines = Object.entries({ ...headers, connection: 'close', 'content-length': '0' }).flatMap(([name, value]) =>
    name === 'x-amz-meta-a' ? [`${name}: one`, `X-Amz-Meta-A: two, three`] : [`${name}: ${value}`],
  )
  const { status, text } = await server.exchange(Buffer.from([`PUT ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n')))
  t.equal(status, 200, text)
  t.equal((await server.send({ path })).headers['x-amz-meta-a'], 'one,two, three')
})

t.test('markers of uploads', async t => {
  for (const key of ['dir/a', 'dir/b', 'file', 'file2']) {
    t.equal((await server.send({ method: 'POST', path: `/${bucket}/${key}`, query: 'uploads=' })).status, 200)
  }
  const list = (query: string) => server.send({ path: `/${bucket}`, query: `max-uploads=1&uploads=&${query}` })
  const atPrefix = await list('delimiter=/')
  t.equal(atPrefix.xml('NextKeyMarker'), 'dir/')
  t.equal(atPrefix.xml('NextUploadIdMarker'), undefined, 'a common prefix is no upload')
  const next = await list('delimiter=/&key-marker=dir/')
  t.equal(next.xml('Key'), 'file')
  const id = next.xml('NextUploadIdMarker')!
  t.equal((await list(`key-marker=file&upload-id-marker=${id}`)).xml('Key'), 'file2')
  await server.send({ method: 'DELETE', path: `/${bucket}/file`, query: `uploadId=${id}` })
  t.equal((await list(`key-marker=file&upload-id-marker=${id}`)).xml('Key'), 'file2', 'of an upload that has ended')
  const foreign = await list('key-marker=file&upload-id-marker=nonsense')
  t.equal(foreign.status, 400)
  t.equal(foreign.xml('ArgumentName'), 'upload-id-marker')
})

t.test('canned access control lists are refused, or ignored if the settings say so', async t => {
  const acl = { 'x-amz-acl': 'public-read' }
  const outcome = ({ status, xml }: Awaited<ReturnType<typeof put>>) => `${status} ${xml('Code') ?? ''}`
  const all = async () => [
    outcome(await server.send({ method: 'PUT', path: '/with-acl', headers: acl })),
    outcome(await put('acl', acl)),
    outcome(await put('acl', { ...acl, 'x-amz-copy-source': `/${bucket}/tagged` }, '')),
    outcome(await server.send({ method: 'PUT', path: `/${bucket}/tagged`, query: 'acl=', headers: acl })),
    outcome(await server.send({ method: 'PUT', path: `/${bucket}`, query: 'acl=', headers: acl })),
    outcome(await put('acl', { 'x-amz-acl': 'nonsense' })),
    outcome(await put('acl', { 'x-amz-grant-read': 'uri="http://acs.amazonaws.com/groups/global/AllUsers"' })),
  ]
  const refused = '400 AccessControlListNotSupported'
  const never = ['400 InvalidArgument', refused]
  t.same(await all(), ['400 InvalidBucketAclWithObjectOwnership', ...Array(4).fill(refused), ...never])
  await server.kernel.services.settings.administration.update('api', { acl_ignored: 'on' })
  t.same(await all(), [...Array(5).fill('200 '), ...never])
  const stranger = await server.send({ path: `/${bucket}/acl`, anonymous: true })
  t.equal(stranger.status, 403, 'nothing becomes public')
  await server.kernel.services.settings.administration.update('api', { acl_ignored: 'off' })
})

t.test('clients of MinIO may delete a bucket with everything in it', async t => {
  const path = '/to-force'
  await server.send({ method: 'PUT', path })
  await server.send({ method: 'PUT', path: `${path}/key`, body: 'x' })
  const remove = (force: string) => server.send({ method: 'DELETE', path, headers: { 'x-minio-force-delete': force } })
  t.equal((await remove('false')).xml('Code'), 'BucketNotEmpty')
  t.equal((await remove('true')).status, 204)
  t.equal((await server.send({ path })).status, 404)
})

t.test('clients of MinIO that listen for events get an error that explains it', async t => {
  for (const path of [`/${bucket}`, '/']) {
    const { status, text } = await server.send({
      path,
      query: 'events=s3%3AObjectCreated%3A%2A&ping=10&prefix=&suffix=',
    })
    t.equal(status, 501)
    t.match(text, /<Code>NotImplemented.*ListenNotification/s)
  }
})

t.test('a version id of another server is not found', async t => {
  const query = 'versionId=0b7c9b1e-3f0a-4c52-9d3e-8a7f4d2c1b6a'
  const found = await server.send({ path: `/${bucket}/suspended`, query })
  t.equal(found.status, 404)
  t.equal(found.xml('Code'), 'NoSuchVersion')
  t.equal((await server.send({ method: 'DELETE', path: `/${bucket}/suspended`, query })).status, 204)
  t.equal((await server.send({ path: `/${bucket}/suspended` })).status, 200, 'nothing else is deleted')
})

t.test("clients of MinIO's Admin API get an error that explains it, and a bucket of that name can be used", async t => {
  const path = '/minio/admin/v3/info'
  const Authorization = (region: string) =>
    `AWS4-HMAC-SHA256 Credential=someone/20300101/${region}/s3/aws4_request, SignedHeaders=host, Signature=${'0'.repeat(64)}`
  const ask = (region: string) =>
    fetch(`http://${server.host}${path}`, { headers: { Authorization: Authorization(region) } })
  const refused = await ask('')
  t.equal(refused.status, 501)
  t.match(await refused.json(), { Code: 'NotImplemented', Message: /svcctl admin --help/ })
  t.equal((await ask('us-east-1')).status, 403, 'whoever names a region means the bucket')
})
