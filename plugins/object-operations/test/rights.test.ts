/** Permissions: renames, conditions, copied tags, and missing keys. */
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  RenameObjectCommand,
  type RenameObjectCommandInput,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { outcome } from 'svc/plugins/s3/testing'
import { startServer } from 'svc/plugins/users/testing'
import t, { type Test } from 'tap'

const server = await startServer()
t.teardown(() => server.stop())
const { root, users } = server
const Bucket = 'rights'
const other = 'rights-elsewhere'
for (const name of [Bucket, other]) await root.send(new CreateBucketCommand({ Bucket: name }))

type Statement = Readonly<Record<string, unknown>>
const on = (Resource: string, Action: string | string[], Condition?: object): Statement => ({
  Effect: 'Allow',
  Action,
  Resource: `arn:aws:s3:::${Resource}`,
  ...(Condition === undefined ? undefined : { Condition }),
})
const denied = (statement: Statement): Statement => ({ ...statement, Effect: 'Deny' })

let count = 0
/** A user with exactly these statements. */
async function userWith(...Statement: Statement[]): Promise<S3Client> {
  const name = `user-${++count}`
  await users.putPolicy(name, { Version: '2012-10-17', Statement } as never)
  await users.createUser({ accessKey: name, secretKey: 'a-secret-of-somebody', policyNames: [name] })
  return server.as({ accessKey: name, secretKey: 'a-secret-of-somebody' })
}

const put = async (Key: string, Body = 'x', Tagging?: string, bucket = Bucket) =>
  (await root.send(new PutObjectCommand({ Bucket: bucket, Key, Body, Tagging }))).ETag!
const text = async (Key: string) => (await root.send(new GetObjectCommand({ Bucket, Key }))).Body!.transformToString()
const rename = (from: string, Key: string, more: Partial<RenameObjectCommandInput> = {}) =>
  new RenameObjectCommand({ Bucket, Key, RenameSource: encodeURIComponent(from), ...more })

async function outcomes(t: Test, client: S3Client, expected: readonly (readonly [object, string, string])[]) {
  for (const [command, answer, what] of expected) t.equal(await outcome(client.send(command as never)), answer, what)
}

t.test('an object is renamed', async t => {
  const ETag = await put('rename/a b', 'first', 'team=x')
  const before = await root.send(new HeadObjectCommand({ Bucket, Key: 'rename/a b' }))
  await root.send(rename('rename/a b', 'rename/ü'))
  const after = await root.send(new HeadObjectCommand({ Bucket, Key: 'rename/ü' }))
  t.same([after.ETag, after.LastModified, after.TagCount], [ETag, before.LastModified, 1])
  t.equal(await outcome(root.send(new GetObjectCommand({ Bucket, Key: 'rename/a b' }))), '404 NoSuchKey')
  await put('rename/to', 'second')
  const past = new Date(Date.now() - 60_000)
  const future = new Date(Date.now() + 60_000)
  const failing: Partial<RenameObjectCommandInput>[] = [
    { DestinationIfNoneMatch: '*' },
    { DestinationIfMatch: ETag },
    { DestinationIfModifiedSince: future },
    { DestinationIfUnmodifiedSince: past },
    { SourceIfMatch: '"00"' },
    { SourceIfNoneMatch: '*' },
    { SourceIfModifiedSince: future },
    { SourceIfUnmodifiedSince: past },
  ]
  for (const more of failing) {
    t.equal(
      await outcome(root.send(rename('rename/ü', 'rename/to', more))),
      '412 PreconditionFailed',
      Object.keys(more)[0],
    )
  }
  await outcomes(t, root, [
    [rename('rename/ü', 'rename/ü'), '400 InvalidRequest', 'to itself'],
    [rename('rename/ü', 'rename/'), '400 InvalidRequest', 'to a key that ends with a slash'],
    [rename('rename/', 'rename/to'), '400 InvalidRequest', 'from such a key'],
    [rename('rename/none', 'rename/to'), '404 NoSuchKey', 'from nothing'],
    [rename('k'.repeat(1025), 'rename/to'), '400 KeyTooLongError', 'from what is no key'],
    [rename('', 'rename/to'), '400 InvalidArgument', 'without a source'],
    [rename('rename/ü', 'rename/to', { ClientToken: 'a b' }), '400 InvalidArgument', 'a token with a space'],
    [rename('rename/ü', 'rename/to', { ClientToken: 'x'.repeat(65) }), '400 InvalidArgument', 'a long token'],
    [rename('rename/ü', 'rename/to', { DestinationIfNoneMatch: '"00"' }), '501 NotImplemented', 'not an ETag there'],
    [rename('a', 'b', { Bucket: 'rights-nowhere' }), '404 NoSuchBucket', 'in no bucket'],
  ])
  for (const _ of ['the first', 'a repetition']) {
    await root.send(rename('rename/ü', 'rename/to', { ClientToken: 'token', SourceIfMatch: ETag }))
  }
  t.equal(await text('rename/to'), 'first')
  const mismatch = root.send(rename('rename/to', 'rename/ü', { ClientToken: 'token' }))
  t.equal(await outcome(mismatch), '400 IdempotencyParameterMismatch')

  const Versioned = { Bucket: 'rights-versioned' }
  await root.send(new CreateBucketCommand(Versioned))
  await put('from', 'x', undefined, Versioned.Bucket)
  for (const Status of ['Enabled', 'Suspended'] as const) {
    await root.send(new PutBucketVersioningCommand({ ...Versioned, VersioningConfiguration: { Status } }))
    t.equal(await outcome(root.send(rename('from', 'to', Versioned))), '409 InvalidBucketState', Status)
  }
})

t.test('a rename needs permission to read and delete one key, to write the other, and to copy tags', async t => {
  const from = `${Bucket}/right/from`
  const to = `${Bucket}/right/to`
  const needed = [on(to, 's3:PutObject'), on(from, 's3:GetObject'), on(from, 's3:DeleteObject')]
  const command = () => rename('right/from', 'right/to')
  for (const missing of needed) {
    await put('right/from')
    const client = await userWith(...needed.filter(one => one !== missing))
    t.equal(await outcome(client.send(command())), '403 AccessDenied', `without ${missing.Action}`)
  }
  const client = await userWith(...needed)
  t.equal(await outcome(client.send(command())), 'ok', 'with these three')
  t.equal(await outcome(client.send(command())), '403 AccessDenied', 'whether it is there is only told to who may list')
  await put('right/from', 'x', 'team=x')
  t.equal(await outcome(client.send(command())), '403 AccessDenied', 'not with tags')
  const tagging = [on(from, 's3:GetObjectTagging'), on(to, 's3:PutObjectTagging')]
  t.equal(await outcome((await userWith(...needed, ...tagging)).send(command())), 'ok')

  await put('right/from', 'x', 'team=x')
  const mayRead = await userWith(...needed, ...tagging, on(Bucket, 's3:ListBucket'))
  const refused = rename('right/from', 'right/to', { DestinationIfMatch: '"00"' })
  t.equal(await outcome(mayRead.send(refused)), '403 AccessDenied', 'what is at the destination is not told')
  const told = await userWith(...needed, ...tagging, on(to, 's3:GetObject'))
  t.equal(await outcome(told.send(refused)), '412 PreconditionFailed')
  t.equal(await outcome(mayRead.send(rename('right/none', 'right/to'))), '403 AccessDenied')
  const existing = { StringEquals: { 's3:ExistingObjectTag/team': 'x' } }
  const byTag = await userWith(
    on(to, 's3:PutObject'),
    on(from, ['s3:GetObject', 's3:DeleteObject'], existing),
    ...tagging,
  )
  t.equal(await outcome(byTag.send(command())), 'ok', 'tags of the source count')
  await put('right/from', 'x', 'team=y')
  t.equal(await outcome(byTag.send(command())), '403 AccessDenied')
})

t.test('conditions of writes and deletes reveal nothing to callers who may not read', async t => {
  const Key = 'conditions/key'
  const ETag = await put(Key)
  const all = `${Bucket}/conditions/*`
  const writer = await userWith(on(all, ['s3:PutObject', 's3:DeleteObject']))
  const { UploadId } = await root.send(new CreateMultipartUploadCommand({ Bucket, Key }))
  const part = await root.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'part' }))
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag: part.ETag }] }
  const complete = (IfMatch: string) =>
    new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload, IfMatch })
  for (const IfMatch of [ETag, '"00000000000000000000000000000000"', '*']) {
    for (const name of [Key, 'conditions/none']) {
      await outcomes(t, writer, [
        [new PutObjectCommand({ Bucket, Key: name, Body: 'y', IfMatch }), '403 AccessDenied', `put ${name} ${IfMatch}`],
      ])
    }
    await outcomes(t, writer, [[complete(IfMatch), '403 AccessDenied', `complete ${IfMatch}`]])
    if (IfMatch === '*') continue
    await outcomes(t, writer, [
      [new DeleteObjectCommand({ Bucket, Key, IfMatch }), '403 AccessDenied', `delete ${IfMatch}`],
      [new DeleteObjectCommand({ Bucket, Key, IfMatch: '*', IfMatchSize: 1 }), '403 AccessDenied', 'by its size'],
      [
        new DeleteObjectCommand({ Bucket, Key, IfMatchLastModifiedTime: new Date() }),
        '403 AccessDenied',
        'by its time',
      ],
    ])
    const Delete = { Objects: [{ Key, ETag: IfMatch, Size: 1 }] }
    const { Errors } = await writer.send(new DeleteObjectsCommand({ Bucket, Delete }))
    t.match(Errors, [{ Code: 'AccessDenied' }])
  }
  t.equal(await text(Key), 'x')
  const IfNoneMatch = '*'
  await outcomes(t, writer, [
    [new PutObjectCommand({ Bucket, Key, Body: 'y', IfNoneMatch }), '412 PreconditionFailed', 'as on AWS'],
    [new PutObjectCommand({ Bucket, Key: 'conditions/new', Body: 'y', IfNoneMatch }), 'ok', 'as on AWS'],
    [new DeleteObjectCommand({ Bucket, Key: 'conditions/new', IfMatch: '*' }), 'ok', 'as on AWS'],
  ])
  const reader = await userWith(on(all, ['s3:PutObject', 's3:DeleteObject', 's3:GetObject']))
  await outcomes(t, reader, [
    [new PutObjectCommand({ Bucket, Key, Body: 'y', IfMatch: '"00"' }), '412 PreconditionFailed', 'who may read'],
    [
      new PutObjectCommand({ Bucket, Key: 'conditions/none', Body: 'y', IfMatch: '"00"' }),
      '403 AccessDenied',
      'not list',
    ],
    [new PutObjectCommand({ Bucket, Key, Body: 'x', IfMatch: ETag }), 'ok', 'who may read'],
    [complete(ETag), 'ok', 'who may read'],
  ])
  const lister = await userWith(on(all, ['s3:PutObject', 's3:GetObject']), on(Bucket, 's3:ListBucket'))
  await outcomes(t, lister, [
    [new PutObjectCommand({ Bucket, Key: 'conditions/none', Body: 'y', IfMatch: '"00"' }), '404 NoSuchKey', 'may list'],
  ])
  await put('conditions/tagged', 'x', 'team=x')
  const byTag = await userWith(
    on(all, 's3:PutObject'),
    on(all, 's3:GetObject', { StringEquals: { 's3:ExistingObjectTag/team': 'x' } }),
  )
  await outcomes(t, byTag, [
    [
      new PutObjectCommand({ Bucket, Key: 'conditions/tagged', Body: 'y', IfMatch: '"00"' }),
      '412 PreconditionFailed',
      '',
    ],
    [new PutObjectCommand({ Bucket, Key, Body: 'y', IfMatch: '"00"' }), '403 AccessDenied', 'without the tag'],
  ])
})

t.test('a missing source is reported to callers who may list its bucket', async t => {
  await put('source/there', 'x', undefined, other)
  const target = on(`${Bucket}/*`, 's3:PutObject')
  const reads = on(`${other}/*`, 's3:GetObject')
  const { UploadId } = await root.send(new CreateMultipartUploadCommand({ Bucket, Key: 'copied' }))
  const copies = (CopySource: string) => [
    new CopyObjectCommand({ Bucket, Key: 'copied', CopySource }),
    new UploadPartCopyCommand({ Bucket, Key: 'copied', UploadId, PartNumber: 1, CopySource }),
  ]
  const cases = [
    ['nobody may list', [target, reads], '403 AccessDenied'],
    ['the destination may be listed', [target, reads, on(Bucket, 's3:ListBucket')], '403 AccessDenied'],
    ['the source may be listed', [target, reads, on(other, 's3:ListBucket')], '404 NoSuchKey'],
    ['the source may not be read', [target, on(other, 's3:ListBucket')], '403 AccessDenied'],
  ] as const
  for (const [what, statements, answer] of cases) {
    const client = await userWith(...statements)
    for (const command of copies(`${other}/source/none`))
      t.equal(await outcome(client.send(command as never)), answer, what)
  }
  const client = await userWith(target, reads)
  for (const command of copies(`${other}/source/there`)) t.equal(await outcome(client.send(command as never)), 'ok')
})

t.test('every operation hides a missing key from callers who may not list', async t => {
  const Key = 'hidden/none'
  const client = await userWith(on(`${Bucket}/hidden/*`, 's3:*'))
  const Tagging = { TagSet: [{ Key: 'a', Value: 'b' }] }
  await outcomes(t, client, [
    [new GetObjectCommand({ Bucket, Key }), '403 AccessDenied', 'GetObject'],
    [new GetObjectTaggingCommand({ Bucket, Key }), '403 AccessDenied', 'GetObjectTagging'],
    [new PutObjectTaggingCommand({ Bucket, Key, Tagging }), '403 AccessDenied', 'PutObjectTagging'],
  ])
})

t.test('policies evaluate the tags that a copy writes, from the request or the source', async t => {
  const Key = 'tags/copy'
  const CopySource = `${other}/tags/source`
  const base = [
    on(`${other}/*`, ['s3:GetObject', 's3:GetObjectTagging']),
    on(`${Bucket}/tags/*`, ['s3:PutObjectTagging']),
  ]
  const copy = (more: object = {}) => new CopyObjectCommand({ Bucket, Key, CopySource, ...more })
  const byHeader = { TaggingDirective: 'REPLACE', Tagging: 'team=x' }
  const condition = { StringEquals: { 's3:RequestObjectTag/team': 'x' } }
  const keys = { 'ForAllValues:StringEquals': { 's3:RequestObjectTagKeys': ['team'] } }
  const writes = `${Bucket}/tags/*`
  const onlyX = await userWith(...base, on(writes, 's3:PutObject', condition))
  const notX = await userWith(...base, on(writes, 's3:PutObject'), denied(on(writes, 's3:PutObject', condition)))
  const onlyTeam = await userWith(...base, on(writes, 's3:PutObject', keys))
  for (const [tags, allowed] of [
    ['team=x', [true, false, true]],
    ['team=y', [false, true, true]],
    ['team=x&other=1', [true, false, false]],
    ['', [false, true, true]],
  ] as const) {
    await put('tags/source', 'x', tags, other)
    for (const [index, client] of [onlyX, notX, onlyTeam].entries()) {
      const answer = allowed[index] ? 'ok' : '403 AccessDenied'
      t.equal(await outcome(client.send(copy())), answer, `COPY of "${tags}" ${index}`)
      // A header that has no effect does not count.
      t.equal(
        await outcome(client.send(copy({ Tagging: 'team=x' }))),
        answer,
        `COPY of "${tags}" ${index}, with a header`,
      )
    }
  }
  await put('tags/source', 'x', 'team=y', other)
  t.equal(await outcome(onlyX.send(copy(byHeader))), 'ok', 'what is replaced is named by the header')
  t.equal(await outcome(notX.send(copy(byHeader))), '403 AccessDenied')
  await put('tags/from', 'x', 'team=x')
  const mover = [
    on(`${Bucket}/tags/*`, ['s3:GetObject', 's3:DeleteObject', 's3:GetObjectTagging', 's3:PutObjectTagging']),
  ]
  const denies = await userWith(...mover, on(writes, 's3:PutObject'), denied(on(writes, 's3:PutObject', condition)))
  const allows = await userWith(...mover, on(writes, 's3:PutObject', condition))
  t.equal(await outcome(denies.send(rename('tags/from', 'tags/to'))), '403 AccessDenied', 'a rename is judged as well')
  t.equal(await outcome(allows.send(rename('tags/from', 'tags/to'))), 'ok')
})

t.test('policies evaluate the tags with which an upload was begun, until its end', async t => {
  const condition = { StringEquals: { 's3:RequestObjectTag/team': 'x' } }
  const writes = `${Bucket}/parts/*`
  const onlyX = await userWith(on(writes, ['s3:PutObject', 's3:PutObjectTagging'], condition))
  const onlyTeam = await userWith(
    on(writes, 's3:PutObject', { 'ForAllValues:StringEquals': { 's3:RequestObjectTagKeys': ['team'] } }),
  )
  const notX = await userWith(on(writes, 's3:PutObject'), denied(on(writes, 's3:PutObject', condition)))
  const Key = 'parts/k'
  await put('parts/source')
  const begin = async (client: S3Client, Tagging?: string) =>
    (await client.send(new CreateMultipartUploadCommand({ Bucket, Key, Tagging }))).UploadId!
  const steps = async (client: S3Client, UploadId: string) => {
    const upload = { Bucket, Key, UploadId }
    // By a user who may, so that the completion does not fail because of a missing part.
    const { ETag } = await root.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: 'part' }))
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    return [
      await outcome(client.send(new UploadPartCommand({ ...upload, PartNumber: 2, Body: 'part' }))),
      await outcome(client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload }))),
    ]
  }
  const all = (answer: string) => [answer, answer]
  const forbidden = all('403 AccessDenied')
  t.same(await steps(onlyX, await begin(onlyX, 'team=x')), all('ok'), 'what may be begun may be ended')
  t.same((await root.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet, [{ Key: 'team', Value: 'x' }])
  for (const tags of [undefined, 'team=y']) {
    t.equal(await outcome(begin(onlyX, tags)), '403 AccessDenied')
    t.same(await steps(onlyX, await begin(root, tags)), forbidden, `an upload of another, with ${tags}`)
    t.same(await steps(notX, await begin(root, tags)), all('ok'))
  }
  t.same(await steps(notX, await begin(root, 'team=x')), forbidden, 'what denies the beginning denies the rest')
  t.same(await steps(onlyTeam, await begin(root, 'team=y')), all('ok'))
  t.same(await steps(onlyTeam, await begin(root, 'team=y&other=z')), forbidden)
  const parts = (UploadId: string, PartNumber: number) =>
    onlyX.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body: 'x' }))
  t.equal(await outcome(parts('none', 1)), '403 AccessDenied', 'there is no such upload')
  // The header has no effect, so it must not affect the decision.
  const untagged = await begin(root)
  const claimed = new UploadPartCommand({ Bucket, Key, UploadId: untagged, PartNumber: 1, Body: 'x' })
  claimed.middlewareStack.add(
    next => args => {
      ;(args.request as { headers: Record<string, string> }).headers['x-amz-tagging'] = 'team=x'
      return next(args)
    },
    { step: 'build' },
  )
  t.equal(await outcome(onlyX.send(claimed)), '403 AccessDenied', 'a header is no tag of the upload')
})

t.test('DeleteObjects hides a bucket in which the caller may delete nothing', async t => {
  const client = await userWith(
    on(`${Bucket}/mine/*`, 's3:DeleteObject'),
    on('rights-nowhere/mine/*', 's3:DeleteObject'),
  )
  const send = async (bucket: string, Key: string, more: object = {}) => {
    const Delete = { Objects: [{ Key }] }
    const done = client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete, ...more }))
    return done.then(
      ({ Errors }) => Errors?.[0]?.Code ?? 'ok',
      (error: Error) => error.name,
    )
  }
  const ExpectedBucketOwner = 'a'.repeat(64)
  for (const bucket of [Bucket, other, 'rights-nowhere']) {
    t.equal(await send(bucket, 'not/mine'), 'AccessDenied', bucket)
    t.equal(await send(bucket, 'not/mine', { ExpectedBucketOwner }), 'AccessDenied', `${bucket}, of another owner`)
  }
  t.equal(await send('rights-nowhere', 'mine/a'), 'NoSuchBucket', 'who may delete there may know')
  t.equal(await send(Bucket, 'mine/a'), 'ok')
  const policy = {
    Version: '2012-10-17',
    Statement: [{ ...denied(on(`${Bucket}/mine/*`, 's3:DeleteObject')), Principal: '*' }],
  }
  await root.send(new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify(policy) }))
  t.equal(await send(Bucket, 'mine/a'), 'AccessDenied')
})
