import { responseProblems, startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin()
t.teardown(server.stop)
const { kernel, operations, signed } = server
const { users, bucketPolicy, objects, iam } = kernel.services
await objects.createBucket('photos', { region: 'us-east-1', owner: iam.owner })
await users.putPolicy('reader', {
  Version: '2012-10-17',
  Statement: [
    { Sid: 'Read', Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/*' },
    {
      Effect: 'Allow',
      Action: 's3:ListBucket',
      Resource: 'arn:aws:s3:::photos',
      Condition: { StringLike: { 's3:prefix': 'a*' } },
    },
  ],
})
const secretKey = 'a-secret-of-somebody'
await users.createUser({ accessKey: 'ada', secretKey, policyNames: ['reader'] })
await users.createUser({ accessKey: 'bob', secretKey })
const ada = server.signedBy('ada', secretKey)

const check = (id: string, json: unknown) =>
  t.same(responseProblems(operations.find(operation => operation.id === id)!, json), [], id)

async function simulate(body: object, send = signed) {
  const answer = await send({ method: 'POST', path: '/api/v1/policies/simulate', body })
  if (answer.status === 200) check('simulatePolicy', answer.json)
  return answer.status === 200 ? answer.json : `${answer.status} ${answer.json.code}`
}

t.test('an unknown action is refused by name, and every known one is accepted', async t => {
  const body = { user: 'ada', action: 's3:GetObjekt', bucket: 'photos' }
  const refused = await signed({ method: 'POST', path: '/api/v1/policies/simulate', body })
  t.match(refused, { status: 400, json: { code: 'invalid_argument' } })
  t.match(refused.text, /GetObjekt.* is no action that exists: did you mean s3:GetObject\?"/)
  for (const { action } of kernel.services.policy.actions()) {
    t.match(await simulate({ user: 'ada', action }), { action }, action)
  }
  t.match(await simulate({ user: 'ada', action: 's3:HeadBucket' }), { allowed: false }, 'by its other name')
})

t.test('a simulation names the decision, its statement, and the reasons why others do not apply', async t => {
  const reading = { user: 'ada', action: 's3:GetObject', bucket: 'photos', object: 'a.jpg' }
  const allowed = await simulate(reading)
  t.match(allowed, { ...reading, allowed: true, decision: 'allow', source: 'policy', policyName: 'reader' })
  t.match(allowed.statement, { Sid: 'Read' })
  t.match(allowed.evaluated, [
    { sid: 'Read', matched: true },
    { index: 1, matched: false, mismatch: 'action' },
  ])
  t.equal('mismatch' in allowed.evaluated[0], false)
  t.match(await simulate({ ...reading, user: 'bob' }), { allowed: false, decision: 'implicit-deny', source: 'none' })
  t.match(await simulate({ ...reading, user: 'admin' }), { allowed: true, source: 'root' })
  t.match(await simulate({ action: 's3:GetObject' }), { user: 'admin', source: 'root', bucket: '', object: '' })

  await users.putPolicy('publisher', {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: 'admin:ManageDistributions', Resource: 'arn:aws:s3:::photos' }],
  })
  await users.createUser({ accessKey: 'publisher', policyNames: ['publisher'] })
  t.match(await simulate({ user: 'publisher', action: 'admin:ManageDistributions', bucket: 'photos' }), {
    allowed: false,
    reason: /is needed without a bucket, too/,
  })
  const listing = { user: 'ada', action: 's3:ListBucket', bucket: 'photos' }
  t.match(await simulate(listing), { allowed: false })
  t.match(await simulate({ ...listing, conditions: { 'S3:Prefix': ['abc'] } }), { allowed: true })

  const statement = {
    Effect: 'Deny',
    Principal: '*',
    Action: 's3:GetObject',
    Resource: 'arn:aws:s3:::photos/*',
    Condition: {
      NotIpAddress: { 'aws:SourceIp': '192.0.2.0/24' },
      Bool: { 'aws:SecureTransport': 'false' },
      DateGreaterThan: { 'aws:CurrentTime': '2030-01-01T00:00:00Z' },
    },
  }
  await bucketPolicy.replace('photos', JSON.stringify({ Version: '2012-10-17', Statement: [statement] }))
  const late = { ...reading, time: '2031-01-01T00:00:00Z' }
  t.match(await simulate(late), { decision: 'explicit-deny', source: 'bucket-policy', policyName: '' })
  t.match(await simulate({ ...late, sourceIp: '192.0.2.7' }), { decision: 'allow' })
  t.match(await simulate({ ...late, secureTransport: true }), { decision: 'allow' })
  t.match(await simulate({ ...reading, time: '2029-01-01T00:00:00Z' }), { decision: 'allow' })
  await bucketPolicy.replace('photos', undefined)
})

t.test('nothing is allowed to a user that is disabled', async t => {
  const reading = { user: 'ada', action: 's3:GetObject', bucket: 'photos', object: 'a.jpg' }
  await users.updateUser('ada', { status: 'disabled' })
  t.match(await simulate(reading), {
    allowed: false,
    decision: 'explicit-deny',
    reason: /^The user is disabled/,
    source: 'disabled',
    policyName: '',
    statement: undefined,
    evaluated: [{ sid: 'Read', matched: true }, {}],
  })
  await users.updateUser('ada', { status: 'enabled' })
  t.match(await simulate(reading), { allowed: true, source: 'policy' })
})

t.test('access rules know the address, the time and TLS of what is simulated', async t => {
  const path = '/api/v1/buckets/photos/access-rules'
  const reading = { user: 'ada', action: 's3:GetObject', bucket: 'photos', object: 'a.jpg' }
  const all = { id: 'all', priority: 900, effect: 'allow', principals: ['ada'], actions: ['read'] }
  const decide = async (conditions: object, asked: object = {}) => {
    const no = { id: 'no', priority: 1, effect: 'deny', principals: ['*'], actions: ['read'], conditions }
    const { status, text } = await signed({ method: 'PUT', path, body: { rules: [no, all] } })
    t.equal(status, 200, text)
    return (await simulate({ ...reading, sourceIp: '192.0.2.7', ...asked })).allowed
  }
  t.equal(await decide({ timeWindow: { from: '2999-01-01T00:00:00Z' } }), true)
  t.equal(await decide({ timeWindow: { from: '2999-01-01T00:00:00Z' } }, { time: '2999-01-02T00:00:00Z' }), false)
  t.equal(await decide({ timeWindow: { from: '2001-01-01T00:00:00Z' } }), false)
  t.equal(await decide({ sourceIp: ['10.0.0.0/8'] }), true)
  t.equal(await decide({ sourceIp: ['192.0.2.0/24'] }), false)
  t.equal(await decide({ notSourceIp: ['192.0.2.7'] }), true)
  t.equal(await decide({ secureTransport: true }), true)
  t.equal(await decide({ secureTransport: true }, { secureTransport: true }), false)
  t.equal(await decide({ headers: { 'x-from': 'elsewhere' } }), false, 'it may have the header')
  const referer = ['https://elsewhere.test/*']
  t.equal(await decide({ referer }), false)
  const from = (url: string) => ({ conditions: { 'aws:Referer': [url] } })
  t.equal(await decide({ referer }, from('https://here.test/')), true)
  t.equal(await decide({ referer }, from('https://elsewhere.test/a')), false)
  await signed({ method: 'PUT', path, body: { rules: [] } })
})

t.test('every caller may simulate its own requests, and those of others with the action', async t => {
  const reading = { action: 's3:GetObject', bucket: 'photos', object: 'a.jpg' }
  t.match(await simulate(reading, ada), { user: 'ada', allowed: true })
  t.match(await simulate({ ...reading, user: 'ada' }, ada), { user: 'ada', allowed: true })
  t.equal(await simulate({ ...reading, user: 'bob' }, ada), '403 access_denied')
  t.equal(await simulate({ ...reading, user: 'nobody-here' }, ada), '403 access_denied', 'nor whether there is one')
  t.equal(await simulate({ ...reading, user: 'nobody-here' }), '404 user_not_found')
  t.equal(await simulate({ action: 's3:GetObject', object: 'x' }), '400 invalid_argument')
  t.equal(await simulate({ ...reading, time: 'soon' }), '400 invalid_argument')

  const root = { identity: iam.owner, isAllowed: () => true }
  const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:ListBucket', Resource: '*' }] }
  await users.createAccessKey(root, { user: 'ada', accessKey: 'narrow-key', secretKey, policy })
  const narrow = server.signedBy('narrow-key', secretKey)
  t.match(await simulate(reading, narrow), { user: 'ada', allowed: false, source: 'embedded-policy' })
  t.equal(await simulate({ ...reading, user: 'ada' }, narrow), '403 access_denied')
})

t.test('a simulation shows no statement that its caller may not read', async t => {
  const hide = (effect: string) => ({
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'Covert',
        Effect: effect,
        Principal: { AWS: ['arn:aws:iam:::user/ada'] },
        Action: 's3:GetObject',
        Resource: 'arn:aws:s3:::photos/covert/*',
        Condition: { IpAddress: { 'aws:SourceIp': '127.0.0.0/8' } },
      },
    ],
  })
  const text = (answer: object) => JSON.stringify(answer)
  const unread = { action: 's3:GetObject', bucket: 'photos', object: 'covert/plan' }
  await bucketPolicy.replace('photos', JSON.stringify(hide('Deny')))
  const denied = await simulate(unread, ada)
  t.match(denied, { allowed: false, decision: 'explicit-deny', source: 'hidden', policyName: '' })
  t.notMatch(text(denied), /Covert|bucket-policy|127\.0/, 'nothing of the policy of the bucket')
  t.notOk('statement' in denied)
  t.match(denied.evaluated, [{ sid: 'Read' }, {}], 'its own policies')
  const elsewhere = await simulate({ ...unread, object: 'a' }, ada)
  t.match(elsewhere, { allowed: true, source: 'policy', policyName: 'reader', statement: { Sid: 'Read' } })
  t.notMatch(text(elsewhere), /Covert/)
  const bob = server.signedBy('bob', secretKey)
  const nothing = await simulate(unread, bob)
  t.match(nothing, { allowed: false, decision: 'implicit-deny', source: 'hidden', evaluated: [] })
  t.equal((await simulate({ ...unread, bucket: 'nowhere' }, bob)).reason, nothing.reason, 'as of a bucket without one')
  await bucketPolicy.replace('photos', JSON.stringify(hide('Allow')))
  t.match(await simulate(unread, bob), { source: 'hidden', reason: nothing.reason })

  await users.putPolicy('policy-reader', {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: 's3:GetBucketPolicy', Resource: 'arn:aws:s3:::photos' }],
  })
  await users.createUser({ accessKey: 'eve', secretKey, policyNames: ['policy-reader'] })
  const eve = server.signedBy('eve', secretKey)
  t.match((await simulate(unread, eve)).evaluated, [{}, { sid: 'Covert', source: 'bucket-policy' }])

  await users.putPolicy('asker', {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: ['admin:SimulatePolicy', 's3:Get*'], Resource: '*' }],
  })
  await users.createUser({ accessKey: 'asker', secretKey, policyNames: ['asker'] })
  const asker = server.signedBy('asker', secretKey)
  const ofOther = await simulate({ ...unread, user: 'ada' }, asker)
  t.match(ofOther, { user: 'ada', allowed: true, source: 'hidden', policyName: '' })
  t.notMatch(text(ofOther), /reader/, 'policies of others are read with admin:GetPolicy')
  t.match(ofOther.evaluated, [{ sid: 'Covert' }])
  await users.putPolicy('asker', {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: ['admin:SimulatePolicy', 'admin:GetPolicy'], Resource: '*' }],
  })
  t.match(await simulate({ ...unread, user: 'ada' }, asker), { source: 'policy', policyName: 'reader' })
  await bucketPolicy.replace('photos', undefined)

  const root = { identity: iam.owner, isAllowed: () => true }
  const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:ListBucket', Resource: '*' }] }
  await users.createAccessKey(root, { user: 'ada', accessKey: 'listing-key', secretKey, policy })
  const limited = server.signedBy('listing-key', secretKey)
  const own = await simulate({ action: 's3:GetObject', bucket: 'photos', object: 'a.jpg' }, limited)
  t.match(own, { allowed: false, source: 'embedded-policy', evaluated: [{ source: 'embedded-policy' }] })
  t.notMatch(text(own), /reader|"Read"/, 'restricted credentials do not read the policies of their user')
  const other = await simulate({ action: 's3:PutObject', bucket: 'photos', object: 'a.jpg' }, limited)
  t.equal(other.reason, own.reason, 'nor what they allow')
})

t.test('problems of a policy are returned with their positions, and are no error', async t => {
  const validate = async (body: object) => {
    const answer = await ada({ method: 'POST', path: '/api/v1/policies/validate', body })
    t.equal(answer.status, 200, answer.text)
    check('validatePolicy', answer.json)
    return answer.json
  }
  const statement = { Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/*' }
  const document = { Version: '2012-10-17', Statement: [statement] }
  t.same(await validate({ document }), { valid: true, errors: [], warnings: [], openings: [] })
  t.same(await validate({ document: JSON.stringify(document) }), {
    valid: true,
    errors: [],
    warnings: [],
    openings: [],
  })
  t.match(await validate({ document, bucket: 'photos' }), {
    valid: false,
    errors: [{ statement: 0, element: 'Principal', line: 4, column: 5 }],
  })
  const open = { ...document, Statement: { ...statement, Principal: '*' } }
  t.match(await validate({ document: open, bucket: 'photos' }), { valid: true, warnings: [{ element: 'Principal' }] })
  t.same((await validate({ document: open, bucket: 'photos' })).openings, [
    {
      statement: 0,
      opens: {
        source: 'bucket-policy',
        name: '0',
        actions: ['read'],
        keys: [],
        except: [],
        limited: false,
        blocked: false,
        domains: [],
      },
    },
  ])
  t.same((await validate({ document: open, bucket: 'other' })).openings, [], 'of one with errors there are none')
  t.match(await validate({ document: open, bucket: 'other' }), { valid: false, errors: [{ element: 'Resource' }] })
  t.match(await validate({ document: '{"Version":\n  "2012"' }), { valid: false, errors: [{ line: 2 }] })
  t.equal((await validate({ document: 'x'.repeat(30_000) })).valid, false)
})

t.test('actions are listed in pages, including those of plugins', async t => {
  const seen: string[] = []
  let cursor = ''
  do {
    const { json } = await ada({ path: `/api/v1/policies/actions?limit=50&cursor=${cursor}` })
    check('listPolicyActions', json)
    seen.push(...json.items.map(({ action }: { action: string }) => action))
    cursor = json.nextCursor
  } while (cursor !== '')
  const all = kernel.services.policy.actions().map(({ action }) => action)
  t.same(seen, all)
  t.ok(all.length > 100)
  const unknown = Buffer.from('v1:s3:NoSuchAction').toString('base64url')
  t.equal((await ada({ path: `/api/v1/policies/actions?cursor=${unknown}` })).status, 400)
})
