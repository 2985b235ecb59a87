/** Rules with days of a second (`SVC_LIFECYCLE_DAY`), over the real clock. */
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { startServer, type TestServer } from 'svc/plugins/s3/testing'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'

const short = { lifecycle: { dayMs: 1000 } }
const drive = temporaryFolder(t)
const server = await startServer({ drive, config: short })
t.teardown(() => server.stop())
const { client } = server
const Bucket = 'rehearsal'

const warningsOf = (of: TestServer) =>
  of.kernel.logs.filter(({ msg, plugin }) => plugin === 'lifecycle' && /LIFECYCLE_DAY/.test(`${msg}`))

t.test('a start logs a warning', async t => {
  t.match(warningsOf(server), [{ level: 'warn', dayMs: 1000 }])
})

t.test('objects, older versions and uploads are removed after seconds, younger ones stay', async t => {
  await client.send(new CreateBucketCommand({ Bucket }))
  await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  const put = (Key: string) => client.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))
  await put('short/a')
  await put('long/b')
  await put('old/c')
  await put('old/c')
  for (const Key of ['short/u', 'long/u']) await client.send(new CreateMultipartUploadCommand({ Bucket, Key }))
  const rule = (Prefix: string, Days: number) => ({
    ID: Prefix,
    Status: 'Enabled' as const,
    Filter: { Prefix },
    Expiration: { Days },
    AbortIncompleteMultipartUpload: { DaysAfterInitiation: Days },
  })
  await client.send(
    new PutBucketLifecycleConfigurationCommand({
      Bucket,
      LifecycleConfiguration: {
        Rules: [
          rule('short/', 1),
          rule('long/', 3000),
          {
            ID: 'old',
            Status: 'Enabled',
            Filter: { Prefix: 'old/' },
            NoncurrentVersionExpiration: { NoncurrentDays: 1 },
          },
        ],
      },
    }),
  )
  const state = async () => {
    const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }))
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }))
    const latest = DeleteMarkers.map(({ Key }) => `marker ${Key}`)
    return [...Versions.map(({ Key, IsLatest }) => `${Key} ${IsLatest}`), ...latest, ...Uploads.map(({ Key }) => Key)]
  }
  const wanted = ['long/b true', 'old/c true', 'short/a false', 'marker short/a', 'long/u']
  for (let tries = 0; tries < 900 && (await state()).join() !== wanted.join(); tries++) {
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  t.same(await state(), wanted)
  const { Expiration, LastModified } = await client.send(new HeadObjectCommand({ Bucket, Key: 'long/b' }))
  const days = (Date.parse(/expiry-date="([^"]+)"/.exec(Expiration!)![1]!) - LastModified!.getTime()) / 1000
  t.ok(days >= 3000 && days <= 3002, `${days} days of a second`)
})

t.test('actions of rules are counted', async t => {
  const text = await server.kernel.services.metrics.scrape()
  const counts = [...text.matchAll(/^svc_ilm_actions_total\{action="([\w-]+)"[^}]*\} (\d+)$/gm)]
  t.same(Object.fromEntries(counts.map(([, action, count]) => [action, Number(count)])), {
    'create-delete-marker': 1,
    'expire-noncurrent': 1,
    'abort-upload': 1,
  })
})

t.test('complete cycles are counted', async t => {
  const cycles = async () =>
    Number(/^svc_scanner_cycles_total\S* (\d+)/m.exec(await server.kernel.services.metrics.scrape())?.[1])
  const before = await cycles()
  for (let tries = 0; tries < 900 && (await cycles()) < before + 2; tries++) {
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  t.ok((await cycles()) >= before + 2, 'each day of a second has one')
})

t.test('a deployment keeps the length of its days, and one with data never gets shorter days', async t => {
  await server.stop()
  await t.rejects(startServer({ drive, config: { lifecycle: { dayMs: 2000 } } }), {
    message: /is 2 s, but a day of this deployment has 1 s/,
  })
  const kept = await startServer({ drive })
  t.match(warningsOf(kept), [{ level: 'warn', dayMs: 1000 }])
  await kept.stop()

  const real = temporaryFolder(t)
  const first = await startServer({ drive: real })
  t.same(warningsOf(first), [])
  await first.client.send(new CreateBucketCommand({ Bucket }))
  await first.stop()
  await t.rejects(startServer({ drive: real, config: short }), { message: /a day of this deployment has 86400 s/ })
  const again = await startServer({ drive: real })
  t.teardown(() => again.stop())
  t.same(warningsOf(again), [])
})
