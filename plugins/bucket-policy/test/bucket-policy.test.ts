import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteBucketPolicyCommand,
  DeletePublicAccessBlockCommand,
  GetBucketPolicyCommand,
  GetBucketPolicyStatusCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import type { Identity } from 'svc/plugins/iam/api'
import { type BucketPolicies, createPrepared, type PolicySet } from 'svc/plugins/policy/api'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import type { TestKernel } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'

const server = await startServer()
t.teardown(() => server.stop())
const { client, endpoint } = server
const Bucket = 'policies'
await client.send(new CreateBucketCommand({ Bucket }))
for (const Key of ['open/a.txt', 'open/b.txt', 'closed.txt']) {
  await client.send(new PutObjectCommand({ Bucket, Key, Body: `content of ${Key}` }))
}

const arn = (path = '') => `arn:aws:s3:::${Bucket}${path}`
type Statement = Readonly<Record<string, unknown>>
const statement = (given: Statement): Statement => ({
  Effect: 'Allow',
  Principal: '*',
  Action: 's3:GetObject',
  Resource: arn('/open/*'),
  ...given,
})
const policyOf = (...statements: Statement[]) =>
  JSON.stringify({ Version: '2012-10-17', Statement: statements.map(statement) })
const put = (Policy: string, more: object = {}) =>
  outcome(client.send(new PutBucketPolicyCommand({ Bucket, Policy, ...more })))
const remove = () => client.send(new DeleteBucketPolicyCommand({ Bucket }))
const status = async () => (await client.send(new GetBucketPolicyStatusCommand({ Bucket }))).PolicyStatus?.IsPublic

async function ask(method: string, path: string, options: { headers?: Record<string, string>; body?: string } = {}) {
  const answer = await fetch(`${endpoint}/${Bucket}${path}`, { method, ...options })
  const text = await answer.text()
  return answer.ok ? text || 'ok' : `${answer.status} ${/<Code>(.*)<\/Code>/.exec(text)?.[1] ?? ''}`.trim()
}

t.test('a policy is returned byte for byte, and gone when it is deleted', async t => {
  const get = () => client.send(new GetBucketPolicyCommand({ Bucket }))
  t.equal(await outcome(get()), '404 NoSuchBucketPolicy')
  t.equal(await outcome(status()), '404 NoSuchBucketPolicy')
  const text = `{ "Statement" : {"Resource":"${arn('/öffentlich/*')}",\n\t"Action":"s3:GetObject","Principal":{"AWS":"*"}, "Effect":"Allow"},"Version":"2012-10-17"}\n`
  t.equal(await put(text), 'ok')
  const raw = await server.signed({ method: 'GET', path: `/${Bucket}`, query: 'policy=' })
  t.same([raw.status, raw.headers.get('content-type'), await raw.text()], [200, 'application/json', text])
  t.equal((await get()).Policy, text)
  t.equal(await outcome(remove()), 'ok')
  t.equal(await outcome(remove()), 'ok', 'and again')
  t.equal(await outcome(get()), '404 NoSuchBucketPolicy')
  for (const command of [
    new GetBucketPolicyCommand({ Bucket: 'no-such-bucket' }),
    new GetBucketPolicyStatusCommand({ Bucket: 'no-such-bucket' }),
    new PutBucketPolicyCommand({ Bucket: 'no-such-bucket', Policy: '{' }),
    new DeleteBucketPolicyCommand({ Bucket: 'no-such-bucket' }),
    // biome-ignore lint/suspicious/noExplicitAny: any command of the SDK
  ] as any[]) {
    t.equal(await outcome(client.send(command)), '404 NoSuchBucket')
  }
})

t.test('an invalid policy is refused with the place of the error, and changes nothing', async t => {
  await put(policyOf({}))
  const refusal = async (body: string | Buffer, headers: Record<string, string> = {}) => {
    const answer = await server.signed({ method: 'PUT', path: `/${Bucket}`, query: 'policy=', body, headers })
    const xml = await answer.text()
    return `${answer.status} ${/<Code>(.*)<\/Code>/.exec(xml)?.[1]} ${/<Message>(.*)<\/Message>/s.exec(xml)?.[1]}`
  }
  const rows: [string | Buffer, RegExp][] = [
    ['', /^400 MalformedPolicy Line 1, column 1: /],
    ['{', /^400 MalformedPolicy Line 1, column 2: /],
    [policyOf({ Action: 's3:Fly' }), /^400 MalformedPolicy Statement 0, Action, line 1, column \d+: .*Fly/],
    [
      policyOf({}, { Sid: 'Two', Effect: 'Perhaps', Resource: 'x' }),
      /Statement 1 \(Two\), Effect, line .* Statement 1 \(Two\), Resource, line /,
    ],
    [policyOf({ Resource: 'arn:aws:s3:::other/*' }), /does not name this bucket/],
    [policyOf({ Principal: undefined }), /neither Principal nor NotPrincipal/],
    [
      `${policyOf({})}${' '.repeat(20 * 1024)}`,
      /^400 MalformedPolicy The policy has \d+ bytes; at most 20480 are allowed\.$/,
    ],
    [Buffer.from([0xff, 0xfe]), /^400 MalformedPolicy The policy is not UTF-8\.$/],
  ]
  for (const [body, expected] of rows) t.match(await refusal(body), expected)
  t.match(await refusal(policyOf({}), { 'content-md5': '1B2M2Y8AsgTpgAmY7PhCfg==' }), /^400 BadDigest /)
  t.match(await refusal(policyOf({}), { 'x-amz-checksum-crc32': 'AAAAAA==' }), /^400 BadDigest /)
  t.equal((await client.send(new GetBucketPolicyCommand({ Bucket }))).Policy, policyOf({}))
  t.equal(await put(policyOf({}).padEnd(20 * 1024)), 'ok', 'exactly as long as it may be')
  t.equal(await put(policyOf({}), { ChecksumAlgorithm: 'SHA256' }), 'ok')
})

t.test('anonymous callers have the rights of the policy from the next request on', async t => {
  await remove()
  t.equal(await ask('GET', '/open/a.txt'), '403 AccessDenied')
  await put(policyOf({}))
  t.equal(await ask('GET', '/open/a.txt'), 'content of open/a.txt')
  t.equal(await ask('HEAD', '/open/a.txt'), 'ok')
  t.equal(await ask('GET', '/closed.txt'), '403 AccessDenied')
  t.equal(await ask('GET', '/open/missing'), '403 AccessDenied', 'who may not list does not learn what is missing')
  t.equal(await ask('GET', '-missing/a.txt'), '404 NoSuchBucket', 'everybody may know which buckets there are')
  t.equal(await ask('GET', '-missing?list-type=2'), '404 NoSuchBucket')
  t.equal(await ask('PUT', '-missing'), '403 AccessDenied')
  t.equal(await ask('PUT', '/open/a.txt', { body: 'mine' }), '403 AccessDenied')
  t.equal(await ask('DELETE', '/open/a.txt'), '403 AccessDenied')
  t.equal(await ask('GET', ''), '403 AccessDenied')
  t.equal(await ask('GET', '?policy'), '403 AccessDenied')

  await put(
    policyOf({}, { Action: 's3:ListBucket', Resource: arn(), Condition: { StringLike: { 's3:prefix': 'open/*' } } }),
  )
  t.match(await ask('GET', '?list-type=2&prefix=open/'), /<Key>open\/a.txt<.*<Key>open\/b.txt</)
  t.match(await ask('GET', '?prefix=open/a'), /<Key>open\/a.txt</)
  t.equal(await ask('GET', '?list-type=2'), '403 AccessDenied')
  t.equal(await ask('GET', '?list-type=2&prefix=closed'), '403 AccessDenied')

  await put(policyOf({ Action: ['s3:PutObject', 's3:AbortMultipartUpload'] }))
  t.equal(await ask('PUT', '/open/dropped', { body: 'by a stranger' }), 'ok')
  t.equal(await ask('GET', '/open/dropped'), '403 AccessDenied')
  t.match(await ask('POST', '/open/parts?uploads'), /<UploadId>/)
  t.equal(await ask('PUT', '/dropped', { body: 'x' }), '403 AccessDenied')

  await remove()
  t.equal(await ask('PUT', '/open/dropped', { body: 'x' }), '403 AccessDenied')
})

t.test('conditions and denials hold for strangers', async t => {
  const conditions: [Statement, Record<string, string>, boolean][] = [
    [{ IpAddress: { 'aws:SourceIp': '127.0.0.0/8' } }, {}, true],
    [{ IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } }, {}, false],
    [{ StringLike: { 'aws:Referer': 'https://example.org/*' } }, { referer: 'https://example.org/page' }, true],
    [{ StringLike: { 'aws:Referer': 'https://example.org/*' } }, { referer: 'https://example.com/page' }, false],
    [{ StringLike: { 'aws:Referer': 'https://example.org/*' } }, {}, false],
    [{ Bool: { 'aws:SecureTransport': 'true' } }, {}, false],
    [{ Bool: { 'aws:SecureTransport': 'false' } }, {}, true],
    [{ StringEquals: { 'aws:PrincipalType': 'Anonymous' } }, {}, true],
  ]
  for (const [Condition, headers, isAllowed] of conditions) {
    await put(policyOf({ Condition }))
    const expected = isAllowed ? 'content of open/a.txt' : '403 AccessDenied'
    t.equal(await ask('GET', '/open/a.txt', { headers }), expected, JSON.stringify({ Condition, headers }))
  }
  await put(policyOf({}, { Effect: 'Deny', Resource: arn('/open/b*') }))
  t.equal(await ask('GET', '/open/a.txt'), 'content of open/a.txt')
  t.equal(await ask('GET', '/open/b.txt'), '403 AccessDenied')
  const signed = await server.signed({ method: 'GET', path: `/${Bucket}/open/b.txt` })
  t.equal(await signed.text(), 'content of open/b.txt', 'root is never denied')
})

t.test('blocked public access suspends stored public policies and refuses new ones', async t => {
  const block = (flags: object) =>
    client.send(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration: flags }))
  const wide = policyOf({})
  const narrow = policyOf({ Condition: { IpAddress: { 'aws:SourceIp': '127.0.0.1' } } })
  t.equal(await put(wide), 'ok')
  t.equal(await status(), true)
  t.equal(await ask('GET', '/open/a.txt'), 'content of open/a.txt')

  await block({ RestrictPublicBuckets: true })
  t.equal(await ask('GET', '/open/a.txt'), '403 AccessDenied', 'at once')
  t.equal(await status(), false)
  t.equal(await put(wide), 'ok', 'it may still be put')
  t.equal(await put(narrow), 'ok')
  t.equal(await status(), false)
  t.equal(await ask('GET', '/open/a.txt'), 'content of open/a.txt', 'one address is not everybody')

  await block({ BlockPublicPolicy: true })
  t.equal(await put(wide), '403 AccessDenied')
  t.equal(await put(narrow), 'ok')
  t.equal((await client.send(new GetBucketPolicyCommand({ Bucket }))).Policy, narrow)
  await client.send(new DeletePublicAccessBlockCommand({ Bucket }))
  t.equal(await put(wide), 'ok')
  t.equal(await ask('GET', '/open/a.txt'), 'content of open/a.txt')
})

t.test('a policy goes with its bucket', async t => {
  const doomed = { Bucket: 'doomed' }
  await client.send(new CreateBucketCommand(doomed))
  const Policy = policyOf({}).replaceAll(Bucket, 'doomed')
  await client.send(new PutBucketPolicyCommand({ ...doomed, Policy }))
  await client.send(new DeleteBucketCommand(doomed))
  await client.send(new CreateBucketCommand(doomed))
  t.equal(await outcome(client.send(new GetBucketPolicyCommand(doomed))), '404 NoSuchBucketPolicy')
})

t.test('SVC_BLOCK_PUBLIC_ACCESS holds for every bucket', async t => {
  for (const blockPublicAccessMode of ['reject', 'ignore']) {
    const config = { 'object-ownership': { blockPublicAccess: true, blockPublicAccessMode } }
    const blocked = await startServer({ config })
    t.teardown(() => blocked.stop())
    const open = (command: PutBucketPolicyCommand) => outcome(blocked.client.send(command))
    await blocked.client.send(new CreateBucketCommand({ Bucket }))
    await blocked.client.send(new PutObjectCommand({ Bucket, Key: 'open/a.txt', Body: 'a' }))
    const answer = await open(new PutBucketPolicyCommand({ Bucket, Policy: policyOf({}) }))
    t.equal(answer, blockPublicAccessMode === 'reject' ? '403 AccessDenied' : 'ok', blockPublicAccessMode)
    t.equal((await blocked.anonymous('GET', `/${Bucket}/open/a.txt`)).status, 403)
    const own = policyOf(
      { Condition: { IpAddress: { 'aws:SourceIp': '127.0.0.1' } } },
      { Effect: 'Deny', Action: 's3:Put*' },
    )
    t.equal(
      await open(new PutBucketPolicyCommand({ Bucket, Policy: own })),
      'ok',
      'addresses, and denials for everybody',
    )
    t.equal((await blocked.anonymous('GET', `/${Bucket}/open/a.txt`)).status, 200)
  }
})

/** Somebody who may do everything that no bucket denies. */
async function createUser({ services: { users } }: TestKernel, accessKey: string): Promise<Identity> {
  await users.createUser({ accessKey, secretKey: `secret-of-${accessKey}`, policyNames: ['readwrite'] })
  return (await users.describeIdentity(accessKey))!
}

t.test('for users, allows of a bucket add to their policies, and its denies override them', async t => {
  const { users } = server.kernel.services
  await createUser(server.kernel, 'ada')
  await users.createUser({ accessKey: 'bob', secretKey: 'secret-of-bob' })
  const root = { identity: server.kernel.services.iam.owner, isAllowed: () => true }
  const key = { accessKey: 'key-of-ada', secretKey: 'secret-of-key-of-ada', user: 'ada' }
  await users.createAccessKey(root, key)
  const get = async (accessKey: string, path = 'open/a.txt') => {
    const signer = { accessKey, secret: `secret-of-${accessKey}`, region: 'us-east-1' }
    const host = endpoint.slice('http://'.length)
    const target = { method: 'GET', path: `/${Bucket}/${path}`, host, payload: Buffer.alloc(0), nowMs: Date.now() }
    const answer = await fetch(endpoint + target.path, { headers: { ...signRequest(signer, target).headers } })
    return answer.status
  }
  const all = async () => [await get('ada'), await get('key-of-ada'), await get('bob')]
  await remove()
  t.same(await all(), [200, 200, 403])
  const arnOf = (name: string) => ({ AWS: `arn:aws:iam:::user/${name}` })
  await put(policyOf({ Principal: arnOf('bob') }))
  t.same(await all(), [200, 200, 200])
  t.equal(await get('bob', 'closed.txt'), 403)
  t.equal(await ask('GET', '/open/a.txt'), '403 AccessDenied', 'he is not everybody')
  await put(policyOf({ Effect: 'Deny', Principal: arnOf('ada') }, { Principal: arnOf('bob') }))
  t.same(await all(), [403, 403, 200], 'the keys of a user are the user')
  t.equal(await get('ada', 'closed.txt'), 200)
  await put(policyOf({ Effect: 'Deny', NotPrincipal: arnOf('ada'), Principal: undefined }, {}))
  t.same(await all(), [200, 200, 403])
  t.equal(await ask('GET', '/open/a.txt'), '403 AccessDenied')
})

t.test('an unreadable policy denies everything to all callers but root, until it is replaced', async t => {
  const drive = await mkdtemp(join(tmpdir(), 'svc-bucket-policy-'))
  t.teardown(() => rm(drive, { recursive: true, force: true }))
  const buckets = ['newer', 'damaged', 'meaningless', 'fine', 'without']
  const texts: Record<string, unknown> = {
    newer: { text: '{}', more: true },
    damaged: { text: 5 },
    meaningless: { text: '{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"s3:OfALaterRelease"}}' },
    fine: { text: policyOf({ Resource: 'arn:aws:s3:::fine/*' }) },
  }
  const vandal = definePlugin({
    name: 'vandal',
    requires: ['store', 'objects', 'iam'],
    setup({ services: { store, objects, iam } }) {
      const documents = store.collection({ name: 'bucket-policy', schema: Type.Any(), version: 1, scope: 'bucket' })
      return {
        async serve() {
          for (const name of buckets) await objects.createBucket(name, { region: 'us-east-1', owner: iam.owner })
          for (const [name, value] of Object.entries(texts)) await documents.put(name, value)
        },
      }
    },
  })
  const others = standard.filter(({ name }) => name !== 'bucket-policy')
  await (await startServer({ drive, plugins: [...others, vandal] })).stop()

  const restarted = await startServer({ drive })
  t.teardown(() => restarted.stop())
  const ada = await createUser(restarted.kernel, 'ada')
  const { policy } = restarted.kernel.services
  const may = (bucket: string, identity?: Identity) => {
    t.equal(policy.prepare(bucket), undefined, 'nothing to wait for in the main thread')
    return policy.isAllowed({ identity, action: 's3:GetObject', bucket, key: 'a' })
  }
  t.same([may('without'), may('without', ada)], [false, true])
  t.same([may('fine'), may('fine', ada)], [true, true])
  const get = (name: string) => outcome(restarted.client.send(new GetBucketPolicyCommand({ Bucket: name })))
  for (const name of ['newer', 'damaged', 'meaningless']) {
    t.same([may(name), may(name, ada)], [false, false], `${name} denies`)
    t.equal(policy.isAllowed({ identity: { ...ada, isRoot: true }, action: 's3:GetObject', bucket: name }), true)
    t.equal(await get(name), name === 'meaningless' ? 'ok' : '500 InternalError')
  }
  const reported = new Set(restarted.kernel.logs.map(({ bucket, id }) => bucket ?? id))
  for (const name of buckets) t.equal(reported.has(name), !['fine', 'without'].includes(name), `${name} in the log`)
  await restarted.client.send(new DeleteBucketPolicyCommand({ Bucket: 'newer' }))
  const Policy = String((texts.fine as { text: string }).text).replace('fine', 'damaged')
  await restarted.client.send(new PutBucketPolicyCommand({ Bucket: 'damaged', Policy }))
  t.same([may('newer'), may('newer', ada)], [false, true], 'as without a policy')
  t.same([may('damaged'), may('damaged', ada)], [true, true], 'as the new one says')
})

t.test('a caller other than root must confirm a policy that takes away its own access', async t => {
  const { bucketPolicy, users } = server.kernel.services
  await remove()
  const ada = (await users.describeIdentity('ada'))!
  const bob = (await users.describeIdentity('bob'))!
  const facts = { sourceAddress: '192.0.2.1', secure: false, timeMs: 0, headers: {} }
  const keeps = (identity: Identity | undefined, ...statements: Statement[]) => {
    const { policy } = bucketPolicy.compile(Bucket, policyOf(...statements))
    return bucketPolicy.keepsAccess(identity, Bucket, policy!, facts)
  }
  const lockout = { Effect: 'Deny', Action: 's3:PutBucketPolicy', Resource: arn() }
  t.equal(keeps(ada, {}), true)
  t.equal(keeps(ada, lockout), false)
  t.equal(keeps({ ...ada, isRoot: true }, lockout), true)
  t.equal(keeps(ada, { ...lockout, Condition: { NotIpAddress: { 'aws:SourceIp': '192.0.2.0/24' } } }), true)
  t.equal(keeps(ada, { ...lockout, Condition: { IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } } }), false)
  t.equal(keeps(bob, {}), false, 'only the policy that goes allowed it to him')
  const grant = { ...lockout, Effect: 'Allow', Principal: { AWS: 'arn:aws:iam:::user/bob' } }
  t.equal(keeps(bob, grant), true)

  await put(policyOf(grant))
  const answerTo = async (Policy: string, confirmed: object = {}) => {
    const credentials = { accessKeyId: 'bob', secretAccessKey: 'secret-of-bob' }
    const byBob = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials, maxAttempts: 1 })
    const answer = await outcome(byBob.send(new PutBucketPolicyCommand({ Bucket, Policy, ...confirmed })))
    byBob.destroy()
    return answer
  }
  t.equal(await answerTo(policyOf({})), '403 AccessDenied', 'without confirmation')
  t.equal(await answerTo(policyOf(grant, {})), 'ok')
  t.equal(await answerTo(policyOf({}), { ConfirmRemoveSelfBucketAccess: true }), 'ok')
  t.equal(await answerTo(policyOf(grant)), '403 AccessDenied', 'and now it is too late')
  t.equal(await put(policyOf({ ...lockout, Action: 's3:*', Resource: [arn(), arn('/*')] })), 'ok', 'root loses nothing')
  t.equal(await outcome(remove()), 'ok')
})

t.test('prepared policies are never older than their preparation, and without preparation all is denied', async t => {
  const distinct = (): BucketPolicies => ({ policies: {} as PolicySet })
  const [denied, older, newer] = [distinct(), distinct(), distinct()]
  let answers: (BucketPolicies | undefined | Promise<BucketPolicies | undefined>)[] = []
  const prepared = createPrepared(
    () => {
      const [answer] = answers
      if (answers.length > 1) answers.shift()
      return answer
    },
    () => denied,
  )
  const never = new Promise<undefined>(() => {})
  answers = [never]
  t.equal(prepared.get('a'), denied)
  answers = [undefined, never]
  t.equal(prepared.prepare('a'), undefined)
  t.equal(prepared.get('a'), undefined, 'there is no policy, and that is known')

  const slow = Promise.withResolvers<BucketPolicies | undefined>()
  answers = [slow.promise, newer, never]
  const first = prepared.prepare('a')
  t.equal(prepared.prepare('a'), undefined)
  slow.resolve(older)
  await first
  t.equal(prepared.get('a'), newer, 'an answer to an older question comes too late')

  answers = [Promise.resolve(older)]
  await prepared.prepare('a')
  t.equal(prepared.get('a'), older)
  answers = [Promise.reject(new Error('cannot be read'))]
  await t.rejects(prepared.prepare('b') as Promise<void>, /cannot be read/)
  t.equal(prepared.get('b'), denied)
  answers = [newer]
  for (let i = 0; i < 5000; i++) prepared.prepare(`bucket-${i}`)
  answers = [never]
  t.equal(prepared.get('a'), denied, 'forgotten after thousands of others')
  t.equal(prepared.get('bucket-4999'), newer)
  const failing = createPrepared(
    () => {
      throw new Error('faulty')
    },
    () => denied,
  )
  t.equal(failing.get('a'), denied)
  t.throws(() => failing.prepare('a'), /faulty/)
})
