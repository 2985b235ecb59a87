/** A bucket that a distribution publishes is not deleted, and a log ends with its bucket: the next bucket of that name has neither. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CreateBucketCommand, DeleteBucketCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { startAdmin, type TestAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin()
t.teardown(server.stop)
const { signed, s3 } = server

const site = (id: string, bucket: string, more: object = {}) => ({
  id,
  aliases: [`${id}.example.org`],
  origin: { bucket },
  ...more,
})
const create = (document: object, { signed: call }: Pick<TestAdmin, 'signed'> = server) =>
  call({ method: 'POST', path: '/api/v1/distributions', body: document })
const put = (document: { id: string }) =>
  signed({ method: 'PUT', path: `/api/v1/distributions/${document.id}`, body: document })
const remove = (id: string) => signed({ method: 'DELETE', path: `/api/v1/distributions/${id}` })
const deleteBucket = (bucket: string, query = '') =>
  signed({ method: 'DELETE', path: `/api/v1/buckets/${bucket}${query}` })
const make = (bucket: string) => s3.send(new CreateBucketCommand({ Bucket: bucket }))

t.test('the bucket stays, and everything in it, in each way to delete one', async t => {
  await make('pages')
  await s3.send(new PutObjectCommand({ Bucket: 'pages', Key: 'index.html', Body: 'hello' }))
  t.equal((await create(site('www', 'pages'))).status, 201)
  const refusal = { status: 409, json: { code: 'bucket_in_use', detail: /The distribution www publishes the bucket/ } }
  t.match(await deleteBucket('pages'), refusal)
  t.match(await deleteBucket('pages', '?force=true'), refusal)
  const deletion = new DeleteBucketCommand({ Bucket: 'pages' })
  await t.rejects(s3.send(deletion), { name: 'BucketInUse', message: /www/ })
  deletion.middlewareStack.add(
    next => args => {
      ;(args.request as { headers: Record<string, string> }).headers['x-minio-force-delete'] = 'true'
      return next(args)
    },
    { step: 'build' },
  )
  await t.rejects(s3.send(deletion), { name: 'BucketInUse' })
  t.ok(await s3.send(new HeadObjectCommand({ Bucket: 'pages', Key: 'index.html' })), 'nothing was deleted')
  t.equal((await put(site('www', 'pages', { enabled: false }))).status, 200)
  t.match(await deleteBucket('pages', '?force=true'), refusal, 'it can be enabled again')
  t.equal((await remove('www')).status, 204)
  t.equal((await deleteBucket('pages', '?force=true')).status, 204)
})

t.test('a bucket goes when the last distribution has left it', async t => {
  await make('old')
  await make('new')
  await create(site('one', 'old'))
  await create(site('two', 'old'))
  t.equal((await put(site('one', 'new'))).status, 200)
  t.match(await deleteBucket('old'), { status: 409, json: { detail: /The distribution two publishes/ } })
  t.match(await deleteBucket('new'), { status: 409, json: { detail: /The distribution one publishes/ } })
  t.equal((await put(site('two', 'new'))).status, 200)
  t.match(await deleteBucket('new'), { status: 409, json: { detail: /The distributions one, two publish/ } })
  t.equal((await deleteBucket('old')).status, 204)
  await remove('one')
  t.equal((await deleteBucket('new')).status, 409)
  await remove('two')
  t.equal((await deleteBucket('new')).status, 204)
})

t.test('an import keeps buckets, too, and lets them go', async t => {
  await make('imported')
  const text = (bucket: string) =>
    `apiVersion: svc/v1\nkind: Distribution\nmetadata:\n  name: imported\nspec:\n  aliases: [imported.example.org]\n  origin:\n    bucket: ${bucket}\n`
  const read = async (body: string) =>
    signed({
      method: 'POST',
      path: '/api/v1/distributions/import',
      headers: { 'content-type': 'application/yaml' },
      body,
    })
  const first = await read(text('imported'))
  t.equal(first.status, 200, first.text)
  t.equal((await deleteBucket('imported')).status, 409)
  await make('another')
  t.equal((await read(text('another'))).status, 200)
  t.equal((await deleteBucket('imported')).status, 204)
  t.equal((await deleteBucket('another')).status, 409)
  await remove('imported')
  t.equal((await deleteBucket('another')).status, 204)
})

t.test(
  'the bucket of an access log may be deleted: the log ends, and the next bucket of that name gets none of it',
  async t => {
    await make('shown')
    await make('logs')
    const logging = { accessLog: true, target: 'bucket:logs/web/' }
    await create(site('logged', 'shown', { logging }))
    await create(site('other', 'shown', { logging: { ...logging, target: 'bucket:logs/other/' } }))
    const ended = async (id: string) => (await signed({ path: `/api/v1/distributions/${id}` })).json.logEnded
    t.same([await ended('logged'), await ended('other')], [false, false])
    t.equal((await deleteBucket('logs')).status, 204)
    t.same([await ended('logged'), await ended('other')], [true, true])
    t.match(await put(site('logged', 'shown', { logging, comment: 'new' })), {
      status: 404,
      json: { code: 'bucket_not_found' },
    })
    await make('logs')
    t.same([await ended('logged'), await ended('other')], [true, true], 'nobody has said that it goes there')
    t.equal((await put(site('logged', 'shown', { logging }))).status, 200)
    t.same([await ended('logged'), await ended('other')], [false, true], 'only that one was saved')
    t.equal((await remove('other')).status, 204)
    t.equal((await deleteBucket('logs')).status, 204)
    t.equal((await remove('logged')).status, 204, 'it is deleted although its log has ended')
    t.equal((await deleteBucket('shown')).status, 204)
  },
)

t.test('of a deletion and a new distribution at once one is refused', async t => {
  const outcomes = new Set<string>()
  for (let round = 0; round < 60; round++) {
    const bucket = `race-${round}`
    await make(bucket)
    const [made, deleted] = await Promise.all([
      create(site(bucket, bucket)),
      pause(round % 10)
        .then(() => server.kernel.services.objects.deleteBucket(bucket))
        .then(
          () => 204,
          (error: { status: number }) => error.status,
        ),
    ])
    const outcome = `${made.status} ${deleted}`
    outcomes.add(outcome)
    t.match(outcome, /^(201 409|404 204)$/)
    if (made.status === 201) await remove(bucket)
  }
  t.comment(`outcomes: ${[...outcomes].join(', ')}`)
})

t.test('a distribution of an earlier version whose bucket has gone is disabled at the start', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-kept-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const start = () => startAdmin({ config: { storage: { endpoints: [folder] } } })
  const first = await start()
  const { objects, iam, storage } = first.kernel.services
  const logging = { accessLog: true, target: 'bucket:journal/' }
  for (const bucket of ['gone', 'there', 'journal', 'diary']) {
    await objects.createBucket(bucket, { region: 'us-east-1', owner: iam.owner })
  }
  const documents = [
    site('lost', 'gone'),
    site('kept', 'there'),
    site('silent', 'there', { logging }),
    site('loud', 'there', { logging: { ...logging, target: 'bucket:diary/' } }),
  ]
  for (const document of documents) {
    t.equal((await create(document, first)).status, 201)
  }
  // As they were stored before buckets were kept.
  const erase = (scope: string, collection: string, id: string) =>
    storage.execute('store.commit', [{ kind: 'delete', scope, collection, id }])
  for (const id of ['gone', 'there']) await erase('bucket-keeper', 'distribution-bucket', id)
  for (const id of ['journal', 'diary']) await erase('bucket', 'distribution-log', id)
  await erase('global', 'distribution-table', 'table')
  await objects.deleteBucket('gone')
  await objects.deleteBucket('journal')
  await first.stop()

  const second = await start()
  t.teardown(second.stop)
  const get = async (id: string) => (await second.signed({ path: `/api/v1/distributions/${id}` })).json
  t.match(await get('lost'), { enabled: false, origin: { bucket: 'gone' } })
  t.match(await get('kept'), { enabled: true })
  t.match(await get('silent'), { enabled: true, logEnded: true })
  t.match(await get('loud'), { enabled: true, logEnded: false })
  const deletion = await second.signed({ method: 'DELETE', path: '/api/v1/buckets/there' })
  t.match(deletion, { status: 409, json: { code: 'bucket_in_use' } })
  for (const bucket of ['gone', 'journal']) {
    await second.kernel.services.objects.createBucket(bucket, { region: 'us-east-1', owner: iam.owner })
  }
  t.match(await get('lost'), { enabled: false }, 'the next bucket of that name is not published')
  t.match(await get('silent'), { logEnded: true }, 'nor does it get the log')
})
