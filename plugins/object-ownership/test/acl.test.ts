/** Access control lists that are on: who may do what by them, and what takes it away. */
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketPolicyCommand,
  GetBucketAclCommand,
  GetBucketPolicyStatusCommand,
  GetObjectAclCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  type ObjectCannedACL,
  PutBucketAclCommand,
  type PutBucketAclCommandInput,
  PutBucketOwnershipControlsCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectAclCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  PutObjectTaggingCommand,
  PutPublicAccessBlockCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import { outcome } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import { startServer } from 'svc/plugins/users/testing'
import t from 'tap'

const server = await startServer()
t.teardown(() => server.stop())
const { root, users, endpoint } = server
const Bucket = 'lists'
const secretKey = 'a-secret-of-somebody'
const everybody = 'http://acs.amazonaws.com/groups/global/AllUsers'
const everyUser = 'http://acs.amazonaws.com/groups/global/AuthenticatedUsers'

type Statement = Readonly<Record<string, unknown>>
let count = 0
async function userWith(...Statement: Statement[]): Promise<S3Client> {
  const name = `user-${++count}`
  const policyNames = Statement.length === 0 ? [] : [name]
  if (Statement.length > 0) await users.putPolicy(name, { Version: '2012-10-17', Statement } as never)
  await users.createUser({ accessKey: name, secretKey, policyNames })
  return server.as({ accessKey: name, secretKey })
}
const allow = (...Action: string[]): Statement => ({ Effect: 'Allow', Action, Resource: 'arn:aws:s3:::*' })
// biome-ignore lint/suspicious/noExplicitAny: any command of the SDK
const answerTo = (command: any, client = root) => outcome(client.send(command))
/** As a stranger. */
const curl = async (path: string, method = 'GET', headers: Record<string, string> = {}) => {
  const answer = await fetch(`${endpoint}${path}`, { method, headers, body: method === 'PUT' ? 'x' : undefined })
  await answer.arrayBuffer()
  return answer.status
}
const putAcl = (input: Partial<PutBucketAclCommandInput>, client = root, bucket = Bucket) =>
  answerTo(new PutBucketAclCommand({ Bucket: bucket, ...input }), client)
const own = (ObjectOwnership: 'BucketOwnerEnforced' | 'BucketOwnerPreferred' | 'ObjectWriter', bucket = Bucket) =>
  answerTo(
    new PutBucketOwnershipControlsCommand({ Bucket: bucket, OwnershipControls: { Rules: [{ ObjectOwnership }] } }),
  )
const block = (PublicAccessBlockConfiguration: object) =>
  answerTo(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration }))
const grantsOf = async (bucket = Bucket) => {
  const { Grants } = await root.send(new GetBucketAclCommand({ Bucket: bucket }))
  return Grants!.map(({ Grantee, Permission }) => `${Permission} ${Grantee!.URI ?? Grantee!.DisplayName}`)
}
const list = (client: S3Client) => answerTo(new ListObjectsV2Command({ Bucket }), client)

await root.send(new CreateBucketCommand({ Bucket, ObjectOwnership: 'ObjectWriter' }))
const nobody = await userWith()

t.test('the canned lists of a bucket', async t => {
  t.same(await grantsOf(), ['FULL_CONTROL admin'])
  t.same([await curl(`/${Bucket}`), await list(nobody)], [403, '403 AccessDenied'])
  t.equal(await putAcl({ ACL: 'public-read' }), 'ok')
  t.same(await grantsOf(), ['FULL_CONTROL admin', `READ ${everybody}`])
  t.same([await curl(`/${Bucket}`), await list(nobody)], [200, 'ok'])
  t.equal(await curl(`/${Bucket}?versions`), 200)
  t.equal(await curl(`/${Bucket}?acl`), 403)
  t.equal(await curl(`/${Bucket}/new`, 'PUT'), 403)
  t.equal(await putAcl({ ACL: 'public-read-write' }), 'ok')
  t.same(await grantsOf(), ['FULL_CONTROL admin', `READ ${everybody}`, `WRITE ${everybody}`])
  t.equal(await curl(`/${Bucket}/new`, 'PUT'), 200)
  t.equal(await curl(`/${Bucket}/new`), 403, 'to write is not to read')
  t.equal(await curl(`/${Bucket}/new`, 'DELETE'), 403, 'the object is of the owner of the bucket')
  t.equal(await curl(`/${Bucket}/new`, 'PUT', { 'x-amz-acl': 'public-read' }), 403, 'nor does it set lists')
  t.equal(await putAcl({ ACL: 'authenticated-read' }), 'ok')
  t.same(await grantsOf(), ['FULL_CONTROL admin', `READ ${everyUser}`])
  t.same([await curl(`/${Bucket}`), await list(nobody)], [403, 'ok'])
  for (const ACL of ['bucket-owner-read', 'bucket-owner-full-control', 'private'] as ObjectCannedACL[]) {
    t.equal(await putAcl({ ACL: ACL as 'private' }), 'ok')
    t.same(await grantsOf(), ['FULL_CONTROL admin'])
  }
  t.same([await curl(`/${Bucket}`), await list(nobody)], [403, '403 AccessDenied'])
})

t.test('grants that amount to a canned list are that list, and no others are taken', async t => {
  const { Owner } = await root.send(new GetBucketAclCommand({ Bucket }))
  const full = { Grantee: { Type: 'CanonicalUser', ID: Owner!.ID }, Permission: 'FULL_CONTROL' } as const
  const group = (URI: string, Permission: 'READ' | 'WRITE' | 'READ_ACP') =>
    ({ Grantee: { Type: 'Group', URI }, Permission }) as const
  t.equal(await putAcl({ GrantRead: `uri="${everybody}"`, GrantWrite: `uri=${everybody}, id=${Owner!.ID}` }), 'ok')
  t.same(await grantsOf(), ['FULL_CONTROL admin', `READ ${everybody}`, `WRITE ${everybody}`])
  t.equal(await putAcl({ AccessControlPolicy: { Owner, Grants: [full, group(everyUser, 'READ')] } }), 'ok')
  t.same(await grantsOf(), ['FULL_CONTROL admin', `READ ${everyUser}`])
  for (const Grants of [
    [full, group(everybody, 'WRITE')],
    [full, group(everybody, 'READ_ACP')],
    [full, group(everybody, 'READ'), group(everyUser, 'READ')],
    [{ ...full, Grantee: { Type: 'CanonicalUser', ID: 'f'.repeat(64) } } as const],
  ]) {
    t.equal(await putAcl({ AccessControlPolicy: { Owner, Grants } }), '400 AccessControlListNotSupported')
  }
  t.equal(await putAcl({ ACL: 'aws-exec-read' as 'private' }), '400 AccessControlListNotSupported')
  t.equal(await putAcl({ ACL: 'whatever' as 'private' }), '400 InvalidArgument')
  t.equal(await putAcl({ GrantRead: 'everybody' }), '400 InvalidArgument')
  t.equal(await putAcl({ ACL: 'private', GrantRead: `uri="${everybody}"` }), '400 InvalidRequest')
  t.equal(await putAcl({}), '400 MissingSecurityHeader')
  t.same(await grantsOf(), ['FULL_CONTROL admin', `READ ${everyUser}`], 'what was refused changed nothing')
  t.equal(await putAcl({ ACL: 'private' }), 'ok')
})

t.test('ownership turns lists on and off', async t => {
  t.equal(await putAcl({ ACL: 'public-read' }), 'ok')
  t.equal(await own('BucketOwnerEnforced'), '400 InvalidBucketAclWithObjectOwnership')
  t.equal(await own('BucketOwnerPreferred'), 'ok')
  t.equal(await curl(`/${Bucket}`), 200, 'the list stays')
  t.equal(await putAcl({ ACL: 'private' }), 'ok')
  t.equal(await own('BucketOwnerEnforced'), 'ok')
  t.equal(await putAcl({ ACL: 'public-read' }), '400 AccessControlListNotSupported')
  t.equal(await own('ObjectWriter'), 'ok')

  const create = (bucket: string, input: object, client = root) =>
    answerTo(new CreateBucketCommand({ Bucket: bucket, ...input }), client)
  const ObjectOwnership = 'BucketOwnerPreferred'
  t.equal(await create('made-public', { ObjectOwnership, ACL: 'public-read' }), 'ok')
  t.equal(await curl('/made-public'), 200)
  t.equal(await create('made-badly', { ObjectOwnership, ACL: 'whatever' }), '400 InvalidArgument')
  t.equal(await create('made-badly', { ACL: 'public-read' }), '400 InvalidBucketAclWithObjectOwnership')
  const creator = await userWith(allow('s3:CreateBucket'))
  t.equal(await create('made-badly', { ObjectOwnership }, creator), '403 AccessDenied')
  const owner = await userWith(allow('s3:CreateBucket', 's3:PutBucketOwnershipControls'))
  t.equal(await create('made-badly', { ObjectOwnership, ACL: 'public-read' }, owner), '403 AccessDenied')
  t.equal(await create('made-by-owner', { ObjectOwnership }, owner), 'ok')
})

t.test('blocks of public access refuse public lists, and leave them out', async t => {
  t.equal(await putAcl({ ACL: 'public-read' }), 'ok')
  t.equal(await block({ BlockPublicAcls: true }), 'ok')
  t.equal(await curl(`/${Bucket}`), 200, 'what is there counts')
  for (const ACL of ['public-read', 'public-read-write', 'authenticated-read'] as const) {
    t.equal(await putAcl({ ACL }), '403 AccessDenied')
  }
  t.equal(await block({ IgnorePublicAcls: true }), 'ok')
  t.same([await curl(`/${Bucket}`), await list(nobody)], [403, '403 AccessDenied'])
  t.same(await grantsOf(), ['FULL_CONTROL admin', `READ ${everybody}`], 'it is told all the same')
  t.equal(await putAcl({ ACL: 'authenticated-read' }), 'ok')
  t.equal(await list(nobody), '403 AccessDenied')
  t.equal(await putAcl({ ACL: 'public-read' }), 'ok')
  t.equal(await block({ RestrictPublicBuckets: true, BlockPublicPolicy: true }), 'ok')
  t.equal(await curl(`/${Bucket}`), 200, 'these are about policies')
  t.equal(await block({}), 'ok')
})

t.test('a list adds to policies, and takes nothing from what they deny', async t => {
  await root.send(new PutObjectCommand({ Bucket, Key: 'held', Body: 'x' }))
  t.equal(await putAcl({ ACL: 'public-read-write' }), 'ok')
  const denied = await userWith({ Effect: 'Deny', Action: 's3:PutObject', Resource: 'arn:aws:s3:::*' })
  const put = (client: S3Client) => answerTo(new PutObjectCommand({ Bucket, Key: 'new', Body: 'x' }), client)
  t.equal(await put(nobody), 'ok')
  t.equal(await put(denied), '403 AccessDenied')
  const Policy = (Effect: 'Allow' | 'Deny') =>
    JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect, Principal: '*', Action: 's3:ListBucket', Resource: `arn:aws:s3:::${Bucket}` }],
    })
  t.equal(await answerTo(new PutBucketPolicyCommand({ Bucket, Policy: Policy('Deny') })), 'ok')
  t.same([await curl(`/${Bucket}`), await list(nobody)], [403, '403 AccessDenied'])
  const { PolicyStatus } = await root.send(new GetBucketPolicyStatusCommand({ Bucket }))
  t.equal(PolicyStatus!.IsPublic, false, 'the status is that of the policy alone')
  t.equal(server.kernel.services.policy.isPublic(Bucket), true)
  t.equal(await putAcl({ ACL: 'private' }), 'ok')
  t.equal(server.kernel.services.policy.isPublic(Bucket), false)
})

const get = (Key: string, client: S3Client, VersionId?: string, bucket = Bucket) =>
  answerTo(new GetObjectCommand({ Bucket: bucket, Key, VersionId }), client)
const objectGrants = async (Key: string, VersionId?: string) => {
  const { Grants } = await root.send(new GetObjectAclCommand({ Bucket, Key, VersionId }))
  return Grants!.slice(1).map(({ Grantee, Permission }) => `${Permission} ${Grantee!.URI}`)
}
const put = (Key: string, ACL?: ObjectCannedACL, client = root, more: Partial<PutObjectCommandInput> = {}) =>
  answerTo(new PutObjectCommand({ Bucket, Key, Body: 'x', ACL, ...more }), client)
const setAcl = (Key: string, ACL: ObjectCannedACL, client = root, VersionId?: string) =>
  answerTo(new PutObjectAclCommand({ Bucket, Key, ACL, VersionId }), client)
const none = '403 AccessDenied'

t.test('the canned lists of an object', async t => {
  t.equal(await answerTo(new DeleteBucketPolicyCommand({ Bucket })), 'ok')
  for (const [ACL, stranger, user] of [
    [undefined, 403, none],
    ['private', 403, none],
    ['public-read', 200, 'ok'],
    ['public-read-write', 200, 'ok'],
    ['authenticated-read', 403, 'ok'],
    ['bucket-owner-read', 403, none],
    ['bucket-owner-full-control', 403, none],
  ] as const) {
    t.equal(await put('o', ACL), 'ok')
    t.same([await curl(`/${Bucket}/o`), await get('o', nobody)], [stranger, user], `${ACL}`)
    t.equal(await curl(`/${Bucket}/o`, 'HEAD'), stranger)
    for (const query of ['?acl', '?tagging', '?attributes']) t.equal(await curl(`/${Bucket}/o${query}`), 403)
    for (const method of ['PUT', 'DELETE']) t.equal(await curl(`/${Bucket}/o`, method), 403)
  }
  t.equal(await setAcl('o', 'public-read'), 'ok')
  t.same(await objectGrants('o'), [`READ ${everybody}`])
  t.equal(await curl(`/${Bucket}/o`), 200)
  t.equal(await curl(`/${Bucket}/other`), 403, 'another object, which is not there')
  t.equal(await setAcl('o', 'private'), 'ok')
  t.same(await objectGrants('o'), [])
  t.equal(await curl(`/${Bucket}/o`), 403)
  t.equal(await put('o', 'whatever' as ObjectCannedACL), '400 InvalidArgument')
  t.equal(await put('o', 'aws-exec-read'), '400 AccessControlListNotSupported')
  t.equal(await put('o', undefined, root, { GrantRead: `uri="${everyUser}"` }), 'ok')
  t.same(await objectGrants('o'), [`READ ${everyUser}`])
})

t.test('every way to write an object takes a list, and a copy takes none over', async t => {
  const CopySource = `/${Bucket}/source`
  t.equal(await put('source', 'public-read'), 'ok')
  t.equal(await answerTo(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource })), 'ok')
  t.same(await objectGrants('copy'), [])
  t.equal(await answerTo(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource, ACL: 'public-read' })), 'ok')
  t.same(await objectGrants('copy'), [`READ ${everybody}`])
  const Key = 'parts'
  const { UploadId } = await root.send(new CreateMultipartUploadCommand({ Bucket, Key, ACL: 'authenticated-read' }))
  const { ETag } = await root.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'x' }))
  const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] }
  t.equal(await answerTo(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload })), 'ok')
  t.same(await objectGrants(Key), [`READ ${everyUser}`])
  t.equal(await answerTo(new PutObjectTaggingCommand({ Bucket, Key, Tagging: { TagSet: [] } })), 'ok')
  t.same(await objectGrants(Key), [`READ ${everyUser}`], 'tags leave it alone')

  for (const first of ['public-read', 'private'] as const) {
    t.equal(await put('sealed', first, root, { ServerSideEncryption: 'AES256' }), 'ok')
    t.equal(await setAcl('sealed', 'public-read'), 'ok')
    const answer = await fetch(`${endpoint}/${Bucket}/sealed`)
    t.same([await answer.text(), answer.headers.get('x-amz-server-side-encryption')], ['x', 'AES256'])
  }

  const writer = await userWith(allow('s3:PutObject'))
  t.equal(
    await answerTo(new CopyObjectCommand({ Bucket, Key: 'theirs', CopySource }), writer),
    'ok',
    'its source is public',
  )
  t.equal(await setAcl('source', 'private'), 'ok')
  t.equal(await answerTo(new CopyObjectCommand({ Bucket, Key: 'theirs', CopySource }), writer), none)
})

t.test('versions have lists of their own', async t => {
  await root.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  const Key = 'versions'
  const first = await root.send(new PutObjectCommand({ Bucket, Key, Body: '1', ACL: 'public-read' }))
  const second = await root.send(new PutObjectCommand({ Bucket, Key, Body: '2' }))
  const ask = async () => [
    await curl(`/${Bucket}/${Key}`),
    await curl(`/${Bucket}/${Key}?versionId=${first.VersionId}`),
    await curl(`/${Bucket}/${Key}?versionId=${second.VersionId}`),
  ]
  t.same(await ask(), [403, 200, 403])
  t.equal(await setAcl(Key, 'public-read', root, second.VersionId), 'ok')
  t.equal(await setAcl(Key, 'private', root, first.VersionId), 'ok')
  t.same(await ask(), [200, 403, 200])
})

t.test('to set a list of an object needs its own right', async t => {
  const writer = await userWith(allow('s3:PutObject'))
  const setter = await userWith(allow('s3:PutObject', 's3:PutObjectAcl'))
  t.equal(await put('mine', 'public-read', writer), none)
  t.equal(await get('mine', root), '404 NoSuchKey')
  t.equal(await put('mine', 'private', writer), 'ok')
  t.equal(await setAcl('mine', 'public-read', writer), none)
  t.equal(await put('mine', 'public-read', setter), 'ok')
  t.equal(await get('mine', writer), 'ok')
})

t.test('an embedded policy limits grants, they do not apply to shares, and a deny wins', async t => {
  t.equal(await put('limited/a', 'public-read'), 'ok')
  t.equal(await put('b', 'public-read'), 'ok')
  const policy = {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: `arn:aws:s3:::${Bucket}/limited/*` }],
  }
  await users.createUser({ accessKey: 'parent', secretKey, policyNames: [] })
  const caller = { identity: server.kernel.services.iam.owner, isAllowed: () => true }
  await users.createAccessKey(caller, { user: 'parent', accessKey: 'limited-key', secretKey, policy })
  const limited = server.as({ accessKey: 'limited-key', secretKey })
  t.same([await get('limited/a', limited), await get('b', limited)], ['ok', none])
  const { policy: engine } = server.kernel.services
  const asked = { action: 's3:GetObject', bucket: Bucket, key: 'b', objectAcl: () => 'public-read' }
  const identity = { accessKey: 'x', displayName: 'x', ownerId: 'x', isRoot: false, groups: [] }
  t.equal(engine.isAllowed({ ...asked, identity: undefined }), true)
  t.equal(engine.isAllowed({ ...asked, identity: { ...identity, kind: 'access-key' } as never }), true)
  t.equal(engine.isAllowed({ ...asked, identity: { ...identity, kind: 'share' } as never }), false)
  const denied = await userWith({ Effect: 'Deny', Action: 's3:GetObject', Resource: 'arn:aws:s3:::*' })
  t.equal(await get('b', denied), none)
})

t.test('blocks refuse lists of objects and leave them out, and so does the ownership', async t => {
  t.equal(await put('blocked', 'public-read'), 'ok')
  t.equal(await block({ BlockPublicAcls: true }), 'ok')
  t.equal(await curl(`/${Bucket}/blocked`), 200)
  t.equal(await put('blocked', 'authenticated-read'), none)
  t.equal(await setAcl('blocked', 'public-read'), none)
  t.equal(await put('not-public', 'bucket-owner-full-control'), 'ok')
  t.equal(await block({ IgnorePublicAcls: true }), 'ok')
  t.same([await curl(`/${Bucket}/blocked`), await get('blocked', nobody)], [403, none])
  t.same(await objectGrants('blocked'), [`READ ${everybody}`])
  t.equal(await block({}), 'ok')
  t.equal(await curl(`/${Bucket}/blocked`), 200)
  t.equal(await own('BucketOwnerEnforced'), 'ok')
  t.equal(await curl(`/${Bucket}/blocked`), 403)
  t.same(await objectGrants('blocked'), [])
  t.equal(await put('o', 'public-read'), '400 AccessControlListNotSupported')
  t.equal(await own('ObjectWriter'), 'ok')
  t.equal(await curl(`/${Bucket}/blocked`), 200, 'as on AWS')
  t.equal(await own('BucketOwnerEnforced'), 'ok')
  t.equal(await setAcl('blocked', 'private'), 'ok')
  t.equal(await own('ObjectWriter'), 'ok')
  t.equal(await curl(`/${Bucket}/blocked`), 403, 'who makes it private while lists are off has made it private')
})

t.test('SVC_BLOCK_PUBLIC_ACCESS leaves out the lists of every bucket', async t => {
  for (const blockPublicAccessMode of ['reject', 'ignore']) {
    const blocking = await startServer({
      config: { 'object-ownership': { blockPublicAccess: true, blockPublicAccessMode } },
    })
    const ask = (command: object) => outcome(blocking.root.send(command as never))
    const answer = blockPublicAccessMode === 'reject' ? none : 'ok'
    t.equal(await ask(new CreateBucketCommand({ Bucket, ObjectOwnership: 'ObjectWriter' })), 'ok')
    t.equal(await ask(new PutBucketAclCommand({ Bucket, ACL: 'public-read' })), answer)
    t.equal(await ask(new PutObjectCommand({ Bucket, Key: 'o', Body: 'x', ACL: 'public-read' })), answer)
    t.equal(await ask(new PutObjectCommand({ Bucket, Key: 'o', Body: 'x' })), 'ok')
    t.equal(await ask(new PutObjectAclCommand({ Bucket, Key: 'o', ACL: 'public-read' })), answer)
    for (const path of [`/${Bucket}`, `/${Bucket}/o`]) t.equal((await fetch(`${blocking.endpoint}${path}`)).status, 403)
    await blocking.stop()
  }
})

t.test('a copy that only a list allows reads no version that was written meanwhile', async t => {
  let overwrite: (() => Promise<unknown>) | undefined
  /** Asked before the object's plugin, between the decision and the read. */
  const between = definePlugin({
    name: 'between',
    setup({ contribute }) {
      const acceptAcl = async () => {
        await overwrite?.()
        return undefined
      }
      contribute('s3.attribute', 'between', {
        headers: [],
        read: () => undefined,
        describe: () => undefined,
        acceptAcl,
      })
    },
  })
  const racing = await startServer({ plugins: [between, ...standard] })
  t.teardown(() => racing.stop())
  const Statement = [allow('s3:PutObject')]
  await racing.users.putPolicy('writer', { Version: '2012-10-17', Statement } as never)
  await racing.users.createUser({ accessKey: 'writer', secretKey, policyNames: ['writer'] })
  const writer = racing.as({ accessKey: 'writer', secretKey })
  const source = { Bucket, Key: 'source' }
  await racing.root.send(new CreateBucketCommand({ Bucket, ObjectOwnership: 'ObjectWriter' }))
  await racing.root.send(new PutObjectCommand({ ...source, Body: 'x' }))
  await racing.root.send(new PutObjectAclCommand({ ...source, ACL: 'public-read' }))
  const copy = () =>
    outcome(
      writer.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `/${Bucket}/source`, ACL: 'private' })),
    )
  t.equal(await copy(), 'ok')
  overwrite = () => racing.root.send(new PutObjectCommand({ ...source, Body: 'secret' }))
  t.equal(await copy(), none)
})

t.test('a form sets a list as its policy says', async t => {
  t.equal(await putAcl({ ACL: 'public-read-write' }), 'ok')
  const post = async (key: string, acl?: string) => {
    const form = new FormData()
    form.set('key', key)
    if (acl !== undefined) form.set('acl', acl)
    form.set('file', new Blob(['x']))
    return (await fetch(`${endpoint}/${Bucket}`, { method: 'POST', body: form })).status
  }
  t.equal(await post('form'), 204)
  t.equal(await post('form', 'private'), 204)
  t.equal(await post('form', 'public-read'), 403, 'a stranger sets no list')
  const Policy = JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      { Effect: 'Allow', Principal: '*', Action: 's3:PutObjectAcl', Resource: `arn:aws:s3:::${Bucket}/form` },
    ],
  })
  t.equal(await answerTo(new PutBucketPolicyCommand({ Bucket, Policy })), 'ok')
  t.equal(await post('form', 'public-read'), 204)
  t.equal(await curl(`/${Bucket}/form`), 200)
})

t.test('grants of headers are read in a time that grows with their length alone', async t => {
  t.equal(await putAcl({ ACL: 'public-read-write' }), 'ok')
  const blanks = ' '.repeat(12_000)
  // Patterns would be tried for hours.
  const odd = [
    `id=${blanks}"`,
    `id=${blanks}x"`,
    `${blanks}=${blanks}`,
    `id${blanks}="${blanks}`,
    `uri="${blanks}`,
    'id="',
    '=',
    ',',
  ]
  for (const value of odd) {
    t.equal(await curl(`/${Bucket}/odd`, 'PUT', { 'x-amz-grant-read': value }), 400)
  }
  const { ownerId } = server.kernel.services.iam.owner
  const good = [`id="${ownerId}"`, ` ID = ${ownerId} `, `id=${ownerId}, emailAddress="${ownerId}"`]
  for (const GrantRead of good)
    t.equal(await answerTo(new PutObjectCommand({ Bucket, Key: 'good', Body: 'x', GrantRead })), 'ok')
  t.equal(await putAcl({ ACL: 'private' }), 'ok')
})

t.test('a policy can deny what grants of headers ask for, as it can deny a canned list', async t => {
  t.equal(await putAcl({ ACL: 'private' }), 'ok')
  const Resource = 'arn:aws:s3:::*'
  const user = await userWith(
    allow('s3:PutObject', 's3:PutObjectAcl'),
    { Effect: 'Deny', Action: 's3:*', Resource, Condition: { StringLike: { 's3:x-amz-acl': 'public-*' } } },
    { Effect: 'Deny', Action: 's3:*', Resource, Condition: { StringLike: { 's3:x-amz-grant-read': '*AllUsers*' } } },
  )
  const put = (input: Partial<PutObjectCommandInput>) =>
    answerTo(new PutObjectCommand({ Bucket, Key: 'denied', Body: 'x', ...input }), user)
  const GrantRead = `uri="${everybody}"`
  t.equal(await put({}), 'ok')
  t.equal(await put({ ACL: 'public-read' }), '403 AccessDenied')
  t.equal(await put({ GrantRead }), '403 AccessDenied')
  t.equal(await answerTo(new PutObjectAclCommand({ Bucket, Key: 'denied', GrantRead }), user), '403 AccessDenied')
  t.equal(await put({ GrantRead: `uri="${everyUser}"` }), 'ok')
})
