/** Object lock over the Admin API: the same locks as over S3, and the permissions to set and weaken them. */
import { GetObjectRetentionCommand, PutObjectCommand, PutObjectTaggingCommand } from '@aws-sdk/client-s3'
import { startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'

const Resource = 'arn:aws:s3:::records/kept/*'
const server = await startAdmin({
  without: ['users'],
  plugins: [
    testUsers({
      keeper: [{ Effect: 'Allow', Action: 's3:*ObjectRetention', Resource }],
      bypasser: [{ Effect: 'Allow', Action: ['s3:PutObjectRetention', 's3:BypassGovernanceRetention'], Resource }],
      weekly: [
        {
          Effect: 'Allow',
          Action: 's3:PutObjectRetention',
          Resource,
          Condition: { NumericLessThanEquals: { 's3:object-lock-remaining-retention-days': '7' } },
        },
      ],
      cautious: [
        { Effect: 'Allow', Action: 's3:*LegalHold', Resource },
        { Effect: 'Deny', Action: 's3:*', Resource, Condition: { StringEquals: { 's3:ExistingObjectTag/a': 'b' } } },
      ],
    }),
  ],
})
t.teardown(() => server.stop())
const { s3: client, signed } = server
const as = (user: string) => server.signedBy(user, userSecret)
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const base = '/api/v1/buckets/records'
const setLock = (body: object, call = signed) => call({ method: 'PUT', path: `${base}/objectlock`, body })
const retention = (key: string, body?: object, call = signed, more = '') =>
  call({ method: body ? 'PUT' : 'GET', path: `${base}/objects/retention?key=${encodeURIComponent(key)}${more}`, body })
const hold = (key: string, body?: object, call = signed) =>
  call({ method: body ? 'PUT' : 'GET', path: `${base}/objects/legal-hold?key=${encodeURIComponent(key)}`, body })

t.test('the lock of a bucket: enabled once, with or without a default retention', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'records' } })
  t.same((await signed({ path: `${base}/objectlock` })).json, { enabled: false })
  t.equal(outcome(await setLock({ enabled: false })), '200')
  t.equal(outcome(await setLock({ enabled: true })), '409 conflict', 'without versioning')
  await client.send(new PutObjectCommand({ Bucket: 'records', Key: 'kept/a', Body: 'x' }))
  t.equal(outcome(await retention('kept/a')), '400 invalid_argument', 'without object lock')
  await signed({ method: 'PUT', path: `${base}/versioning`, body: { status: 'enabled' } })
  for (const bad of [
    { mode: 'GOVERNANCE' },
    { days: 1 },
    { mode: 'GOVERNANCE', days: 1, years: 1 },
    { mode: 'GOVERNANCE', days: 0 },
    { mode: 'COMPLIANCE', years: 101 },
    { mode: 'SOMETHING', days: 1 },
    { enabled: false, mode: 'COMPLIANCE', days: 1 },
  ]) {
    t.equal(outcome(await setLock({ enabled: true, ...bad })), '400 invalid_argument', JSON.stringify(bad))
  }
  const wanted = { enabled: true, mode: 'GOVERNANCE', days: 3 }
  t.same((await setLock(wanted)).json, wanted)
  t.same((await signed({ path: `${base}/objectlock` })).json, wanted)
  t.same((await setLock({ enabled: true })).json, { enabled: true }, 'the default is removed')
  t.equal(outcome(await setLock({ enabled: false })), '409 conflict')
  t.equal(outcome(await signed({ path: '/api/v1/buckets/missing/objectlock' })), '404 bucket_not_found')
})

t.test('retention', async t => {
  t.same((await retention('kept/a')).json, { mode: '', retainUntil: null })
  const retainUntil = inDays(10)
  t.same((await retention('kept/a', { mode: 'GOVERNANCE', retainUntil })).json, { mode: 'GOVERNANCE', retainUntil })
  const overS3 = await client.send(new GetObjectRetentionCommand({ Bucket: 'records', Key: 'kept/a' }))
  t.equal(overS3.Retention?.RetainUntilDate?.toISOString(), retainUntil)
  t.same((await retention('kept/a', undefined, as('keeper'))).json, { mode: 'GOVERNANCE', retainUntil })
  t.equal(outcome(await retention('other', undefined, as('keeper'))), '403 access_denied', 'nor whether it is there')
  t.equal(outcome(await retention('kept/none', undefined, as('keeper'))), '404 object_not_found')
  t.equal(
    outcome(await retention('kept/a', undefined, signed, `&versionId=${'0'.repeat(14)}`)),
    '404 version_not_found',
  )
  t.equal(outcome(await retention('kept/a', undefined, signed, '&versionId=what')), '400 invalid_argument')
  t.equal(outcome(await retention('é'.repeat(600))), '400 invalid_object_key')

  const shorter = { mode: 'GOVERNANCE', retainUntil: inDays(1) }
  t.equal(outcome(await retention('kept/a', shorter, as('keeper'))), '409 object_locked')
  const bypass = { ...shorter, bypassGovernance: true }
  t.equal(outcome(await retention('kept/a', bypass, as('keeper'))), '403 access_denied')
  t.equal(outcome(await retention('kept/a', bypass, as('bypasser'))), '200')
  t.equal(outcome(await retention('kept/a', { mode: '', bypassGovernance: true }, as('bypasser'))), '200')
  t.same((await retention('kept/a')).json, { mode: '', retainUntil: null })
  for (const bad of [
    { mode: 'GOVERNANCE' },
    { mode: '', retainUntil },
    { mode: 'GOVERNANCE', retainUntil: null },
    { mode: 'GOVERNANCE', retainUntil: 'soon' },
    { mode: 'GOVERNANCE', retainUntil: '2020-01-01T00:00:00Z' },
  ]) {
    t.equal(outcome(await retention('kept/a', bad)), '400 invalid_argument', JSON.stringify(bad))
  }
  const open = await retention('kept/a', { mode: 'GOVERNANCE', retainUntil: null })
  t.match(JSON.stringify(open.json), /retainUntil is missing: the time until which GOVERNANCE/)
})

t.test('policies evaluate the requested retention, not headers that look like one', async t => {
  const call = as('weekly')
  const put = (days: number) => retention('kept/a', { mode: 'GOVERNANCE', retainUntil: inDays(days) }, call)
  t.equal(outcome(await put(9)), '403 access_denied')
  t.equal(outcome(await put(6)), '200')
  const forged = await call({
    method: 'PUT',
    path: `${base}/objects/retention?key=kept/a`,
    headers: { 'x-amz-object-lock-retain-until-date': inDays(1) },
    body: { mode: 'GOVERNANCE', retainUntil: inDays(30) },
  })
  t.equal(outcome(forged), '403 access_denied')
})

t.test('a legal hold is set and removed; policies evaluate the tags of the object', async t => {
  const call = as('cautious')
  t.same((await hold('kept/a', undefined, call)).json, { enabled: false })
  t.same((await hold('kept/a', { enabled: true }, call)).json, { enabled: true })
  t.same((await hold('kept/a')).json, { enabled: true })
  const Tagging = { TagSet: [{ Key: 'a', Value: 'b' }] }
  await client.send(new PutObjectTaggingCommand({ Bucket: 'records', Key: 'kept/a', Tagging }))
  t.equal(outcome(await hold('kept/a', { enabled: false }, call)), '403 access_denied')
  t.equal(outcome(await hold('kept/a', { enabled: false })), '200')
})
