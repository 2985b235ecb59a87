/** Uploads over the Admin API: the same uploads as over S3, listed, resumed and ended. */
import { CompleteMultipartUploadCommand, CreateMultipartUploadCommand, UploadPartCommand } from '@aws-sdk/client-s3'
import { responseProblems, startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin({
  without: ['users'],
  plugins: [
    testUsers({
      resumer: [{ Effect: 'Allow', Action: 's3:ListMultipartUploadParts', Resource: 'arn:aws:s3:::films/mine/*' }],
    }),
  ],
})
t.teardown(() => server.stop())
const { s3: client, signed } = server
const resumer = server.signedBy('resumer', userSecret)
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`
const Bucket = 'films'
const base = `/api/v1/buckets/${Bucket}/uploads`
const fits = (id: string, json: unknown) =>
  t.same(responseProblems(server.operations.find(operation => operation.id === id)!, json), [], id)
const begin = async (Key: string) =>
  (await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ContentType: 'video/mp4' }))).UploadId!
const at = (uploadId: string, key: string) => `${base}/${uploadId}?key=${encodeURIComponent(key)}`

t.test('uploads are listed by key, a page at a time', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: Bucket } })
  t.same((await signed({ path: base })).json, { items: [], nextCursor: '' })
  for (const key of ['mine/a b', 'mine/a b', 'other', 'mine/c']) await begin(key)
  const keys: string[] = []
  const ids = new Set<string>()
  for (let cursor = ''; ; ) {
    const { json } = await signed({ path: `${base}?limit=1&cursor=${cursor}` })
    fits('listUploads', json)
    keys.push(json.items[0].key)
    ids.add(json.items[0].uploadId)
    cursor = json.nextCursor
    if (cursor === '') break
  }
  t.same(keys, ['mine/a b', 'mine/a b', 'mine/c', 'other'])
  t.equal(ids.size, 4)
  t.equal((await signed({ path: `${base}?prefix=mine/` })).json.items.length, 3)
  t.equal(outcome(await signed({ path: '/api/v1/buckets/missing/uploads' })), '404 bucket_not_found')
  t.equal(outcome(await resumer({ path: base })), '403 access_denied')
})

t.test('the stored parts of an upload are enough to resume it', async t => {
  const Key = 'mine/film'
  const UploadId = await begin(Key)
  const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 2, Body: 'second' }))
  const { json } = await resumer({ path: at(UploadId, Key) })
  fits('getUpload', json)
  const { parts: _, ...session } = json
  const [listed] = (await signed({ path: `${base}?prefix=${Key}` })).json.items
  t.same(listed, session, 'a list tells the same of it, without the parts')
  t.type(session.initiator, 'string')
  t.match(json, {
    uploadId: UploadId,
    bucket: Bucket,
    key: Key,
    contentType: 'video/mp4',
    storageClass: 'STANDARD',
    minPartSize: 5242880,
    maxParts: 10000,
    size: 6,
    partCount: 1,
    partsTruncated: false,
    parts: [{ partNumber: 2, size: 6, etag: ETag!.replaceAll('"', '') }],
  })
  t.equal(outcome(await resumer({ path: at(UploadId, 'other') })), '403 access_denied')
  t.equal(outcome(await signed({ path: at(UploadId, 'other') })), '404 upload_not_found')
  const { partNumber, etag } = json.parts[0]
  const Parts = [{ PartNumber: partNumber, ETag: etag }]
  await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))
  t.equal(outcome(await signed({ path: at(UploadId, Key) })), '404 upload_not_found')
})

t.test('an upload is ended once', async t => {
  const id = await begin('mine/x')
  const abort = (call = signed) => call({ method: 'DELETE', path: at(id, 'mine/x') })
  t.equal(outcome(await abort(resumer)), '403 access_denied')
  t.equal(outcome(await abort()), '204')
  t.equal(outcome(await abort()), '404 upload_not_found')
})

t.test('an upload over the Admin API only: resumed, completed, and refused where required', async t => {
  const { signed: root } = server
  const create = (body: object, call = root) => call({ method: 'POST', path: base, body })
  const key = 'mine/a b'
  const fields = { contentType: 'video/mp4', userMetadata: { Colour: 'ä' }, cacheControl: 'no-cache' }
  const made = await create({ key, ...fields })
  t.equal(outcome(made), '201')
  fits('createUpload', made.json)
  t.equal((await root({ path: String(made.headers.location) })).json.partCount, 0)
  const { uploadId } = made.json
  const part = (number: number | string, body: Buffer | string, headers = {}, call = root) =>
    call({ method: 'PUT', path: `${base}/${uploadId}/parts/${number}?key=${encodeURIComponent(key)}`, headers, body })
  const first = Buffer.alloc(5 * 1024 * 1024, 'film')
  const stored = await part(1, first)
  fits('uploadPart', stored.json)
  t.match(stored.json, { partNumber: 1, size: first.length })
  t.equal(outcome(await part(2, 'end', { 'content-md5': Buffer.alloc(16).toString('base64') })), '400 bad_digest')
  t.equal(outcome(await part(2, 'end', { 'x-amz-checksum-crc32': 'AAAAAA==' })), '400 bad_digest')
  t.equal(outcome(await part(2, 'other')), '200')
  t.equal(outcome(await part(2, 'end')), '200', 'replaced')
  for (const wrong of [0, 10001, 'x']) t.equal(outcome(await part(wrong, 'x')), '400 invalid_argument')
  t.equal(outcome(await part(1, 'x', {}, resumer)), '403 access_denied')
  const complete = (body?: object, id = uploadId, headers = {}) =>
    root({ method: 'POST', path: `${base}/${id}/complete?key=${encodeURIComponent(key)}`, headers, body })
  const { parts } = (await root({ path: at(uploadId, key) })).json
  t.same(
    parts.map(({ size }: { size: number }) => size),
    [first.length, 3],
  )
  t.equal(outcome(await complete({ parts: [{ partNumber: 3, etag: 'x' }] })), '400 invalid_part')
  t.equal(
    outcome(
      await complete({
        parts: [...parts]
          .reverse()
          .map(({ partNumber, etag }: { partNumber: number; etag: string }) => ({ partNumber, etag })),
      }),
    ),
    '400 invalid_part',
  )
  const done = await complete()
  t.equal(outcome(done), '200')
  fits('completeUpload', done.json)
  t.equal(done.json.size, first.length + 3)
  const { json } = await root({ path: `/api/v1/buckets/${Bucket}/objects/stat?key=${encodeURIComponent(key)}` })
  t.match(json, {
    contentType: 'video/mp4',
    cacheControl: 'no-cache',
    userMetadata: { colour: 'ä' },
    parts: 2,
    etag: done.json.etag,
  })
  t.equal(outcome(await complete()), '404 upload_not_found')
  const listed = [...parts].map(({ partNumber, etag }: { partNumber: number; etag: string }) => ({ partNumber, etag }))
  const again = await complete({ parts: listed })
  t.same([outcome(again), again.json], ['200', done.json], 'whose answer was lost gets it again')
  t.equal(outcome(await complete({ parts: listed.slice(1) })), '404 upload_not_found')

  const small = (await create({ key })).json.uploadId
  await root({ method: 'PUT', path: `${base}/${small}/parts/1?key=${encodeURIComponent(key)}`, body: 'a' })
  await root({ method: 'PUT', path: `${base}/${small}/parts/2?key=${encodeURIComponent(key)}`, body: 'b' })
  t.equal(outcome(await complete(undefined, small)), '400 entity_too_small')
  t.equal(outcome(await complete({ parts: [] }, small)), '400 invalid_argument')
  const other = (await create({ key })).json.uploadId
  t.equal(outcome(await complete(undefined, other)), '400 invalid_part', 'nothing was sent')
  await root({ method: 'PUT', path: `${base}/${other}/parts/1?key=${encodeURIComponent(key)}`, body: 'a' })
  t.equal(outcome(await complete(undefined, other, { 'if-none-match': '*' })), '412 precondition_failed')

  t.equal(outcome(await create({ key, storageClass: 'GLACIER' })), '400 invalid_argument')
  t.equal(outcome(await create({ key, checksumAlgorithm: 'ROT13' })), '400 invalid_argument')
  t.equal(outcome(await create({ key, encryption: { algorithm: 'AES256' } })), '501 not_implemented')
  t.equal(outcome(await create({ key, tags: { a: 'b' } }, resumer)), '403 access_denied')
  t.equal(outcome(await create({ key }, resumer)), '403 access_denied')
})
