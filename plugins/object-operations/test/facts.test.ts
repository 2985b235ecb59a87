/** The Admin API decides about an object with the facts that S3 decides with: its version, its tags, its encryption. */
import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  PutObjectRetentionCommand,
} from '@aws-sdk/client-s3'
import { type AdminCaller, startAdmin } from 'svc/plugins/admin/testing'
import { outcome as outcomeOfS3 } from 'svc/plugins/s3/testing'
import t from 'tap'

const server = await startAdmin({ config: { kms: { secretKey: `first:${Buffer.alloc(32, 1).toString('base64')}` } } })
t.teardown(() => server.stop())
const { s3: client, signed, kernel } = server
const { users, kms } = kernel.services
const secretKey = 'a-secret-of-a-user'
const Bucket = 'facts'
const base = `/api/v1/buckets/${Bucket}`
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`

let count = 0
/** A user who may do everything of S3 but this. */
async function userWithout(Action: string, Condition: object): Promise<AdminCaller> {
  const name = `user-${++count}`
  const Statement = [
    { Effect: 'Allow', Action: 's3:*', Resource: '*' },
    { Effect: 'Deny', Action, Resource: '*', Condition },
  ]
  await users.putPolicy(name, { Version: '2012-10-17', Statement })
  await users.createUser({ accessKey: name, secretKey, policyNames: [name] })
  return server.signedBy(name, secretKey)
}
const secretTag = { StringEquals: { 's3:RequestObjectTag/class': 'secret' } }

await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: Bucket, objectLock: true } })

t.test('the bypass of a retention is decided for the version that is deleted', async t => {
  const put = async () => (await client.send(new PutObjectCommand({ Bucket, Key: 'locked', Body: 'x' }))).VersionId!
  const [kept, free] = [await put(), await put()]
  const Retention = { Mode: 'GOVERNANCE', RetainUntilDate: new Date(Date.now() + 86_400_000) } as const
  for (const VersionId of [kept, free]) {
    await client.send(new PutObjectRetentionCommand({ Bucket, Key: 'locked', VersionId, Retention }))
  }
  const call = await userWithout('s3:BypassGovernanceRetention', { StringEquals: { 's3:versionid': kept } })
  const objects = [kept, free].map(versionId => ({ key: 'locked', versionId }))
  const body = { objects, bypassGovernance: true }
  const { json } = await call({ method: 'DELETE', path: `${base}/objects`, body })
  t.match(json.errors, [{ versionId: kept, code: 'object_locked' }])
  t.match(json.deleted, [{ versionId: free }])
  const folder = { prefixes: ['locked'], allVersions: true, bypassGovernance: true }
  await call({ method: 'DELETE', path: `${base}/objects`, body: folder })
  const remaining = await signed({ path: `${base}/objects/versions?key=locked` })
  t.same(
    remaining.json.items.map(({ versionId }: { versionId: string }) => versionId),
    [kept],
  )
})

t.test('tags that a copy carries, or that stay, are tags of the request', async t => {
  await client.send(new PutObjectCommand({ Bucket, Key: 'tagged', Body: 'x', Tagging: 'class=secret' }))
  await client.send(new PutObjectCommand({ Bucket, Key: 'other', Body: 'x', Tagging: 'class=open' }))
  const call = await userWithout('s3:PutObject', secretTag)
  const copy = (key: string, more: object = {}) =>
    call({
      method: 'POST',
      path: `${base}/objects/copy`,
      body: { source: { bucket: Bucket, key }, key: `copy of ${key}`, ...more },
    })
  t.equal(outcome(await copy('tagged')), '403 access_denied')
  t.equal(outcome(await copy('tagged', { tags: {} })), '200')
  t.equal(outcome(await copy('other')), '200')
  const describe = (key: string) =>
    call({ method: 'PUT', path: `${base}/objects/metadata?key=${key}`, body: { contentType: 'text/plain' } })
  t.equal(outcome(await describe('tagged')), '403 access_denied')
  t.equal(outcome(await describe('other')), '200')
})

t.test('parts and completions are decided with the tags and the encryption of their upload', async t => {
  const begin = async (more: object) =>
    (await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'film', ...more }))).UploadId!
  const part = (call: AdminCaller, id: string, headers: Record<string, string> = {}) =>
    call({ method: 'PUT', path: `${base}/uploads/${id}/parts/1?key=film`, body: Buffer.from('x'), headers })
  const complete = (call: AdminCaller, id: string, headers: Record<string, string> = {}) =>
    call({ method: 'POST', path: `${base}/uploads/${id}/complete?key=film`, body: {}, headers })

  const untagged = await userWithout('s3:PutObject', secretTag)
  const secret = await begin({ Tagging: 'class=secret' })
  t.equal(outcome(await part(untagged, secret)), '403 access_denied')
  t.equal(outcome(await part(signed, secret)), '200')
  t.equal(outcome(await complete(untagged, secret)), '403 access_denied')
  t.equal(outcome(await complete(untagged, 'no-such-upload')), '404 upload_not_found')

  const encrypting = await userWithout('s3:PutObject', {
    StringNotEquals: { 's3:x-amz-server-side-encryption': 'AES256' },
  })
  const encrypted = await begin({ ServerSideEncryption: 'AES256' })
  t.equal(outcome(await part(encrypting, encrypted)), '200', 'the upload is encrypted')
  const plain = await begin({})
  const header = { 'x-amz-server-side-encryption': 'AES256' }
  t.equal(outcome(await part(encrypting, plain, header)), '403 access_denied', 'a header has no effect')
  t.equal(outcome(await complete(encrypting, plain, header)), '403 access_denied')
  t.equal(outcome(await complete(encrypting, encrypted)), '200')
})

t.test('a write that names no key of the key management is decided with the default key', async t => {
  const call = await userWithout('s3:PutObject', {
    StringEquals: { 's3:x-amz-server-side-encryption-aws-kms-key-id': kms.defaultKeyId },
  })
  const headers = { 'x-amz-server-side-encryption': 'aws:kms' }
  const upload = (by: AdminCaller) =>
    by({ method: 'POST', path: `${base}/objects/upload?key=a`, body: Buffer.from('x'), headers })
  t.equal(outcome(await upload(call)), '403 access_denied')
  t.equal(outcome(await upload(signed)), '201')
  const begin = (by: AdminCaller) =>
    by({ method: 'POST', path: `${base}/uploads`, body: { key: 'a', encryption: { algorithm: 'aws:kms' } } })
  t.equal(outcome(await begin(call)), '403 access_denied')
  t.equal(outcome(await begin(signed)), '201')
})

t.test('headers about retention mean nothing where a legal hold is set', async t => {
  await client.send(new PutObjectCommand({ Bucket, Key: 'held', Body: 'x' }))
  const call = await userWithout('s3:PutObjectLegalHold', {
    StringNotEquals: { 's3:object-lock-mode': 'COMPLIANCE' },
  })
  const hold = (headers: Record<string, string>) =>
    call({ method: 'PUT', path: `${base}/objects/legal-hold?key=held`, body: { enabled: false }, headers })
  t.equal(outcome(await hold({})), '403 access_denied')
  t.equal(outcome(await hold({ 'x-amz-object-lock-mode': 'COMPLIANCE' })), '403 access_denied')
  t.equal(await outcomeOfS3(client.send(new DeleteObjectCommand({ Bucket, Key: 'held' }))), 'ok')
})
