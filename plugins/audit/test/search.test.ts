/** Searching the records over the Admin API. */
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'
import type { AuditRecord } from '../api.ts'

const server = await startAdmin()
t.teardown(server.stop)
const { signed } = server

const search = async (query: string) => {
  const { status, json } = await signed({ path: `/api/v1/audit?${query}` })
  return {
    status,
    json,
    items: (json.items ?? []) as AuditRecord[],
    apis: (json.items ?? []).map(({ api }: AuditRecord) => api),
  }
}

t.test('filters', async t => {
  const made = await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos' } })
  await signed({ path: '/api/v1/buckets/photos' })
  await signed({ path: '/api/v1/buckets/missing' })
  await server.anonymous({ path: '/api/v1/info' })
  t.same((await search('action=createBucket')).apis, ['createBucket'])
  t.ok((await search('action=Create*')).apis.includes('createBucket'), 'as S3 would write it')
  t.same((await search('action=getBucket*&bucket=photos')).apis, ['getBucket'])
  t.same((await search('bucket=photos')).apis, ['getBucket', 'createBucket'], 'of what was named in the body, too')
  t.same((await search('status=404')).items[0].errorCode, 'bucket_not_found')
  t.same((await search('status=5xx,401')).apis, ['getServerInfo'])
  t.same((await search('errors=true&user=admin')).apis, ['getBucket'])
  t.same((await search('changes=true&bucket=photos')).apis, ['createBucket'])
  t.same((await search('changes=true&bucket=missing')).apis, [], 'a read that found nothing is no refusal')
  t.same((await search(`requestId=${made.json.requestId ?? made.headers['x-request-id']}`)).apis, ['createBucket'])
  t.same((await search('node=elsewhere')).items, [])
  t.same((await search('until=1h')).items, [])
  t.same((await search('since=2999-01-01T00:00:00Z')).items, [])
  t.ok((await search('since=1h&until=2999-01-01')).items.length > 5)
  for (const wrong of ['since=yesterday', 'status=6xx', 'status=abc', 'errors=maybe', 'since=-1h']) {
    t.equal((await search(wrong)).status, 400, wrong)
  }
})

t.test('the record names what was deleted and copied, and what changed nothing is none of the changes', async t => {
  const path = '/api/v1/buckets/photos/objects'
  for (const key of ['a', 'b"ü', 'f/1', 'f/2']) {
    t.equal(
      (await signed({ method: 'POST', path: `${path}/upload?key=${encodeURIComponent(key)}`, body: 'x' })).status,
      201,
    )
  }
  const copy = { source: { bucket: 'photos', key: 'a' }, key: 'copy' }
  t.equal((await signed({ method: 'POST', path: `${path}/copy`, body: copy })).status, 200)
  const body = { objects: [{ key: 'a' }, { key: 'b"ü' }], prefixes: ['f/'] }
  t.equal((await signed({ method: 'DELETE', path, body })).status, 200)
  await signed({ method: 'POST', path: '/api/v1/policies/validate', body: { policy: {} } })
  await signed({ method: 'POST', path: '/api/v1/buckets/photos/lifecycle/run', body: { dryRun: true } })
  t.match((await search('action=copyObject')).items[0], {
    bucket: 'photos',
    object: 'copy',
    tags: { source: 'photos/a' },
  })
  const [{ tags }] = (await search('action=deleteObjects')).items
  t.same(JSON.parse(tags.deleted!).sort(), ['a', 'b"ü', 'f/1', 'f/2'])
  t.equal(tags.deletedCount, '4')
  t.same((await search('action=validatePolicy')).apis, ['validatePolicy'])
  t.same((await search('action=validatePolicy&changes=true')).apis, [])
  t.same((await search('action=runBucketLifecycle')).apis, ['runBucketLifecycle'])
  t.same((await search('action=runBucketLifecycle&changes=true')).apis, [])
  t.same((await search('action=deleteObjects&changes=true')).apis, ['deleteObjects'])
})

t.test('pages have each record once, even if new ones arrive meanwhile', async t => {
  for (let count = 0; count < 12; count++) await signed({ path: `/api/v1/buckets/page-${count}` })
  const seen: string[] = []
  let cursor = ''
  do {
    const { json, items } = await search(`action=getBucket&status=404&limit=5&cursor=${cursor}`)
    seen.push(...items.map(({ bucket }) => String(bucket)))
    cursor = json.nextCursor
    await signed({ path: '/api/v1/buckets/meanwhile' })
  } while (cursor !== '')
  const expected = Array.from({ length: 12 }, (_, index) => `page-${11 - index}`)
  t.same(seen, [...expected, 'missing'])
  const { json, items } = await search('limit=1000')
  t.equal(json.oldest, items.at(-1)?.time)
})
