/** Tags over the Admin API: the sets that S3 shows, under the same rules. */
import {
  GetBucketTaggingCommand,
  GetObjectTaggingCommand,
  PutBucketTaggingCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
} from '@aws-sdk/client-s3'
import { startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'

const Resource = 'arn:aws:s3:::photos/*'
const server = await startAdmin({
  without: ['users'],
  plugins: [
    testUsers({
      tagger: [{ Effect: 'Allow', Action: 's3:PutObjectTagging', Resource }],
      untagger: [{ Effect: 'Allow', Action: 's3:DeleteObjectTagging', Resource }],
      limited: [
        {
          Effect: 'Allow',
          Action: 's3:PutObjectTagging',
          Resource,
          Condition: { StringEquals: { 's3:RequestObjectTag/team': 'mine' } },
        },
      ],
    }),
  ],
})
t.teardown(() => server.stop())
const { s3: client, signed } = server
const as = (user: string) => server.signedBy(user, userSecret)
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`
const base = '/api/v1/buckets/photos'
const set = (path: string, tags: object, call = signed) => call({ method: 'PUT', path: base + path, body: { tags } })
const manyTags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))

t.test('tags of a bucket', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos', versioning: true } })
  t.same((await signed({ path: `${base}/tags` })).json, { tags: {} })
  t.same((await set('/tags', { team: 'a', 'x y': '' })).json, { tags: { team: 'a', 'x y': '' } })
  t.same((await signed({ path: `${base}/tags` })).json, { tags: { team: 'a', 'x y': '' } })
  t.equal(outcome(await set('/tags', manyTags(50))), '200')
  for (const bad of [manyTags(51), { '': 'x' }, { 'aws:x': 'y' }, { a: '\u0007' }, { a: 1 }]) {
    t.equal(outcome(await set('/tags', bad)), '400 invalid_argument')
  }
  const several = await set('/tags', { 'aws:x': 'y', 'a/b': 'x'.repeat(257), 'k<': 'v', fine: 'v' })
  t.same(several.json.errors, [
    { element: '/tags/aws:x', message: 'has a key that begins with aws:, which is for AWS itself' },
    { element: '/tags/a~1b', message: 'has a value of more than 256 characters' },
    {
      element: '/tags/k<',
      message: 'has a key with other characters than letters, digits, spaces and _ . : / = + - @',
    },
  ])
  t.same((await set('/tags', {})).json, { tags: {} })
  const missing = '/api/v1/buckets/missing/tags'
  t.equal(outcome(await signed({ path: missing })), '404 bucket_not_found')
  t.equal(outcome(await signed({ method: 'PUT', path: missing, body: { tags: {} } })), '404 bucket_not_found')
})

t.test('the tags of an object require rights to read, set and remove them', async t => {
  const Key = 'ä b'
  const { VersionId } = await client.send(new PutObjectCommand({ Bucket: 'photos', Key, Body: 'x' }))
  await client.send(new PutObjectCommand({ Bucket: 'photos', Key, Body: 'y' }))
  const path = `/objects/tags?key=${encodeURIComponent(Key.normalize('NFD'))}`
  t.same((await set(path, { kind: 'text' })).json, { tags: { kind: 'text' } })
  t.same((await set(`${path}&versionId=${VersionId}`, { kind: 'old' })).json, { tags: { kind: 'old' } })
  const read = async (id?: string) =>
    (await client.send(new GetObjectTaggingCommand({ Bucket: 'photos', Key, VersionId: id }))).TagSet
  t.same(await read(), [{ Key: 'kind', Value: 'text' }])
  t.same(await read(VersionId), [{ Key: 'kind', Value: 'old' }])
  t.equal(outcome(await set(path, manyTags(11))), '400 invalid_argument')
  t.equal(outcome(await set(path, {}, as('tagger'))), '403 access_denied')
  t.equal(outcome(await set(path, { a: 'b' }, as('untagger'))), '403 access_denied')
  t.equal(outcome(await set(`${path}&versionId=${VersionId}`, { a: 'b' }, as('tagger'))), '403 access_denied')
  t.equal(outcome(await set(path, { team: 'other' }, as('limited'))), '403 access_denied')
  t.equal(outcome(await set(path, { team: 'mine' }, as('limited'))), '200')
  t.equal(outcome(await set(path, { a: 'b' }, as('tagger'))), '200')
  t.equal(outcome(await set(path, {}, as('untagger'))), '200')
  t.same(await read(), [])
  t.equal(outcome(await set('/objects/tags?key=none', { a: 'b' })), '404 object_not_found')
  t.equal(outcome(await set('/objects/tags', { a: 'b' })), '400 invalid_argument')
})

t.test('a change of tags that others have changed meanwhile is refused', async t => {
  const Key = 'changing'
  await client.send(new PutObjectCommand({ Bucket: 'photos', Key, Body: 'x', Tagging: 'team=a&class=open' }))
  const change = (path: string, tags: object, etag: string, call = signed) =>
    call({ method: 'PUT', path: base + path, headers: { 'if-match': `"${etag}"` }, body: { tags } })
  const path = `/objects/tags?key=${Key}`
  const { tagsEtag } = (await signed({ path: `${base}/objects/stat?key=${Key}` })).json
  const closed = await change(path, { team: 'a', class: 'secret' }, tagsEtag)
  t.equal(closed.status, 200)
  t.equal(outcome(await change(path, { team: 'b', class: 'open' }, tagsEtag)), '412 precondition_failed')
  const { json: seen } = await signed({ path: `${base}/objects/stat?key=${Key}` })
  t.same(seen.tags, { team: 'a', class: 'secret' })
  t.equal(closed.headers.etag, `"${seen.tagsEtag}"`)
  t.equal(outcome(await change(path, { a: 'b' }, seen.tagsEtag, as('tagger'))), '403 access_denied', 'reveals the tags')
  t.equal(outcome(await change(path, {}, '*')), '200')

  await set('/tags', { team: 'a' })
  const before = String((await signed({ path: `${base}/tags` })).headers.etag).slice(1, -1)
  const answers = await Promise.all([
    change('/tags', { team: 'a', one: '1' }, before),
    change('/tags', { team: 'a', two: '2' }, before),
  ])
  t.same(answers.map(outcome).sort(), ['200', '412 precondition_failed'], 'of two at once')
  const version = (await signed({ path: `${base}/objects/stat?key=${Key}` })).json.tagsEtag
  const both = await Promise.all([change(path, { one: '1' }, version), change(path, { two: '2' }, version)])
  t.same(both.map(outcome).sort(), ['200', '412 precondition_failed'])
})

t.test('a tag may be called as anything in the language', async t => {
  const TagSet = ['__proto__', '__proto_', 'constructor', 'toString'].map(Key => ({ Key, Value: `of ${Key}` }))
  const sorted = (tags: readonly { Key?: string }[] = []) => [...tags].sort((a, b) => (a.Key! < b.Key! ? -1 : 1))
  const [Bucket, Key] = ['photos', 'named']
  const read = async () => sorted((await client.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet)
  await client.send(new PutObjectCommand({ Bucket, Key, Body: 'x', Tagging: '__proto__=a&b=c' }))
  t.same(await read(), [
    { Key: '__proto__', Value: 'a' },
    { Key: 'b', Value: 'c' },
  ])
  await client.send(new PutObjectTaggingCommand({ Bucket, Key, Tagging: { TagSet } }))
  t.same(await read(), sorted(TagSet))
  await client.send(new PutBucketTaggingCommand({ Bucket, Tagging: { TagSet } }))
  t.same(sorted((await client.send(new GetBucketTaggingCommand({ Bucket }))).TagSet), sorted(TagSet))
  const { text } = await signed({ path: `${base}/tags` })
  t.match(text, '"__proto__":"of __proto__"')
})
