/** Events of every operation, from the real server through the real SDK to a real receiver. */
import { hostname } from 'node:os'
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  DeleteObjectTaggingCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectRetentionCommand,
  PutObjectTaggingCommand,
  RenameObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { createPresignedPost } from '@aws-sdk/s3-presigned-post'
import { createSystemPorts, until } from 'svc/testing'
import t from 'tap'
import { arn, startNotify, subscribe, type Told } from './start.ts'

const server = await startNotify(t, {
  config: { kms: { secretKey: `test:${Buffer.alloc(32, 7).toString('base64')}` } },
})
const { s3, receiver } = server
const created = 's3:ObjectCreated:*'
const removed = 's3:ObjectRemoved:*'
const briefly = ({ EventName, Records }: Told) => [
  EventName,
  decodeURIComponent(Records[0].s3.object.key.replaceAll('+', ' ')),
]
const put = (Bucket: string, Key: string, more: object = {}) =>
  s3.send(new PutObjectCommand({ Bucket, Key, Body: 'abc', ...more }))

t.test('a message has the fields of AWS and of another server', async t => {
  await server.bucketWith('fields', [created])
  const key = 'a b/ж+&"日本.txt'
  const sent = await put('fields', key, {
    ContentType: 'text/x-test',
    Metadata: { color: 'red', 'two-words': '2' },
    ServerSideEncryption: undefined,
  })
  const [message] = await server.told('fields', 1)
  t.equal(message!.EventName, 's3:ObjectCreated:Put')
  t.equal(message!.Key, `fields/${key}`)
  t.equal(message!.Records.length, 1)
  const [record] = message!.Records
  const { eventTime, responseElements, s3: what, source, ...rest } = record
  t.strictSame(rest, {
    eventVersion: '2.1',
    eventSource: 'aws:s3',
    awsRegion: 'us-east-1',
    eventName: 'ObjectCreated:Put',
    userIdentity: { principalId: 'admin' },
    requestParameters: { sourceIPAddress: '127.0.0.1' },
  })
  t.match(eventTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.ok(Math.abs(Date.parse(eventTime) - Date.now()) < 30_000)
  t.strictSame(Object.keys(responseElements), ['x-amz-request-id', 'x-amz-id-2', 'x-svc-deployment-id'])
  t.equal(responseElements['x-amz-request-id'], sent.$metadata.requestId)
  t.equal(responseElements['x-amz-id-2'], hostname())
  t.match(responseElements['x-svc-deployment-id'], /^[0-9a-f-]{36}$/)
  const { object, ...others } = what
  t.strictSame(others, {
    s3SchemaVersion: '1.0',
    configurationId: 'rule-1',
    bucket: { name: 'fields', ownerIdentity: { principalId: 'admin' }, arn: 'arn:aws:s3:::fields' },
  })
  const { sequencer, ...facts } = object
  t.match(sequencer, /^[0-9A-F]{18}$/)
  t.strictSame(facts, {
    key: encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/'),
    size: 3,
    eTag: sent.ETag!.replaceAll('"', ''),
    contentType: 'text/x-test',
    userMetadata: { 'X-Amz-Meta-Color': 'red', 'X-Amz-Meta-Two-Words': '2' },
  })
  t.equal(source.host, '127.0.0.1')
  t.match(source.userAgent, /aws-sdk-js/)
})

t.test('every way to create and remove an object has its event', async t => {
  await server.bucketWith('ways', [created, removed, 's3:ObjectTagging:*'])
  await put('ways', 'put')
  const post = await createPresignedPost(s3, { Bucket: 'ways', Key: 'form' })
  const form = new FormData()
  for (const [name, value] of Object.entries(post.fields)) form.append(name, value)
  form.append('file', new Blob(['form']))
  t.equal((await fetch(post.url, { method: 'POST', body: form })).status, 204)
  await s3.send(new CopyObjectCommand({ Bucket: 'ways', Key: 'copy', CopySource: 'ways/put' }))
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket: 'ways', Key: 'parts' }))
  const given = { Bucket: 'ways', Key: 'parts', UploadId }
  const { ETag } = await s3.send(new UploadPartCommand({ ...given, PartNumber: 1, Body: 'part' }))
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
  await s3.send(new CompleteMultipartUploadCommand({ ...given, MultipartUpload }))
  const Tagging = { TagSet: [{ Key: 'a', Value: 'b' }] }
  await s3.send(new PutObjectTaggingCommand({ Bucket: 'ways', Key: 'put', Tagging }))
  await s3.send(new DeleteObjectTaggingCommand({ Bucket: 'ways', Key: 'put' }))
  await s3.send(new DeleteObjectCommand({ Bucket: 'ways', Key: 'put' }))
  await s3.send(new DeleteObjectCommand({ Bucket: 'ways', Key: 'never there' }))
  const Objects = [{ Key: 'copy' }, { Key: 'form' }, { Key: 'never' }]
  await s3.send(new DeleteObjectsCommand({ Bucket: 'ways', Delete: { Objects } }))
  await s3.send(new RenameObjectCommand({ Bucket: 'ways', Key: 'renamed', RenameSource: 'parts' }))
  const folder = '/buckets/ways/objects'
  t.equal((await server.call('POST', `${folder}/upload?key=admin`, 'by the Admin API')).status, 201)
  t.equal((await server.call('DELETE', folder, { objects: [{ key: 'admin' }] })).status, 200)
  const events = await server.told('ways', 13)
  // Events of one key arrive in order; events of different keys may overtake each other.
  const ofKey = (key: string) => events.map(briefly).flatMap(([name, told]) => (told === key ? [name] : []))
  t.strictSame(ofKey('put'), [
    's3:ObjectCreated:Put',
    's3:ObjectTagging:Put',
    's3:ObjectTagging:Delete',
    's3:ObjectRemoved:Delete',
  ])
  t.strictSame(ofKey('form'), ['s3:ObjectCreated:Post', 's3:ObjectRemoved:Delete'])
  t.strictSame(ofKey('copy'), ['s3:ObjectCreated:Copy', 's3:ObjectRemoved:Delete'])
  t.strictSame(ofKey('parts'), ['s3:ObjectCreated:CompleteMultipartUpload', 's3:ObjectRemoved:Delete'])
  t.strictSame(ofKey('admin'), ['s3:ObjectCreated:Put', 's3:ObjectRemoved:Delete'])
  t.strictSame(ofKey('renamed'), ['s3:ObjectCreated:Copy'])
  t.equal(events.length, 13)
  const sequencers = events
    .filter(told => briefly(told)[1] === 'put')
    .map(({ Records }) => Records[0].s3.object.sequencer)
  t.strictSame(sequencers, [...sequencers].sort())
  const removal = events.find(told => told.EventName === 's3:ObjectRemoved:Delete')!.Records[0].s3.object
  t.strictSame(Object.keys(removal), ['key', 'sequencer'])
  t.equal(events.find(told => told.EventName === 's3:ObjectTagging:Put')!.Records[0].eventVersion, '2.3')
})

t.test('versions and locks', async t => {
  await s3.send(new CreateBucketCommand({ Bucket: 'versions', ObjectLockEnabledForBucket: true }))
  await subscribe(s3, 'versions', [created, removed, 's3:ObjectRetention:Put', 's3:ObjectLegalHold:Put'])
  const { VersionId } = await put('versions', 'a')
  const place = { Bucket: 'versions', Key: 'a', VersionId }
  await s3.send(new PutObjectLegalHoldCommand({ ...place, LegalHold: { Status: 'ON' } }))
  await s3.send(new PutObjectLegalHoldCommand({ ...place, LegalHold: { Status: 'OFF' } }))
  const RetainUntilDate = new Date(Date.now() + 1000)
  await s3.send(new PutObjectRetentionCommand({ ...place, Retention: { Mode: 'GOVERNANCE', RetainUntilDate } }))
  const marker = await s3.send(new DeleteObjectCommand({ Bucket: 'versions', Key: 'a' }))
  await t.rejects(s3.send(new DeleteObjectCommand(place)), { name: 'AccessDenied' })
  await s3.send(new DeleteObjectCommand({ ...place, BypassGovernanceRetention: true }))
  const events = await server.told('versions', 6)
  t.strictSame(
    events.map(({ EventName, Records }) => [EventName, Records[0].s3.object.versionId]),
    [
      ['s3:ObjectCreated:Put', VersionId],
      ['s3:ObjectLegalHold:Put', VersionId],
      ['s3:ObjectLegalHold:Put', VersionId],
      ['s3:ObjectRetention:Put', VersionId],
      ['s3:ObjectRemoved:DeleteMarkerCreated', marker.VersionId],
      ['s3:ObjectRemoved:Delete', VersionId],
    ],
  )
  await s3.send(new CreateBucketCommand({ Bucket: 'suspended' }))
  await subscribe(s3, 'suspended', [created])
  const VersioningConfiguration = { Status: 'Suspended' as const }
  await s3.send(new PutBucketVersioningCommand({ Bucket: 'suspended', VersioningConfiguration }))
  await put('suspended', 'a')
  t.equal((await server.told('suspended', 1))[0]!.Records[0].s3.object.versionId, 'null')
})

t.test('rules select by event, prefix and suffix, and apply as soon as they are acknowledged', async t => {
  await server.bucketWith('chosen', ['s3:ObjectCreated:Put'], { prefix: 'in/', suffix: '.jpg' })
  for (const key of ['in/a.jpg', 'in/a.png', 'out/a.jpg', 'in/ж.jpg']) await put('chosen', key)
  await s3.send(new CopyObjectCommand({ Bucket: 'chosen', Key: 'in/copy.jpg', CopySource: 'chosen/in/a.jpg' }))
  await s3.send(new DeleteObjectCommand({ Bucket: 'chosen', Key: 'in/a.jpg' }))
  await subscribe(s3, 'chosen', [removed])
  await s3.send(new DeleteObjectCommand({ Bucket: 'chosen', Key: 'in/ж.jpg' }))
  const events = await server.told('chosen', 3)
  t.strictSame(events.map(briefly).sort(), [
    ['s3:ObjectCreated:Put', 'in/a.jpg'],
    ['s3:ObjectCreated:Put', 'in/ж.jpg'],
    ['s3:ObjectRemoved:Delete', 'in/ж.jpg'],
  ])
})

t.test('a prefix and a suffix in decomposed Unicode select the same keys', async t => {
  const [composed, decomposed] = ['NFC', 'NFD'].map(form => 'ü'.normalize(form))
  await server.bucketWith('names', [created], { prefix: `${decomposed}/`, suffix: `${decomposed}.jpg` })
  for (const key of [`${composed}/${composed}.jpg`, `${composed}/u.jpg`]) await put('names', key)
  await put('names', `${decomposed}/a${decomposed}.jpg`)
  const events = await server.told('names', 2)
  t.strictSame(events.map(told => briefly(told)[1]).sort(), [
    `${composed}/a${composed}.jpg`,
    `${composed}/${composed}.jpg`,
  ])
})

t.test('only successful reads make events', async t => {
  await server.bucketWith('read', ['s3:ObjectAccessed:*'])
  await put('read', 'a')
  await s3.send(new GetObjectCommand({ Bucket: 'read', Key: 'a' }))
  await s3.send(new HeadObjectCommand({ Bucket: 'read', Key: 'a' }))
  await t.rejects(s3.send(new GetObjectCommand({ Bucket: 'read', Key: 'missing' })), { name: 'NoSuchKey' })
  const { ETag } = await s3.send(new HeadObjectCommand({ Bucket: 'read', Key: 'a' }))
  await t.rejects(s3.send(new GetObjectCommand({ Bucket: 'read', Key: 'a', IfNoneMatch: ETag })))
  const events = await server.told('read', 3)
  t.strictSame(events.map(briefly), [
    ['s3:ObjectAccessed:Get', 'a'],
    ['s3:ObjectAccessed:Head', 'a'],
    ['s3:ObjectAccessed:Head', 'a'],
  ])
  const sequencers = events.map(({ Records }) => Records[0].s3.object.sequencer)
  t.strictSame(sequencers, [...new Set(sequencers)].sort())
})

t.test('no message describes the encryption of an object', async t => {
  await server.bucketWith('sealed', [created])
  const written = await put('sealed', 'a', {
    Metadata: { plain: 'x' },
    ServerSideEncryption: 'aws:kms',
    SSEKMSKeyId: 'test',
  })
  t.equal(written.ServerSideEncryption, 'aws:kms')
  const [message] = await server.told('sealed', 1)
  t.strictSame(message!.Records[0].s3.object.userMetadata, { 'X-Amz-Meta-Plain': 'x' })
  t.strictSame(Object.keys(message!.Records[0].s3.object), [
    'key',
    'size',
    'eTag',
    'sequencer',
    'contentType',
    'userMetadata',
  ])
  t.notMatch(JSON.stringify(message), /kms|server-side|encrypt/i)
})

t.test('removals by lifecycle rules have their own events', async t => {
  const { clock } = createSystemPorts()
  let behindMs = 3 * 86_400_000
  const now = () => clock.now() - behindMs
  const ports = { clock: { ...clock, now } }
  const past = await startNotify(t, { ports })
  // The SDK signs with the real time; signed requests of the Admin API use the server's clock.
  const ok = async (answer: ReturnType<typeof past.call>) => t.match((await answer).status, /^20[01]$/)
  await ok(past.call('POST', '/buckets', { name: 'expiring' }))
  const events = ['s3:LifecycleExpiration:*', removed]
  await ok(past.call('PUT', '/buckets/expiring/events', { subscriptions: [{ arn, events }] }))
  await ok(past.call('POST', '/buckets/expiring/objects/upload?key=old', 'abc'))
  const rules = [{ enabled: true, expiration: { days: 1 } }]
  await ok(past.call('PUT', '/buckets/expiring/lifecycle', { rules }))
  behindMs = 0
  // Refused while the server runs the lifecycle by itself.
  await past.call('POST', '/buckets/expiring/lifecycle/run')
  const [message] = await past.told('expiring', 1)
  t.match(message, {
    EventName: 's3:LifecycleExpiration:Delete',
    Key: 'expiring/old',
    Records: [{ eventVersion: '2.3', userIdentity: { principalId: 's3.lifecycle' }, s3: { object: { key: 'old' } } }],
  })
})

t.test('a configuration may only name configured targets that take a test event', async t => {
  const test = () => receiver.bodies.map(body => JSON.parse(body)).filter(({ Event }) => Event === 's3:TestEvent')
  t.match(test()[0], { Service: 'svc', Event: 's3:TestEvent', Bucket: 'fields', HostId: hostname() })
  await s3.send(new CreateBucketCommand({ Bucket: 'unsure' }))
  const events = (subscriptions: readonly object[]) => server.call('PUT', '/buckets/unsure/events', { subscriptions })
  const unknown = 'arn:svc:sqs:us-east-1:other:http'
  const refused = await events([{ arn: unknown, events: [created] }])
  t.match(refused.json, { code: 'invalid_configuration', ruleErrors: [{ code: 'InvalidArgument' }] })
  receiver.mode = 'fail'
  const unreachable = await events([{ arn, events: [created] }])
  t.match(unreachable.json, { code: 'invalid_configuration' })
  t.notMatch(unreachable.text, /s3cret/)
  receiver.mode = 'fine'
  t.equal((await events([{ arn, events: [created] }])).status, 200)
  const removal = await server.call('DELETE', '/config/notify_http')
  t.match(removal.json, { status: 409, code: 'conflict' })
  t.match(
    removal.json.detail,
    /^The target http:_ cannot be removed, because rules of buckets name it: .*and others\.$/,
  )
})

t.test('targets are listed and tested', async t => {
  const { json } = await server.call('GET', '/notify/targets')
  t.match(json.items, [
    {
      id: 'http:_',
      type: 'http',
      arn,
      enabled: true,
      online: true,
      endpoint: receiver.endpoint,
      lastError: '',
      queueLimit: 100_000,
    },
  ])
  t.equal(json.items.length, 1)
  await until(async () => (await server.call('GET', '/notify/targets')).json.items[0].pendingEvents === 0)
  const before = receiver.bodies.length
  const test = await server.call('POST', '/notify/targets/http:_/test')
  t.match(test.json, { target: 'http:_', delivered: true, error: '', warning: '' })
  t.match(JSON.parse(receiver.bodies[before]!), { Service: 'svc', Event: 's3:TestEvent', Bucket: '' })
  receiver.mode = 'drop'
  t.match((await server.call('POST', '/notify/targets/http:_/test')).json, {
    delivered: true,
    error: '',
    warning: 'The endpoint keeps nothing.',
  })
  receiver.mode = 'fine'
  t.match((await server.call('POST', '/notify/targets/http:other/test')).json, { code: 'notify_target_not_found' })
  t.equal((await server.configure({ endpoint: 'nonsense', enable: 'off' }, 'notify_http:draft')).status, 200)
  t.equal((await server.configure({ enable: 'on' }, 'notify_http:draft')).status, 400)
  t.equal((await server.configure({ queue_dir: '../up' }, 'notify_http:draft')).status, 400)
  const draft = await server.call('POST', '/notify/targets/http:draft/test')
  t.match(draft.json, { delivered: false, error: 'The setting endpoint must be an absolute URL.' })
  t.equal((await server.call('DELETE', '/config/notify_http:draft')).status, 204)
  t.equal((await server.call('GET', '/notify/targets')).json.items.length, 1)
})
