/** Versioning as clients see it: every operation that takes or gives a version id. */
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketVersioningCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandInput,
  PutBucketVersioningCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import t from 'tap'

const server = await startServer()
t.teardown(() => server.stop())
const { client, anonymous } = server
let bucketCount = 0

async function newBucket(status?: 'Enabled' | 'Suspended') {
  const Bucket = `versions-${++bucketCount}`
  await client.send(new CreateBucketCommand({ Bucket }))
  const version = (Status: 'Enabled' | 'Suspended') =>
    client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status } }))
  if (status !== undefined) await version(status)
  const put = async (Key: string, Body: string, extra = {}) =>
    (await client.send(new PutObjectCommand({ Bucket, Key, Body, ...extra }))).VersionId
  const remove = (Key: string, VersionId?: string) => client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }))
  const text = async (Key: string, VersionId?: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, VersionId }))
    return Body!.transformToString()
  }
  const versions = (extra: Partial<ListObjectVersionsCommandInput> = {}) =>
    client.send(new ListObjectVersionsCommand({ Bucket, ...extra }))
  return { Bucket, version, put, remove, text, versions }
}

/** The raw answer to a request that the SDK would hide in an error. */
async function refusal(
  sent: Promise<unknown>,
): Promise<{ status: number; code: string; headers: Record<string, string> }> {
  try {
    await sent
  } catch (error) {
    const { name, $response } = error as {
      name: string
      $response: { statusCode: number; headers: Record<string, string> }
    }
    return { status: $response.statusCode, code: name, headers: $response.headers }
  }
  throw new Error('it was not refused')
}

t.test('versioning is off until it is enabled, and then only suspended', async t => {
  const { Bucket, version } = await newBucket()
  const status = async () => (await client.send(new GetBucketVersioningCommand({ Bucket }))).Status
  t.equal(await status(), undefined)
  await version('Enabled')
  t.equal(await status(), 'Enabled')
  await version('Suspended')
  t.equal(await status(), 'Suspended')
  const put = (VersioningConfiguration: object) =>
    outcome(client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration })))
  t.equal(await put({ Status: 'Enabled', MFADelete: 'Enabled' }), '501 NotImplemented')
  t.equal(await put({ Status: 'Disabled' }), '400 MalformedXML')
  t.equal(await put({}), '400 MalformedXML')
  t.equal(await put({ Status: 'Enabled', MFADelete: 'Disabled' }), 'ok')
  for (const query of ['versioning', 'versions']) t.equal((await anonymous('GET', `/${Bucket}?${query}`)).status, 403)
})

t.test('each write of an enabled bucket is a version, and each can be read', async t => {
  const { Bucket, put, text, versions } = await newBucket('Enabled')
  const [first, second] = [await put('k', 'one'), await put('k', 'two')]
  t.match(first, /^[\w.-]{1,32}$/)
  t.not(first, second)
  t.equal(await text('k'), 'two')
  t.equal(await text('k', first), 'one')
  const got = await client.send(new GetObjectCommand({ Bucket, Key: 'k' }))
  t.equal(got.VersionId, second)
  await got.Body!.transformToString()
  t.equal((await client.send(new HeadObjectCommand({ Bucket, Key: 'k', VersionId: first }))).VersionId, first)
  const copied = await client.send(
    new CopyObjectCommand({
      Bucket,
      Key: 'k',
      CopySource: `${Bucket}/k?versionId=${first}`,
      MetadataDirective: 'REPLACE',
    }),
  )
  t.equal(copied.CopySourceVersionId, first)
  t.ok(copied.VersionId !== undefined && copied.VersionId !== first)
  t.equal(await text('k'), 'one')
  const attributes = new GetObjectAttributesCommand({
    Bucket,
    Key: 'k',
    VersionId: second,
    ObjectAttributes: ['ObjectSize'],
  })
  t.match(await client.send(attributes), { VersionId: second, ObjectSize: 3 })
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k' }))
  const part = await client.send(new UploadPartCommand({ Bucket, Key: 'k', UploadId, PartNumber: 1, Body: 'parts' }))
  const completion = new CompleteMultipartUploadCommand({
    Bucket,
    Key: 'k',
    UploadId,
    MultipartUpload: { Parts: [{ PartNumber: 1, ETag: part.ETag }] },
  })
  const completed = await client.send(completion)
  t.equal(await text('k', completed.VersionId), 'parts')
  t.equal(
    (await client.send(completion)).VersionId,
    completed.VersionId,
    'a repeated completion names the same version',
  )
  t.same(
    (await versions()).Versions!.map(({ VersionId, IsLatest, Size }) => [VersionId, IsLatest, Size]),
    [
      [completed.VersionId, true, 5],
      [copied.VersionId, false, 3],
      [second, false, 3],
      [first, false, 3],
    ],
  )
  t.equal(await outcome(text('k', '00000000000001')), '404 NoSuchVersion')
  t.equal(await outcome(text('k', 'null')), '404 NoSuchVersion')
  t.equal(await outcome(text('k', 'no id at all')), '400 InvalidArgument')
})

t.test('a delete creates a marker, and a delete of a version removes it', async t => {
  const { Bucket, put, remove, text, versions } = await newBucket('Enabled')
  const first = await put('k', 'one')
  const marker = await remove('k')
  t.equal(marker.DeleteMarker, true)
  const current = await refusal(client.send(new GetObjectCommand({ Bucket, Key: 'k' })))
  t.match(current, { status: 404, code: 'NoSuchKey' })
  t.match(current.headers, { 'x-amz-delete-marker': 'true', 'x-amz-version-id': marker.VersionId })
  const named = await refusal(client.send(new HeadObjectCommand({ Bucket, Key: 'k', VersionId: marker.VersionId })))
  t.equal(named.status, 405)
  t.match(named.headers, { 'x-amz-delete-marker': 'true', 'last-modified': /GMT$/, allow: 'DELETE' })
  const attributes = { Bucket, Key: 'k', ObjectAttributes: ['ETag' as const] }
  t.equal(await outcome(client.send(new GetObjectAttributesCommand(attributes))), '404 NoSuchKey')
  const copy = (source: string) =>
    outcome(client.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `${Bucket}/k${source}` })))
  t.equal(await copy(''), '404 NoSuchKey')
  t.equal(await copy(`?versionId=${marker.VersionId}`), '400 InvalidRequest')
  t.equal((await client.send(new ListObjectsV2Command({ Bucket }))).KeyCount, 0)
  const listed = await versions()
  t.same(
    [listed.DeleteMarkers!.length, listed.DeleteMarkers![0]!.IsLatest, listed.Versions![0]!.IsLatest],
    [1, true, false],
  )
  t.equal(await text('k', first), 'one')
  t.equal(await outcome(client.send(new DeleteBucketCommand({ Bucket }))), '409 BucketNotEmpty')
  t.match(await remove('k', marker.VersionId), { DeleteMarker: true, VersionId: marker.VersionId })
  t.equal(await text('k'), 'one', 'without the marker the version is there again')
  t.match(await remove('k', first), { DeleteMarker: undefined, VersionId: first })
  t.match(await remove('k', first), { VersionId: first }, 'nothing to delete is no error')
  t.equal(await outcome(remove('k', 'no id')), '400 InvalidArgument')
  t.equal(await outcome(client.send(new DeleteBucketCommand({ Bucket }))), 'ok')
})

t.test('a suspended bucket has one null version beside the others', async t => {
  const { version, put, remove, text, versions } = await newBucket()
  t.equal(await put('k', 'before'), undefined)
  await version('Enabled')
  const own = await put('k', 'own')
  t.equal(await text('k', 'null'), 'before')
  await version('Suspended')
  t.equal(await put('k', 'after'), undefined)
  t.equal(await text('k', 'null'), 'after')
  t.equal(await text('k', own), 'own')
  t.match(await remove('k'), { DeleteMarker: true, VersionId: 'null' })
  const { Versions, DeleteMarkers } = await versions()
  t.same([Versions!.map(v => v.VersionId), DeleteMarkers!.map(v => v.VersionId)], [[own], ['null']])
  t.match(await remove('k', 'null'), { DeleteMarker: true, VersionId: 'null' })
  t.equal(await text('k'), 'own')
})

t.test('conditions look at the current version, and a delete marker is none', async t => {
  const { Bucket, put, remove } = await newBucket('Enabled')
  const first = await put('k', 'one', { IfNoneMatch: '*' })
  t.equal(await outcome(put('k', 'two', { IfNoneMatch: '*' })), '412 PreconditionFailed')
  const { ETag } = await client.send(new HeadObjectCommand({ Bucket, Key: 'k' }))
  await remove('k')
  t.equal(await outcome(put('k', 'two', { IfMatch: ETag })), '404 NoSuchKey')
  t.equal(await outcome(put('k', 'two', { IfNoneMatch: '*' })), 'ok')
  const removeIf = (IfMatch: string, VersionId?: string) =>
    outcome(client.send(new DeleteObjectCommand({ Bucket, Key: 'k', IfMatch, VersionId })))
  t.equal(await removeIf(ETag!), '412 PreconditionFailed')
  t.equal(await removeIf('"other"', first), '412 PreconditionFailed')
  t.equal(await removeIf(ETag!, first), 'ok')
})

t.test('many are deleted in one request, by key or by version', async t => {
  const { Bucket, put, versions } = await newBucket('Enabled')
  const [a, b] = [await put('a', '1'), await put('b', '2')]
  const remove = async (Objects: { Key: string; VersionId?: string }[]) =>
    client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
  const first = await remove([{ Key: 'a' }, { Key: 'b', VersionId: b }, { Key: 'b', VersionId: 'no id' }])
  const markers = first.Deleted!.filter(({ DeleteMarker }) => DeleteMarker)
  t.match(markers, [{ Key: 'a', DeleteMarkerVersionId: /./, VersionId: undefined }])
  t.ok(first.Deleted!.some(({ Key, VersionId, DeleteMarker }) => Key === 'b' && VersionId === b && !DeleteMarker))
  t.match(first.Errors, [{ Key: 'b', VersionId: 'no id', Code: 'InvalidArgument' }])
  const marker = markers[0]!.DeleteMarkerVersionId!
  const second = await remove([
    { Key: 'a', VersionId: marker },
    { Key: 'a', VersionId: a },
  ])
  t.match(
    second.Deleted!.find(({ VersionId }) => VersionId === marker),
    { DeleteMarker: true, DeleteMarkerVersionId: marker },
  )
  t.same((await versions()).Versions, undefined)
})

t.test('versions are listed in pages of any size, in one order', async t => {
  const { Bucket, put, remove, versions, version } = await newBucket()
  await put('b', 'null version')
  await version('Enabled')
  for (const key of ['b', 'a', 'b', 'dir/x', 'dir/y', 'ü+ &']) await put(key, 'x')
  await remove('a')
  await remove('dir/x')
  const all = await versions()
  const raw = await fetch(await signedUrl(Bucket)).then(answer => answer.text())
  t.match(raw, /<DeleteMarker><Key>a<\/Key>.*<Version><Key>a<\/Key>.*<Version><Key>b<\/Key>.*<DeleteMarker><Key>dir\/x/)
  const entries = ({ Versions = [], DeleteMarkers = [] }: Awaited<ReturnType<typeof versions>>) =>
    [...Versions, ...DeleteMarkers].map(({ Key, VersionId, IsLatest }) => `${Key} ${VersionId} ${IsLatest}`)
  t.equal(entries(all).length, 9)
  for (const MaxKeys of [1, 2, 3, 8, 9]) {
    const seen: string[] = []
    let page = await versions({ MaxKeys })
    for (;;) {
      seen.push(...entries(page))
      if (!page.IsTruncated) break
      page = await versions({ MaxKeys, KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker })
    }
    t.same(seen.sort(), entries(all).sort(), `pages of ${MaxKeys}`)
  }
  const latest = entries(all).filter(entry => entry.endsWith(' true'))
  t.equal(latest.length, 5, 'one is the latest of each key')
  const folded = await versions({ Delimiter: '/' })
  t.same([folded.CommonPrefixes!.map(({ Prefix }) => Prefix), entries(folded).length], [['dir/'], 6])
  t.equal((await versions({ EncodingType: 'url', Prefix: 'ü' })).Versions![0]!.Key, '%C3%BC%2B%20%26')
  t.equal((await versions({ MaxKeys: 0 })).IsTruncated, false)
  t.equal((await versions({ KeyMarker: 'b', VersionIdMarker: 'null' })).Versions![0]!.Key, 'dir/x')
  t.equal(await outcome(versions({ VersionIdMarker: 'null' })), '400 InvalidArgument')
  t.equal(await outcome(versions({ KeyMarker: 'a', VersionIdMarker: 'no id' })), '400 InvalidArgument')
  await remove('dir/y')
  t.same(
    (await client.send(new ListObjectsV2Command({ Bucket, Delimiter: '/' }))).CommonPrefixes,
    undefined,
    'a prefix that holds only delete markers is not shown',
  )
})

async function signedUrl(Bucket: string): Promise<string> {
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
  return getSignedUrl(client, new ListObjectVersionsCommand({ Bucket }))
}

t.test('the null version is named where versions are or were kept, and nowhere else', async t => {
  const { Bucket, version, put } = await newBucket()
  const named = async () => {
    const { Body, VersionId } = await client.send(new GetObjectCommand({ Bucket, Key: 'k' }))
    await Body!.transformToString()
    const head = await client.send(new HeadObjectCommand({ Bucket, Key: 'k' }))
    const ObjectAttributes = ['ETag' as const]
    const attributes = await client.send(new GetObjectAttributesCommand({ Bucket, Key: 'k', ObjectAttributes }))
    const tagging = await client.send(new GetObjectTaggingCommand({ Bucket, Key: 'k' }))
    return [VersionId, head.VersionId, attributes.VersionId, tagging.VersionId]
  }
  const all = (id: string | undefined) => [id, id, id, id]
  t.equal(await put('k', '1'), undefined)
  t.same(await named(), all(undefined), 'never versioned')
  await version('Enabled')
  t.same(await named(), all('null'), 'written before')
  const id = await put('k', '2')
  t.same(await named(), all(id), 'written since')
  await version('Suspended')
  t.equal(await put('k', '3'), undefined)
  t.same(await named(), all('null'), 'suspended')
})
