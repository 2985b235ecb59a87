/** Events through a real server to a real webhook, in each process model: changes, reads, a restart. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  type Event,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketNotificationConfigurationCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

interface Message {
  readonly Event?: string
  readonly EventName?: string
  readonly Key?: string
  // biome-ignore lint/suspicious/noExplicitAny: the test looks into it
  readonly Records?: readonly any[]
}

t.test('changes and reads send events, from every thread, before and after a restart', async t => {
  const messages: Message[] = []
  const sink = createServer(async (request, response) => {
    messages.push(JSON.parse((await buffer(request)).toString()))
    response.end()
  })
  await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    sink.closeAllConnections()
    sink.close()
  })
  const { port } = sink.address() as AddressInfo
  const server = await startServer()
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  let admin = createAdminClient(server)
  const settings = { enable: 'on', endpoint: `http://127.0.0.1:${port}/` }
  await admin.call('PATCH', '/config/notify_webhook', { settings })
  await s3.send(new CreateBucketCommand({ Bucket: 'told' }))
  const QueueArn = 'arn:svc:sqs:us-east-1:_:webhook'
  // The type of the SDK knows no reads.
  const Events = ['s3:ObjectCreated:*', 's3:ObjectRemoved:*', 's3:ObjectAccessed:*'] as Event[]
  const NotificationConfiguration = { QueueConfigurations: [{ QueueArn, Events }] }
  await s3.send(new PutBucketNotificationConfigurationCommand({ Bucket: 'told', NotificationConfiguration }))
  t.match(messages, [{ Event: 's3:TestEvent' }])

  const ofKey = (key: string) => messages.filter(({ Key }) => Key === `told/${key}`)
  const namesOf = (key: string) => ofKey(key).map(({ EventName }) => EventName)
  const until = async (check: () => boolean) => {
    for (let tries = 0; tries < 1800 && !check(); tries++) await sleep(50)
  }
  const keys = Array.from({ length: 24 }, (_, i) => `k${i}`)
  const use = async (Key: string) => {
    const place = { Bucket: 'told', Key }
    await s3.send(new PutObjectCommand({ ...place, Body: Key }))
    await (await s3.send(new GetObjectCommand(place))).Body!.transformToString()
    await s3.send(new HeadObjectCommand(place))
    await s3.send(new DeleteObjectCommand(place))
  }
  await Promise.all(keys.map(use))
  await until(() => keys.every(key => ofKey(key).length === 4))
  for (const key of keys) {
    t.same([...namesOf(key)].sort(), [
      's3:ObjectAccessed:Get',
      's3:ObjectAccessed:Head',
      's3:ObjectCreated:Put',
      's3:ObjectRemoved:Delete',
    ])
    const changes = ofKey(key).filter(({ EventName }) => !EventName!.includes('Accessed'))
    t.same(
      changes.map(({ EventName }) => EventName),
      ['s3:ObjectCreated:Put', 's3:ObjectRemoved:Delete'],
    )
    const [first, second] = changes.map(({ Records }) => Records![0].s3.object.sequencer)
    t.ok(first < second)
  }

  await s3.send(new PutObjectCommand({ Bucket: 'told', Key: 'before', Body: 'x' }))
  t.equal(await server.stop(), 0)
  await server.start()
  await s3.send(new PutObjectCommand({ Bucket: 'told', Key: 'after', Body: 'x' }))
  await until(() => ofKey('before').length > 0 && ofKey('after').length > 0)
  t.ok(namesOf('before').length > 0)
  t.same(namesOf('after'), ['s3:ObjectCreated:Put'])
  admin = createAdminClient(server)
  const { items } = await admin.call('GET', '/notify/targets')
  t.match(items, [{ id: 'webhook:_', enabled: true, online: true, deadLetters: 0 }])
  t.match(await admin.call('POST', '/notify/targets/webhook:_/test'), { delivered: true })
  const { queued } = await admin.call('POST', '/notify/targets/webhook:_/replay', { bucket: 'told', prefix: 'k' })
  t.equal(queued, 2 * keys.length, 'changes are replayed, reads are not')
})
