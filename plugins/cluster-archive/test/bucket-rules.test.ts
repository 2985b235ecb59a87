/** What the API refuses of a bucket, an import refuses too, and then stores nothing. */
import { randomBytes } from 'node:crypto'
import { rootPassword, rootUser, startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'
import { packArchive } from '../archive.ts'
import type { ArchivedBucket } from '../buckets.ts'
import { download, upload } from './archives.ts'

const server = await startAdmin()
t.teardown(server.stop)

const plain: ArchivedBucket = { region: 'us-east-1', versioning: 'off', tags: {}, documents: {} }
const locked = (defaultRetention: object) =>
  ({ ...plain, versioning: 'enabled', objectLock: { defaultRetention } }) as ArchivedBucket

const archiveOf = (buckets: Readonly<Record<string, ArchivedBucket>>) =>
  packArchive(
    {
      directory: { users: new Map(), groups: new Map(), accessKeys: new Map(), policies: new Map() },
      settings: {},
      buckets: new Map(Object.entries(buckets)),
      parts: new Map(),
    },
    {
      rootUser,
      rootPassword,
      server: 'test',
      nowMs: Date.now(),
      random: { bytes: (count: number) => randomBytes(count) } as never,
      open: {},
      schemas: new Map(),
    },
  )
const bucketNames = async () =>
  (await server.signed({ path: '/api/v1/buckets' })).json.items.map(({ name }: { name: string }) => name)

const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`key${n}`, 'x']))
const cases: [string, string, ArchivedBucket, string][] = [
  ...['192.168.1.1', 'xn--abc', 'sthree-x', 'foo-s3alias', 'svc', 'a.b-.c', 'Upper', 'ab'].map(
    (name): [string, string, ArchivedBucket, string] => [`the name ${name}`, name, plain, ''],
  ),
  ['51 tags', 'tagged', { ...plain, tags: many }, '/tags'],
  ['a tag of the system', 'tagged', { ...plain, tags: { 'aws:x': 'y' } }, '/tags'],
  ['a control character', 'tagged', { ...plain, tags: { key: 'a\u0007b' } }, '/tags'],
  ['a long key', 'tagged', { ...plain, tags: { ['k'.repeat(129)]: 'x' } }, '/tags'],
  ['a long value', 'tagged', { ...plain, tags: { key: 'x'.repeat(257) } }, '/tags'],
  ['a quota that is no number of bytes', 'limited', { ...plain, quotaBytes: 1e300 }, '/quotaBytes'],
  [
    'encryption by keys that the server does not have',
    'sealed',
    { ...plain, documents: { 'bucket-encryption': { algorithm: 'aws:kms' } } },
    '/documents/bucket-encryption',
  ],
  ['years of retention', 'locked', locked({ mode: 'COMPLIANCE', years: 1e15 }), '/objectLock/defaultRetention/years'],
  ['days of retention', 'locked', locked({ mode: 'GOVERNANCE', days: 36_501 }), '/objectLock/defaultRetention/days'],
]
for (const [title, name, bucket, place] of cases) {
  t.test(`${title}: refused`, async t => {
    const { status, json } = await upload(server, await archiveOf({ fine: plain, [name]: bucket }))
    t.equal(status, 400)
    t.equal(json.code, 'invalid_archive')
    t.match(json.errors, [{ element: `buckets/${name}.json${place}`, message: /./ }])
    t.same(await bucketNames(), [])
  })
}

t.test('what the API accepts is imported', async t => {
  const limits = {
    'tagged.bucket': { ...plain, tags: { ['k'.repeat(128)]: 'x'.repeat(256) } },
    limited: { ...plain, quotaBytes: Number.MAX_SAFE_INTEGER },
    locked: locked({ mode: 'GOVERNANCE', years: 100 }),
  }
  const { status, json } = await upload(server, await archiveOf(limits))
  t.equal(status, 200, JSON.stringify(json))
  t.same((await bucketNames()).sort(), ['limited', 'locked', 'tagged.bucket'])
  t.equal((await upload(server, await archiveOf(limits))).status, 200)
})

t.test('what a new bucket gets is named like what one that is there gets', async t => {
  const statement = { Effect: 'Allow', Principal: '*', Action: 's3:PutObject', Resource: 'arn:aws:s3:::open/*' }
  const policy = { Version: '2012-10-17', Statement: [statement] }
  const open: ArchivedBucket = { ...plain, tags: { team: 'a' }, quotaBytes: 10 }
  const bytes = await archiveOf({ plain, open })
  const places = ['bucket/open/tags', 'bucket/open/quota']
  for (const mode of ['merge', 'replace']) {
    const { json } = await upload(server, bytes, `dryRun=true&mode=${mode}`)
    t.match(json, { bucketsCreated: ['plain', 'open'], created: places, changed: [] })
  }
  t.same((await upload(server, bytes)).json.created, places)
  t.match((await upload(server, bytes)).json, { bucketsCreated: [], created: [], changed: [] })

  await server.signed({ method: 'PUT', path: '/api/v1/buckets/open/policy', body: policy })
  const exported = await download(server)
  await server.signed({ method: 'DELETE', path: '/api/v1/buckets/open?force=true' })
  const { json } = await upload(server, exported, 'dryRun=true')
  t.match(json, { bucketsCreated: ['open'], created: [...places, 'bucket/open/bucket-policy'], changed: [] })
})
