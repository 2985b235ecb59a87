import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteBucketOwnershipControlsCommand,
  DeleteObjectCommand,
  DeletePublicAccessBlockCommand,
  GetBucketAclCommand,
  GetBucketOwnershipControlsCommand,
  GetObjectAclCommand,
  GetPublicAccessBlockCommand,
  type ObjectOwnership,
  PutBucketAclCommand,
  PutBucketOwnershipControlsCommand,
  PutBucketVersioningCommand,
  PutObjectAclCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
} from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import t from 'tap'
import type { ObjectOwnershipService } from '../api.ts'

let ownership: ObjectOwnershipService | undefined
const observer = definePlugin({
  name: 'ownership-observer',
  requires: ['objectOwnership'],
  setup({ services }) {
    ownership = services.objectOwnership
  },
})
const server = await startServer({ plugins: [...standard, observer] })
t.teardown(() => server.stop())
const { client, endpoint } = server
const Bucket = 'owned-bucket'
await client.send(new CreateBucketCommand({ Bucket }))
// biome-ignore lint/suspicious/noExplicitAny: any command of the SDK
const outcomeOf = (command: any) => outcome(client.send(command))
/** Documents that no SDK would write. */
const putRaw = async (query: string, document: string) => {
  const body = document.replaceAll('OWNER', server.kernel.services.iam.owner.ownerId)
  const answer = await server.signed({ method: 'PUT', path: `/${Bucket}`, query: `${query}=`, body })
  return answer.ok ? 'ok' : `${answer.status} ${/<Code>(.*)<\/Code>/.exec(await answer.text())?.[1]}`
}

t.test('public access is blocked as it was said, flag by flag', async t => {
  const get = () => client.send(new GetPublicAccessBlockCommand({ Bucket }))
  t.equal(await outcome(get()), '404 NoSuchPublicAccessBlockConfiguration')
  const nothing = {
    blockPublicAcls: false,
    ignorePublicAcls: false,
    blockPublicPolicy: false,
    restrictPublicBuckets: false,
  }
  t.same(await ownership!.blocks(Bucket), nothing)
  const PublicAccessBlockConfiguration = { BlockPublicPolicy: true, RestrictPublicBuckets: false }
  await client.send(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration }))
  t.same((await get()).PublicAccessBlockConfiguration, {
    BlockPublicAcls: false,
    IgnorePublicAcls: false,
    BlockPublicPolicy: true,
    RestrictPublicBuckets: false,
  })
  t.same(await ownership!.blocks(Bucket), { ...nothing, blockPublicPolicy: true })
  t.equal(await outcomeOf(new DeletePublicAccessBlockCommand({ Bucket })), 'ok')
  t.equal(await outcomeOf(new DeletePublicAccessBlockCommand({ Bucket })), 'ok', 'and again')
  t.equal(await outcome(get()), '404 NoSuchPublicAccessBlockConfiguration')
  t.same(await ownership!.blocks(Bucket), nothing)
  t.same(await ownership!.blocks('no-such-bucket'), nothing)
  const root = 'PublicAccessBlockConfiguration'
  t.equal(
    await putRaw('publicAccessBlock', `<${root}><BlockEverything>true</BlockEverything></${root}>`),
    '400 MalformedXML',
  )
  t.equal(
    await putRaw('publicAccessBlock', `<${root}><BlockPublicAcls>maybe</BlockPublicAcls></${root}>`),
    '400 MalformedXML',
  )
  t.equal(await putRaw('publicAccessBlock', `<${root}><BlockPublicAcls>TRUE</BlockPublicAcls></${root}>`), 'ok')
  t.equal((await get()).PublicAccessBlockConfiguration!.BlockPublicAcls, true)
})

t.test('ownership controls are there until they are removed', async t => {
  const get = () => client.send(new GetBucketOwnershipControlsCommand({ Bucket }))
  const put = (...rules: string[]) =>
    outcomeOf(
      new PutBucketOwnershipControlsCommand({
        Bucket,
        OwnershipControls: { Rules: rules.map(rule => ({ ObjectOwnership: rule as ObjectOwnership })) },
      }),
    )
  t.same((await get()).OwnershipControls, { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] })
  t.equal(await outcomeOf(new DeleteBucketOwnershipControlsCommand({ Bucket })), 'ok')
  t.equal(await outcome(get()), '404 OwnershipControlsNotFoundError')
  t.equal(await put('Nobody'), '400 MalformedXML')
  t.equal(await put('BucketOwnerEnforced', 'BucketOwnerEnforced'), '400 MalformedXML')
  t.equal(await outcome(get()), '404 OwnershipControlsNotFoundError', 'what was refused changed nothing')
  t.equal(await put('ObjectWriter'), 'ok')
  t.same((await get()).OwnershipControls, { Rules: [{ ObjectOwnership: 'ObjectWriter' }] })
  t.equal(await put('BucketOwnerPreferred'), 'ok')
  t.same((await get()).OwnershipControls, { Rules: [{ ObjectOwnership: 'BucketOwnerPreferred' }] })
  t.equal(await put('BucketOwnerEnforced'), 'ok')
  t.same((await get()).OwnershipControls, { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] })
})

t.test('the list of a bucket is the fixed one', async t => {
  const { Owner, Grants } = await client.send(new GetBucketAclCommand({ Bucket }))
  t.match(Owner, { ID: /^[0-9a-f]{64}$/, DisplayName: 'admin' })
  t.match(Grants, [{ Grantee: { ID: Owner!.ID, Type: 'CanonicalUser' }, Permission: 'FULL_CONTROL' }])
  t.equal(Grants!.length, 1)
  const put = (input: object) => outcomeOf(new PutBucketAclCommand({ Bucket, ...input }))
  t.equal(await put({ ACL: 'private' }), 'ok')
  t.equal(await put({ ACL: 'bucket-owner-full-control' }), 'ok')
  t.equal(await put({ ACL: 'public-read' }), '400 AccessControlListNotSupported')
  t.equal(await put({ ACL: 'whatever' }), '400 InvalidArgument')
  t.equal(await put({ GrantRead: 'id=x' }), '400 AccessControlListNotSupported')
  t.equal(await put({}), '400 MissingSecurityHeader')
  t.equal(await put({ AccessControlPolicy: { Owner, Grants } }), 'ok', 'what was read can be written')
  t.equal(await put({ ACL: 'private', AccessControlPolicy: { Owner, Grants } }), '400 UnexpectedContent')
  const everyone = {
    Grantee: { Type: 'Group', URI: 'http://acs.amazonaws.com/groups/global/AllUsers' },
    Permission: 'READ',
  }
  const other = { Grantee: { Type: 'CanonicalUser', ID: 'f'.repeat(64) }, Permission: 'FULL_CONTROL' }
  for (const list of [[...Grants!, everyone], [everyone], [other], []]) {
    t.equal(await put({ AccessControlPolicy: { Owner, Grants: list } }), '400 AccessControlListNotSupported')
  }
  t.equal(await put({ AccessControlPolicy: { Owner: { ID: 'f' }, Grants } }), '400 AccessControlListNotSupported')
  const grant = '<Grant><Grantee><ID>OWNER</ID></Grantee><Permission>FULL_CONTROL</Permission></Grant>'
  const policy = (content: string) => `<AccessControlPolicy>${content}</AccessControlPolicy>`
  t.equal(await putRaw('acl', policy(`<AccessControlList>${grant}</AccessControlList>`)), 'ok')
  t.equal(await putRaw('acl', policy(`<AccessControlList>${grant}<New/></AccessControlList>`)), '400 MalformedXML')
  t.equal(await putRaw('acl', policy('')), '400 MalformedACLError')
})

t.test('the list of an object is the fixed one, version by version', async t => {
  const Key = 'a key'
  t.equal(await outcomeOf(new GetObjectAclCommand({ Bucket, Key })), '404 NoSuchKey')
  t.equal(await outcomeOf(new PutObjectAclCommand({ Bucket, Key, ACL: 'private' })), '404 NoSuchKey')
  const VersioningConfiguration = { Status: 'Enabled' } as const
  await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }))
  const { VersionId } = await client.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))
  const { Owner, Grants } = await client.send(new GetObjectAclCommand({ Bucket, Key, VersionId }))
  t.match(Grants, [{ Grantee: { ID: Owner!.ID, Type: 'CanonicalUser' }, Permission: 'FULL_CONTROL' }])
  t.equal(await outcomeOf(new PutObjectAclCommand({ Bucket, Key, VersionId, ACL: 'private' })), 'ok')
  const AccessControlPolicy = { Owner, Grants }
  t.equal(await outcomeOf(new PutObjectAclCommand({ Bucket, Key, AccessControlPolicy })), 'ok')
  t.equal(
    await outcomeOf(new PutObjectAclCommand({ Bucket, Key, ACL: 'public-read' })),
    '400 AccessControlListNotSupported',
  )
  t.equal(await outcomeOf(new GetObjectAclCommand({ Bucket, Key, VersionId: 'nonsense' })), '400 InvalidArgument')
  const marker = await client.send(new DeleteObjectCommand({ Bucket, Key }))
  t.equal(
    await outcomeOf(new GetObjectAclCommand({ Bucket, Key, VersionId: marker.VersionId })),
    '405 MethodNotAllowed',
  )
  t.equal(await outcomeOf(new GetObjectAclCommand({ Bucket, Key, VersionId })), 'ok')
})

t.test('a new bucket of the same name knows nothing of the old one', async t => {
  const Bucket = 'comes-and-goes'
  await client.send(new CreateBucketCommand({ Bucket }))
  const PublicAccessBlockConfiguration = { BlockPublicPolicy: true }
  await client.send(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration }))
  await client.send(new DeleteBucketOwnershipControlsCommand({ Bucket }))
  await client.send(new DeleteBucketCommand({ Bucket }))
  t.equal(await outcomeOf(new GetPublicAccessBlockCommand({ Bucket })), '404 NoSuchBucket')
  t.equal(
    await outcomeOf(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration })),
    '404 NoSuchBucket',
  )
  await client.send(new CreateBucketCommand({ Bucket }))
  t.equal(await outcomeOf(new GetPublicAccessBlockCommand({ Bucket })), '404 NoSuchPublicAccessBlockConfiguration')
  t.equal(await outcomeOf(new GetBucketOwnershipControlsCommand({ Bucket })), 'ok')
  t.equal((await fetch(`${endpoint}/${Bucket}?publicAccessBlock`)).status, 403, 'a stranger learns nothing')
})
