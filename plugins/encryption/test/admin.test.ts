/** Encryption over the Admin API: defaults of buckets, the information about objects, uploads, and resealing. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const masterKey = `default:${Buffer.alloc(32, 1).toString('base64')}`
const folder = await mkdtemp(join(tmpdir(), 'svc-encryption-admin-'))
// Allows keys of customers without TLS.
const encryption = { allowsInsecureCustomerKeys: true }
const config = { kms: { secretKey: masterKey }, storage: { endpoints: [folder] }, encryption }
const server = await startAdmin({ config })
t.teardown(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})
const { signed, s3 } = server
const ofCustomer = { SSECustomerAlgorithm: 'AES256', SSECustomerKey: randomBytes(32).toString('base64') }
const buckets = '/api/v1/buckets'
const path = `${buckets}/vault/encryption`

t.test('the default of a bucket is set, returned and removed', async t => {
  t.equal((await signed({ path })).json.code, 'bucket_not_found')
  await signed({ method: 'POST', path: buckets, body: { name: 'vault' } })
  const none = await signed({ path })
  t.same([none.status, none.json.code], [404, 'encryption_not_found'])
  const put = (body: object) => signed({ method: 'PUT', path, body })
  t.same((await put({ algorithm: 'AES256' })).json, { algorithm: 'AES256' })
  t.same((await signed({ path })).json, { algorithm: 'AES256' })
  t.equal((await put({ algorithm: 'aws:kms', kmsKeyId: 'photos' })).json.code, 'kms_key_not_found')
  t.equal((await put({ algorithm: 'AES256', kmsKeyId: 'default' })).json.code, 'invalid_argument')
  t.equal((await put({ algorithm: 'rot13' })).json.code, 'invalid_argument')
  await signed({ method: 'POST', path: '/api/v1/kms/keys', body: { id: 'photos' } })
  t.same((await put({ algorithm: 'aws:kms', kmsKeyId: 'photos' })).json, { algorithm: 'aws:kms', kmsKeyId: 'photos' })
  await signed({ method: 'POST', path: buckets, body: { name: 'plain' } })
  const { items } = (await signed({ path: buckets })).json
  t.match(items, [
    { name: 'plain', encryption: 'none' },
    { name: 'vault', encryption: 'aws:kms' },
  ])
  await signed({ method: 'DELETE', path: `${buckets}/plain` })
})

t.test('uploaded objects are encrypted by the default, and report it', async t => {
  const upload = await signed({
    method: 'POST',
    path: `${buckets}/vault/objects/upload?key=a`,
    headers: { 'content-type': 'text/plain' },
    body: 'hello',
  })
  t.ok(upload.status < 300, upload.text)
  const stat = () => signed({ path: `${buckets}/vault/objects/stat?key=a` })
  t.same((await stat()).json.encryption, { type: 'SSE-KMS', kmsKeyId: 'photos' })
  t.equal((await signed({ path: `${buckets}/vault/objects/download?key=a` })).text, 'hello')
  t.equal((await signed({ method: 'DELETE', path })).status, 204)
  t.equal((await signed({ path })).json.code, 'encryption_not_found')
  t.same((await stat()).json.encryption, { type: 'SSE-KMS', kmsKeyId: 'photos' }, 'what is stored stays as it is')
  const changed = await signed({
    method: 'PUT',
    path: `${buckets}/vault/objects/metadata?key=a`,
    body: { contentType: 'text/markdown' },
  })
  t.equal(changed.status, 200, changed.text)
  t.match((await stat()).json, { contentType: 'text/markdown', encryption: { type: 'SSE-KMS', kmsKeyId: 'photos' } })
})

t.test('data keys are rewrapped on demand', async t => {
  const reseal = (query = '') => signed({ method: 'POST', path: `/api/v1/kms/reseal${query}` })
  const nothing = { buckets: 1, versions: 1, uploads: 0, resealed: 0, failed: 0, firstError: '', formerKeys: 0 }
  t.same((await reseal()).json, nothing)
  t.same((await reseal('?bucket=vault')).json, nothing)
  t.equal((await reseal('?bucket=nowhere')).json.code, 'bucket_not_found')
  const inBody = await signed({ method: 'POST', path: '/api/v1/kms/reseal', body: { bucket: 'vault' } })
  t.same(
    [inBody.status, inBody.json.code],
    [400, 'invalid_argument'],
    'not ignored, so that all buckets would be walked',
  )
  t.match(inBody.json.errors, [{ element: '/bucket' }])
  t.same((await signed({ method: 'POST', path: '/api/v1/kms/reseal', body: {} })).json, nothing)
})

/** Whether any file of the drive has these bytes. */
async function isOnDrive(needle: string): Promise<boolean> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    // Replaced bytes are collected meanwhile.
    const bytes = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0))
    if (bytes.includes(needle)) return true
  }
  return false
}

t.test('copies and moves of encrypted objects are not stored in plain text by default', async t => {
  await signed({ method: 'POST', path: buckets, body: { name: 'plain' } })
  await signed({ method: 'POST', path: buckets, body: { name: 'history' } })
  await s3.send(new PutBucketVersioningCommand({ Bucket: 'history', VersioningConfiguration: { Status: 'Enabled' } }))
  const secret = `planted-${randomBytes(8).toString('hex')}`
  const kinds = {
    'SSE-S3': { ServerSideEncryption: 'AES256' },
    'SSE-KMS': { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'photos' },
  } as const
  const copy = (bucket: string, body: object) =>
    signed({ method: 'POST', path: `${buckets}/${bucket}/objects/copy`, body })
  for (const [kind, requested] of Object.entries(kinds)) {
    // One body is inline, the other one is a blob.
    for (const size of [500, 300_000]) {
      const name = `${kind}/${size}`
      const put = (Bucket: string, Key: string) =>
        s3.send(new PutObjectCommand({ Bucket, Key, Body: Buffer.alloc(size, secret), ...requested }))
      const check = async (way: string, Bucket: string, Key: string) =>
        t.match(await s3.send(new HeadObjectCommand({ Bucket, Key })), { ...requested, ContentLength: size }, way)

      await put('plain', name)
      const metadata = await signed({
        method: 'PUT',
        path: `${buckets}/plain/objects/metadata?key=${name}`,
        body: { contentType: 'text/markdown' },
      })
      t.equal(metadata.status, 200, metadata.text)
      await check('metadata', 'plain', name)
      const moved = await copy('plain', { source: { bucket: 'plain', key: name }, key: `moved/${name}`, move: true })
      t.equal(moved.status, 200, moved.text)
      await check('move', 'plain', `moved/${name}`)
      const { VersionId: versionId } = await put('history', name)
      await s3.send(new PutObjectCommand({ Bucket: 'history', Key: name, Body: 'newer' }))
      const restored = await copy('history', { source: { bucket: 'history', key: name, versionId }, key: name })
      t.equal(restored.status, 200, restored.text)
      await check('an older version', 'history', name)
      await put('plain', name)
      const CopySource = `plain/${name}`
      await s3.send(new CopyObjectCommand({ Bucket: 'plain', Key: name, CopySource, MetadataDirective: 'REPLACE' }))
      await check('CopyObject onto itself', 'plain', name)
    }
  }
  t.notOk(await isOnDrive(secret.slice(0, 24)))
  for (const size of [500, 300_000]) {
    const plain = `visible-${size}-${randomBytes(8).toString('hex')}`
    await s3.send(new PutObjectCommand({ Bucket: 'plain', Key: plain, Body: Buffer.alloc(size, plain) }))
    t.ok(await isOnDrive(plain), 'what is not encrypted is found that way')
  }
})

t.test('nothing that depends on the bytes of an object with a customer’s key is shown', async t => {
  const object = { Bucket: 'plain', Key: 'c' }
  const ChecksumAlgorithm = 'CRC32'
  const { ETag } = await s3.send(new PutObjectCommand({ ...object, Body: 'secret', ChecksumAlgorithm, ...ofCustomer }))
  const stat = (await signed({ path: `${buckets}/plain/objects/stat?key=c` })).json
  t.same([stat.size, stat.encryption.type, stat.checksum, stat.checksumAlgorithm], [6, 'SSE-C', undefined, undefined])
  const refused = [400, 'invalid_argument', true]
  const codes = async (call: Parameters<typeof signed>[0]) => {
    const { status, json } = await signed(call)
    return [status, json?.code, /SSE-C/.test(json?.detail)]
  }
  const path = `${buckets}/plain/objects/download?key=c`
  const conditions: Record<string, string>[] = [
    {},
    { 'if-none-match': ETag! },
    { 'if-match': '"x"' },
    { range: 'bytes=99-' },
  ]
  for (const headers of conditions) {
    t.same(await codes({ path, headers }), refused, JSON.stringify(headers))
  }
  const copy = (more: object) =>
    codes({
      method: 'POST',
      path: `${buckets}/plain/objects/copy`,
      body: { source: { bucket: 'plain', key: 'c' }, ...more },
    })
  t.same(await copy({ key: 'd' }), refused)
  t.same(await copy({ key: 'd', move: true }), refused)
  t.same(await copy({ key: 'c', metadata: { contentType: 'text/plain' } }), refused)
  const metadata = { method: 'PUT', path: `${buckets}/plain/objects/metadata?key=c`, body: {} }
  t.same(await codes(metadata), refused)
  const share = { method: 'POST', path: `${buckets}/plain/objects/share`, body: { key: 'c' } }
  t.same(await codes(share), refused, 'nobody could open the link')
  const head = await s3.send(new HeadObjectCommand({ ...object, ...ofCustomer, ChecksumMode: 'ENABLED' }))
  t.match(head, { ETag, ChecksumCRC32: String }, 'it is as it was, and who has the key sees the checksum')

  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ ...object, ChecksumAlgorithm, ...ofCustomer }))
  const part = { ...object, UploadId, PartNumber: 1, Body: 'secret', ChecksumAlgorithm, ...ofCustomer } as const
  await s3.send(new UploadPartCommand(part))
  const { parts } = (await signed({ path: `${buckets}/plain/uploads/${UploadId}?key=c` })).json
  t.same([parts.length, parts[0].size, parts[0].checksum], [1, 6, undefined])
})

t.test('without key management', async t => {
  const without = await startAdmin({ config: { encryption } })
  t.teardown(() => without.stop())
  await without.signed({ method: 'POST', path: buckets, body: { name: 'vault' } })
  const put = await without.signed({ method: 'PUT', path, body: { algorithm: 'AES256' } })
  t.same([put.status, put.json.code], [501, 'not_implemented'])
  const object = { Bucket: 'vault', Key: 'c' }
  await without.s3.send(new PutObjectCommand({ ...object, Body: 'x', ...ofCustomer }))
  const copied = await without.s3.send(
    new CopyObjectCommand({
      Bucket: 'vault',
      Key: 'copy',
      CopySource: 'vault/c',
      CopySourceSSECustomerAlgorithm: 'AES256',
      CopySourceSSECustomerKey: ofCustomer.SSECustomerKey,
    }),
  )
  t.equal(copied.ServerSideEncryption, undefined, 'there is nothing that a copy could be encrypted with')
  const reseal = await without.signed({ method: 'POST', path: '/api/v1/kms/reseal' })
  t.same([reseal.status, reseal.json.code], [501, 'not_implemented'])
})
