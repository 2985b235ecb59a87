import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketVersioningCommand,
  GetObjectLegalHoldCommand,
  GetObjectLockConfigurationCommand,
  GetObjectRetentionCommand,
  HeadObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectLockConfigurationCommand,
  PutObjectRetentionCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { ObjectVersion } from 'svc/plugins/objects/api'
import type { S3Request } from 'svc/plugins/s3/api'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import { createSystemPorts } from 'svc/testing'
import t from 'tap'
import { mayBypassGovernance } from '../governance.ts'
import { lockHeaders } from '../lock-headers.ts'

const minuteMs = 60_000
const dayMs = 86_400_000
const { clock } = createSystemPorts()
/** Signatures allow a clock to be off by a quarter of an hour, so that much of a retention can pass in a test. */
let aheadMs = 0
const now = () => clock.now() + aheadMs
const server = await startServer({
  ports: { clock: { now, monotonicNs: () => clock.monotonicNs(), after: (ms, call) => clock.after(ms, call) } },
})
t.teardown(() => server.stop())
const { client, forger, anonymous } = server

let bucketCount = 0
async function newBucket(): Promise<string> {
  const Bucket = `locked-${++bucketCount}`
  await client.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }))
  return Bucket
}

const put = (Bucket: string, Key: string, extra = {}) =>
  client.send(new PutObjectCommand({ Bucket, Key, Body: 'x', ...extra }))
const remove = (Bucket: string, Key: string, VersionId?: string, BypassGovernanceRetention?: boolean) =>
  outcome(client.send(new DeleteObjectCommand({ Bucket, Key, VersionId, BypassGovernanceRetention })))
const retain = (
  Bucket: string,
  Key: string,
  Mode: 'GOVERNANCE' | 'COMPLIANCE' | undefined,
  inMs: number,
  BypassGovernanceRetention?: boolean,
) =>
  outcome(
    client.send(
      new PutObjectRetentionCommand({
        Bucket,
        Key,
        BypassGovernanceRetention,
        Retention: Mode === undefined ? {} : { Mode, RetainUntilDate: new Date(now() + inMs) },
      }),
    ),
  )
const hold = (Bucket: string, Key: string, Status: 'ON' | 'OFF') =>
  outcome(client.send(new PutObjectLegalHoldCommand({ Bucket, Key, LegalHold: { Status } })))
const configure = (Bucket: string, ObjectLockConfiguration: object) =>
  outcome(client.send(new PutObjectLockConfigurationCommand({ Bucket, ObjectLockConfiguration })))

t.test('every operation refuses anonymous requests and wrong secrets', async t => {
  const Bucket = await newBucket()
  for (const target of ['?object-lock', '/k?retention', '/k?legal-hold']) {
    for (const method of ['GET', 'PUT']) t.equal((await anonymous(method, `/${Bucket}${target}`)).status, 403, target)
  }
  const refused = await outcome(forger.send(new GetObjectLockConfigurationCommand({ Bucket })))
  t.equal(refused, '403 SignatureDoesNotMatch')
})

t.test('a bucket gets object lock at its creation, or later with versioning, and keeps it', async t => {
  const read = async (Bucket: string) =>
    (await client.send(new GetObjectLockConfigurationCommand({ Bucket }))).ObjectLockConfiguration
  const version = (Bucket: string, Status: 'Enabled' | 'Suspended') =>
    outcome(client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status } })))
  const born = await newBucket()
  t.same(await read(born), { ObjectLockEnabled: 'Enabled' })
  t.equal((await client.send(new GetBucketVersioningCommand({ Bucket: born }))).Status, 'Enabled')
  t.equal(await version(born, 'Suspended'), '409 InvalidBucketState')
  const Rule = { DefaultRetention: { Mode: 'GOVERNANCE', Days: 7 } }
  t.equal(await configure(born, { ObjectLockEnabled: 'Enabled', Rule }), 'ok')
  t.match(await read(born), { Rule })
  const years = { DefaultRetention: { Mode: 'COMPLIANCE', Years: 2 } }
  t.equal(await configure(born, { ObjectLockEnabled: 'Enabled', Rule: years }), 'ok')
  t.match(await read(born), { Rule: years })

  const Bucket = 'locked-later'
  await client.send(new CreateBucketCommand({ Bucket }))
  t.equal(await outcome(read(Bucket)), '404 ObjectLockConfigurationNotFoundError')
  t.equal(await configure(Bucket, { ObjectLockEnabled: 'Enabled' }), '409 InvalidBucketState')
  t.equal(await version(Bucket, 'Enabled'), 'ok')
  t.equal(await configure(Bucket, { ObjectLockEnabled: 'Enabled' }), 'ok')
  t.equal(await version(Bucket, 'Suspended'), '409 InvalidBucketState')

  for (const [DefaultRetention, expected] of [
    [{ Mode: 'GOVERNANCE', Days: 1, Years: 1 }, '400 MalformedXML'],
    [{ Mode: 'GOVERNANCE' }, '400 MalformedXML'],
    [{ Mode: 'governance', Days: 1 }, '400 MalformedXML'],
    [{ Days: 1 }, '400 MalformedXML'],
    [{ Mode: 'GOVERNANCE', Days: 0 }, '400 InvalidRetentionPeriod'],
    [{ Mode: 'GOVERNANCE', Years: -1 }, '400 InvalidRetentionPeriod'],
    [{ Mode: 'GOVERNANCE', Days: 36_501 }, '400 InvalidRetentionPeriod'],
  ] as const) {
    const answer = await configure(born, { ObjectLockEnabled: 'Enabled', Rule: { DefaultRetention } })
    t.equal(answer, expected, JSON.stringify(DefaultRetention))
  }
  t.equal(await configure(born, { Rule }), '400 MalformedXML')
  t.equal(await configure(born, { ObjectLockEnabled: 'Disabled' }), '400 MalformedXML')
  t.match(await read(born), { Rule: years }, 'what was refused changed nothing')
})

t.test('a version under retention can be deleted only after its time', async t => {
  const Bucket = await newBucket()
  for (const Mode of ['GOVERNANCE', 'COMPLIANCE'] as const) {
    const { VersionId } = await put(Bucket, Mode)
    t.equal(await retain(Bucket, Mode, Mode, 5 * minuteMs), 'ok')
    const { Retention } = await client.send(new GetObjectRetentionCommand({ Bucket, Key: Mode, VersionId }))
    t.equal(Retention!.Mode, Mode)
    t.ok(Math.abs(Retention!.RetainUntilDate!.getTime() - now() - 5 * minuteMs) < minuteMs)
    t.equal(await remove(Bucket, Mode, VersionId), '403 AccessDenied')
    t.equal(await remove(Bucket, Mode), 'ok', 'a delete marker takes nothing away')
    t.equal(await remove(Bucket, Mode, VersionId), '403 AccessDenied', 'neither does it help')
    if (Mode === 'COMPLIANCE') t.equal(await remove(Bucket, Mode, VersionId, true), '403 AccessDenied')
    t.equal(await outcome(client.send(new DeleteBucketCommand({ Bucket }))), '409 BucketNotEmpty')
    const Objects = [{ Key: Mode, VersionId }, { Key: 'other' }]
    const many = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
    t.match(many.Errors, [{ Key: Mode, VersionId, Code: 'AccessDenied' }])
    t.match(many.Deleted, [{ Key: 'other' }])
  }
  const { VersionId } = await put(Bucket, 'bypass', {
    ObjectLockMode: 'GOVERNANCE',
    ObjectLockRetainUntilDate: new Date(now() + dayMs),
  })
  t.equal(await remove(Bucket, 'bypass', VersionId, true), 'ok')
  const short = await put(Bucket, 'short', {
    ObjectLockMode: 'COMPLIANCE',
    ObjectLockRetainUntilDate: new Date(now() + 3 * minuteMs),
  })
  t.equal(await remove(Bucket, 'short', short.VersionId), '403 AccessDenied')
  aheadMs += 4 * minuteMs
  t.equal(await remove(Bucket, 'short', short.VersionId), 'ok')
})

t.test(
  'retention can be extended with its action, and weakened only in GOVERNANCE mode with the bypass action',
  async t => {
    const Bucket = await newBucket()
    await put(Bucket, 'g')
    t.equal(
      await outcome(client.send(new GetObjectRetentionCommand({ Bucket, Key: 'g' }))),
      '404 NoSuchObjectLockConfiguration',
    )
    t.equal(await retain(Bucket, 'g', 'GOVERNANCE', -minuteMs), '400 InvalidArgument')
    t.equal(await retain(Bucket, 'g', 'GOVERNANCE', 2 * dayMs), 'ok')
    t.equal(await retain(Bucket, 'g', 'GOVERNANCE', 3 * dayMs), 'ok')
    t.equal(await retain(Bucket, 'g', 'GOVERNANCE', dayMs), '403 AccessDenied')
    t.equal(await retain(Bucket, 'g', 'COMPLIANCE', 4 * dayMs), '403 AccessDenied')
    t.equal(await retain(Bucket, 'g', undefined, 0), '403 AccessDenied')
    t.equal(await retain(Bucket, 'g', 'GOVERNANCE', dayMs, true), 'ok')
    t.equal(await retain(Bucket, 'g', undefined, 0, true), 'ok')
    t.equal(
      await outcome(client.send(new GetObjectRetentionCommand({ Bucket, Key: 'g' }))),
      '404 NoSuchObjectLockConfiguration',
    )
    await put(Bucket, 'c')
    t.equal(await retain(Bucket, 'c', 'COMPLIANCE', 2 * dayMs), 'ok')
    t.equal(await retain(Bucket, 'c', 'COMPLIANCE', 3 * dayMs), 'ok')
    for (const bypass of [false, true]) {
      t.equal(await retain(Bucket, 'c', 'COMPLIANCE', dayMs, bypass), '403 AccessDenied')
      t.equal(await retain(Bucket, 'c', 'GOVERNANCE', 4 * dayMs, bypass), '403 AccessDenied')
      t.equal(await retain(Bucket, 'c', undefined, 0, bypass), '403 AccessDenied')
    }
    t.equal(await retain(Bucket, 'nothing', 'GOVERNANCE', dayMs), '404 NoSuchKey')
    t.equal(await retain(Bucket, 'c', 'governance' as 'GOVERNANCE', dayMs), '400 MalformedXML')
  },
)

t.test('a legal hold keeps a version until it is removed, regardless of retention', async t => {
  const Bucket = await newBucket()
  const { VersionId } = await put(Bucket, 'k')
  const status = async () => (await client.send(new GetObjectLegalHoldCommand({ Bucket, Key: 'k' }))).LegalHold?.Status
  const never = client.send(new GetObjectLegalHoldCommand({ Bucket, Key: 'k' }))
  t.equal(await outcome(never), '404 NoSuchObjectLockConfiguration', 'nothing was ever said of it')
  t.equal(await hold(Bucket, 'k', 'ON'), 'ok')
  t.equal(await status(), 'ON')
  t.equal(await remove(Bucket, 'k', VersionId, true), '403 AccessDenied')
  t.equal(await hold(Bucket, 'k', 'on' as 'ON'), '400 MalformedXML')
  t.equal(await retain(Bucket, 'k', 'GOVERNANCE', dayMs), 'ok')
  t.equal(await status(), 'ON', 'retention and hold are apart')
  t.equal(await hold(Bucket, 'k', 'OFF'), 'ok')
  t.equal(await status(), 'OFF')
  t.equal(await remove(Bucket, 'k', VersionId), '403 AccessDenied')
  t.equal(await remove(Bucket, 'k', VersionId, true), 'ok')
})

t.test('a lock is set by a write, a copy, an upload or the default', async t => {
  const Bucket = await newBucket()
  const until = new Date(now() + 3 * dayMs)
  const asked = {
    ObjectLockMode: 'GOVERNANCE',
    ObjectLockRetainUntilDate: until,
    ObjectLockLegalHoldStatus: 'ON',
  } as const
  const head = (Key: string) => client.send(new HeadObjectCommand({ Bucket, Key }))
  const shown = { ...asked, ObjectLockRetainUntilDate: new Date(Math.floor(until.getTime() / 1000) * 1000) }
  const matches = (answer: Awaited<ReturnType<typeof head>>) =>
    Math.abs(answer.ObjectLockRetainUntilDate!.getTime() - shown.ObjectLockRetainUntilDate.getTime()) <= 1000 &&
    answer.ObjectLockMode === 'GOVERNANCE' &&
    answer.ObjectLockLegalHoldStatus === 'ON'
  await put(Bucket, 'put', asked)
  t.ok(matches(await head('put')))
  await client.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `${Bucket}/put` }))
  t.equal((await head('copy')).ObjectLockMode, undefined, 'a copy has not the lock of its source')
  await client.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `${Bucket}/put`, ...asked }))
  t.ok(matches(await head('copy')))
  const upload = async (Key: string, extra = {}) => {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...extra }))
    const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'x' }))
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    return client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }))
  }
  await upload('upload', asked)
  t.ok(matches(await head('upload')))

  const Rule = { DefaultRetention: { Mode: 'COMPLIANCE', Days: 10 } }
  await configure(Bucket, { ObjectLockEnabled: 'Enabled', Rule })
  await put(Bucket, 'default')
  await upload('default-upload')
  await client.send(new CopyObjectCommand({ Bucket, Key: 'default-copy', CopySource: `${Bucket}/put` }))
  for (const Key of ['default', 'default-upload', 'default-copy']) {
    const { ObjectLockMode, ObjectLockRetainUntilDate, ObjectLockLegalHoldStatus } = await head(Key)
    t.same([ObjectLockMode, ObjectLockLegalHoldStatus], ['COMPLIANCE', undefined], Key)
    const never = client.send(new GetObjectLegalHoldCommand({ Bucket, Key }))
    t.equal(await outcome(never), '404 NoSuchObjectLockConfiguration', Key)
    t.ok(Math.abs(ObjectLockRetainUntilDate!.getTime() - now() - 10 * dayMs) < minuteMs)
  }
  await put(Bucket, 'held', { ObjectLockLegalHoldStatus: 'ON' })
  t.match(await head('held'), { ObjectLockMode: 'COMPLIANCE', ObjectLockLegalHoldStatus: 'ON' })
  await put(Bucket, 'put', asked)
  t.ok(matches(await head('put')), 'what is asked for wins over the default')
})

t.test('an invalid lock is refused, and so is any lock in a bucket without object lock', async t => {
  const Bucket = await newBucket()
  const until = new Date(now() + dayMs)
  for (const extra of [
    { ObjectLockMode: 'GOVERNANCE' },
    { ObjectLockRetainUntilDate: until },
    { ObjectLockMode: 'governance', ObjectLockRetainUntilDate: until },
    { ObjectLockMode: 'GOVERNANCE', ObjectLockRetainUntilDate: new Date(now() - minuteMs) },
    { ObjectLockLegalHoldStatus: 'MAYBE' },
  ]) {
    t.equal(await outcome(put(Bucket, 'k', extra)), '400 InvalidArgument', JSON.stringify(extra))
  }
  const odd = server.with({ 'x-amz-object-lock-mode': 'GOVERNANCE', 'x-amz-object-lock-retain-until-date': 'tomorrow' })
  t.equal(await outcome(odd.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x' }))), '400 InvalidArgument')
  t.equal(await outcome(client.send(new HeadObjectCommand({ Bucket, Key: 'k' }))), '404 NotFound', 'nothing was stored')

  const plain = 'knows-no-locks'
  await client.send(new CreateBucketCommand({ Bucket: plain }))
  await put(plain, 'k')
  const lock = { ObjectLockMode: 'GOVERNANCE', ObjectLockRetainUntilDate: until }
  t.equal(await outcome(put(plain, 'k', lock)), '400 InvalidRequest')
  const begun = client.send(
    new CreateMultipartUploadCommand({ Bucket: plain, Key: 'k', ObjectLockLegalHoldStatus: 'ON' }),
  )
  t.equal(await outcome(begun), '400 InvalidRequest')
  t.equal(await retain(plain, 'k', 'GOVERNANCE', dayMs), '400 InvalidRequest')
  t.equal(await hold(plain, 'k', 'ON'), '400 InvalidRequest')
  for (const command of [GetObjectRetentionCommand, GetObjectLegalHoldCommand]) {
    t.equal(await outcome(client.send(new command({ Bucket: plain, Key: 'k' }) as never)), '400 InvalidRequest')
  }
  const odder = server.with({ 'x-amz-bucket-object-lock-enabled': 'perhaps' })
  t.equal(await outcome(odder.send(new CreateBucketCommand({ Bucket: 'never-born' }))), '400 InvalidArgument')
})

t.test('a delete marker has no lock', async t => {
  const Bucket = await newBucket()
  await put(Bucket, 'k')
  await remove(Bucket, 'k')
  t.equal(await retain(Bucket, 'k', 'GOVERNANCE', dayMs), '405 MethodNotAllowed')
  t.equal(await hold(Bucket, 'k', 'ON'), '405 MethodNotAllowed')
  t.equal(await outcome(client.send(new GetObjectRetentionCommand({ Bucket, Key: 'k' }))), '405 MethodNotAllowed')
})

/** A request of a user who may only do the listed actions. */
function requestOf(headers: S3Request['headers'], allowed: readonly string[]): S3Request {
  const isAllowed = (action: string) => allowed.includes(action)
  return { headers, query: new Map(), bucket: 'bucket', key: 'key', isAllowed } as unknown as S3Request
}

t.test('each operation on locks has its own action', async t => {
  const bypass = { 'x-amz-bypass-governance-retention': 'true' }
  t.equal(mayBypassGovernance(requestOf(bypass, ['s3:BypassGovernanceRetention']), 'key'), true)
  t.equal(mayBypassGovernance(requestOf(bypass, ['s3:DeleteObjectVersion']), 'key'), false)
  t.equal(mayBypassGovernance(requestOf({}, ['s3:BypassGovernanceRetention']), 'key'), false)
  const until = new Date(now() + dayMs).toISOString()
  const retention = { 'x-amz-object-lock-mode': 'COMPLIANCE', 'x-amz-object-lock-retain-until-date': until }
  const onHold = { 'x-amz-object-lock-legal-hold': 'ON' }
  t.throws(() => lockHeaders.read(requestOf(retention, ['s3:PutObject', 's3:PutObjectLegalHold'])), {
    code: 'AccessDenied',
  })
  t.throws(() => lockHeaders.read(requestOf(onHold, ['s3:PutObject', 's3:PutObjectRetention'])), {
    code: 'AccessDenied',
  })
  const { lock: read } = lockHeaders.read(requestOf(retention, ['s3:PutObjectRetention']))!
  t.match(read, { retention: { mode: 'COMPLIANCE' }, legalHold: undefined })
  const lock = { legalHold: true, retention: { mode: 'COMPLIANCE', retainUntilMs: 0 } }
  const version = { lock, bucket: 'bucket', key: 'key' } as unknown as ObjectVersion
  const seen = (allowed: string[]) => Object.keys(lockHeaders.describe(requestOf({}, allowed), version) ?? {}).length
  t.same([seen([]), seen(['s3:GetObjectRetention']), seen(['s3:GetObjectLegalHold'])], [0, 2, 1])
})
