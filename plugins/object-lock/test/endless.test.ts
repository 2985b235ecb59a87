/** A default retention whose end is no time: versions are locked for ever, and never fail open. */
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectRetentionCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import { outcome } from 'svc/plugins/s3/testing'
import t from 'tap'

const server = await startAdmin()
t.teardown(() => server.stop())
const { s3, signed } = server
const { objects } = server.kernel.services
const forever = '9999-12-31T23:59:59.000Z'

for (const period of [{ years: 1e15 }, { days: 1e300 }, { years: Number.NaN }, { years: 100_000 }]) {
  t.test(`a default retention of ${JSON.stringify(period)} that is stored`, async t => {
    const Bucket = `locked-${Object.entries(period)
      .join('-')
      .toLowerCase()
      .replace(/[^a-z0-9-]/g, '')}`
    await s3.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }))
    // The API refuses it; a release before did not in an archive.
    await objects.changeBucket(Bucket, { objectLock: { defaultRetention: { mode: 'COMPLIANCE', ...period } } })
    const { VersionId } = await s3.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'x' }))
    const { Retention } = await s3.send(new GetObjectRetentionCommand({ Bucket, Key: 'a' }))
    t.match(
      { ...Retention, RetainUntilDate: Retention?.RetainUntilDate?.toISOString() },
      {
        Mode: 'COMPLIANCE',
        RetainUntilDate: forever,
      },
    )
    const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'a' }))
    t.equal(head.ObjectLockRetainUntilDate?.toISOString(), forever)
    const path = `/api/v1/buckets/${Bucket}/objects/retention?key=a`
    t.match(await signed({ path }), { status: 200, json: { mode: 'COMPLIANCE', retainUntil: forever } })
    const remove = new DeleteObjectCommand({ Bucket, Key: 'a', VersionId, BypassGovernanceRetention: true })
    t.match(await outcome(s3.send(remove)), /AccessDenied/)
    for (const body of [
      { mode: '' },
      { mode: 'COMPLIANCE', retainUntil: '2099-01-01T00:00:00Z' },
      { mode: 'GOVERNANCE', retainUntil: forever },
    ]) {
      t.equal((await signed({ method: 'PUT', path, body })).status, 409, JSON.stringify(body))
    }
    t.match(await outcome(s3.send(remove)), /AccessDenied/)
  })
}

t.test('an end that is no time is refused where it is set', async t => {
  const Bucket = 'refused'
  await s3.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }))
  const { VersionId } = await s3.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'x' }))
  const origin = { principalId: '', sourceAddress: '', requestId: '', userAgent: '' }
  const retention = { mode: 'COMPLIANCE' as const, retainUntilMs: Number.NaN }
  await t.rejects(objects.changeVersion(Bucket, 'a', VersionId, { retention }, origin), { code: 'InvalidArgument' })
  for (const period of [{ days: 36_501 }, { years: 101 }, { years: 1e15 }]) {
    const body = { enabled: true, mode: 'COMPLIANCE', ...period }
    const refused = await signed({ method: 'PUT', path: `/api/v1/buckets/${Bucket}/objectlock`, body })
    t.equal(refused.status, 400, JSON.stringify(period))
  }
})
