import {
  CreateBucketCommand,
  DeleteBucketAnalyticsConfigurationCommand,
  DeleteBucketReplicationCommand,
  DeleteBucketWebsiteCommand,
  GetBucketAccelerateConfigurationCommand,
  GetBucketAnalyticsConfigurationCommand,
  GetBucketIntelligentTieringConfigurationCommand,
  GetBucketInventoryConfigurationCommand,
  GetBucketMetricsConfigurationCommand,
  GetBucketReplicationCommand,
  GetBucketRequestPaymentCommand,
  GetBucketWebsiteCommand,
  GetObjectTorrentCommand,
  ListBucketAnalyticsConfigurationsCommand,
  ListBucketIntelligentTieringConfigurationsCommand,
  ListBucketInventoryConfigurationsCommand,
  ListBucketMetricsConfigurationsCommand,
  PutBucketAccelerateConfigurationCommand,
  PutBucketReplicationCommand,
  PutBucketRequestPaymentCommand,
  PutBucketWebsiteCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import t from 'tap'

const server = await startServer()
t.teardown(() => server.stop())
const { client, anonymous } = server
const Bucket = 'bucket-subresources'
await client.send(new CreateBucketCommand({ Bucket }))
// The commands have nothing in common that TypeScript could name.
// biome-ignore lint/suspicious/noExplicitAny: any command of the SDK
const outcomeOf = (command: any) => outcome(client.send(command))

t.test('settings with a single value return it, and accept no other', async t => {
  t.match(await client.send(new GetBucketRequestPaymentCommand({ Bucket })), { Payer: 'BucketOwner' })
  const pay = (Payer: 'BucketOwner' | 'Requester') =>
    outcomeOf(new PutBucketRequestPaymentCommand({ Bucket, RequestPaymentConfiguration: { Payer } }))
  t.equal(await pay('BucketOwner'), 'ok')
  t.equal(await pay('Requester'), '501 NotImplemented')
  t.equal(await pay('Nobody' as 'Requester'), '400 MalformedXML')

  t.equal((await client.send(new GetBucketAccelerateConfigurationCommand({ Bucket }))).Status, undefined)
  const accelerate = (Status: 'Enabled' | 'Suspended' | undefined) =>
    outcomeOf(new PutBucketAccelerateConfigurationCommand({ Bucket, AccelerateConfiguration: { Status } }))
  t.equal(await accelerate('Suspended'), 'ok')
  t.equal((await client.send(new GetBucketAccelerateConfigurationCommand({ Bucket }))).Status, 'Suspended')
  t.equal(await accelerate('Enabled'), '501 NotImplemented')
  t.equal(await accelerate(undefined), '400 MalformedXML')
  t.equal((await client.send(new GetBucketAccelerateConfigurationCommand({ Bucket }))).Status, 'Suspended')
})

t.test('unset configurations answer the error code that tools expect', async t => {
  t.equal(await outcomeOf(new GetBucketReplicationCommand({ Bucket })), '404 ReplicationConfigurationNotFoundError')
  t.equal(await outcomeOf(new DeleteBucketReplicationCommand({ Bucket })), 'ok')
  const rule = { Status: 'Enabled', Destination: { Bucket: 'arn:aws:s3:::x' } } as const
  const ReplicationConfiguration = { Role: 'r', Rules: [rule] }
  t.equal(await outcomeOf(new PutBucketReplicationCommand({ Bucket, ReplicationConfiguration })), '501 NotImplemented')

  t.equal(await outcomeOf(new GetBucketWebsiteCommand({ Bucket })), '404 NoSuchWebsiteConfiguration')
  t.equal(await outcomeOf(new DeleteBucketWebsiteCommand({ Bucket })), 'ok')
  const WebsiteConfiguration = { IndexDocument: { Suffix: 'index.html' } }
  t.equal(await outcomeOf(new PutBucketWebsiteCommand({ Bucket, WebsiteConfiguration })), '501 NotImplemented')
  t.equal(await outcomeOf(new GetBucketWebsiteCommand({ Bucket })), '404 NoSuchWebsiteConfiguration')

  await client.send(new PutObjectCommand({ Bucket, Key: 'here', Body: 'x' }))
  t.equal(await outcomeOf(new GetObjectTorrentCommand({ Bucket, Key: 'here' })), '404 NoSuchKey')
})

t.test('named configurations: the list is empty, none is found, none can be made', async t => {
  const Id = 'one'
  t.match(await client.send(new ListBucketAnalyticsConfigurationsCommand({ Bucket })), { IsTruncated: false })
  t.match(await client.send(new ListBucketInventoryConfigurationsCommand({ Bucket })), { IsTruncated: false })
  t.match(await client.send(new ListBucketMetricsConfigurationsCommand({ Bucket })), { IsTruncated: false })
  t.match(await client.send(new ListBucketIntelligentTieringConfigurationsCommand({ Bucket })), { IsTruncated: false })
  for (const command of [
    new GetBucketAnalyticsConfigurationCommand({ Bucket, Id }),
    new GetBucketInventoryConfigurationCommand({ Bucket, Id }),
    new GetBucketMetricsConfigurationCommand({ Bucket, Id }),
    new GetBucketIntelligentTieringConfigurationCommand({ Bucket, Id }),
    new DeleteBucketAnalyticsConfigurationCommand({ Bucket, Id }),
  ]) {
    t.equal(await outcomeOf(command), '404 NoSuchConfiguration', command.constructor.name)
  }
  const ContinuationToken = 'x'
  t.equal(
    await outcomeOf(new ListBucketInventoryConfigurationsCommand({ Bucket, ContinuationToken })),
    '400 InvalidArgument',
  )
  for (const parameter of ['analytics', 'inventory', 'metrics', 'intelligent-tiering']) {
    const raw = await anonymous('PUT', `/${Bucket}?${parameter}&id=one`)
    t.equal(raw.status, 403, 'a stranger learns nothing')
  }
})
