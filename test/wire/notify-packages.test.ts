/**
 * The whole path of events to packages that are loaded by name from the configuration: settings through the Admin API, objects put and
 * deleted with the SDK, and what has arrived read back with each service's own client, over restarts of the service and of the server.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  PutBucketNotificationConfigurationCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import * as rabbitMq from '../../contrib/notify-amqp/test/rabbitmq.ts'
import * as postgres from '../../contrib/notify-postgres/test/postgres-server.ts'
import * as redis from '../services/redis-server.ts'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

const deliveryDeadlineMs = 120_000
const bucket = 'photos'

interface Destination {
  readonly kind: string
  readonly settings: Readonly<Record<string, string>>
  readonly secret: string
  start(): Promise<void>
  stop(): Promise<void>
  /** Keys of objects that it knows to be there. */
  keys(): Promise<readonly string[]>
}

async function wholePath(t: Test, destination: Destination): Promise<void> {
  const server = await startServer({
    environment: { SVC_CONFIG_FILE: join(import.meta.dirname, 'notify-packages.json') },
  })
  t.teardown(() => server.remove())
  const { kind, settings, secret } = destination
  const id = `${kind}:_`
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  let admin = createAdminClient(server)
  const put = (key: string) => s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: key }))
  const has = async (...wanted: readonly string[]) => {
    const deadlineMs = performance.now() + deliveryDeadlineMs
    let keys = await destination.keys()
    while (String(keys) !== String(wanted) && performance.now() < deadlineMs) {
      await sleep(100)
      keys = await destination.keys()
    }
    t.same(keys, wanted)
  }

  await admin.call('PATCH', `/config/notify_${kind}`, { settings: { enable: 'on', timeout: '2s', ...settings } })
  const shown = JSON.stringify([
    await admin.call('GET', `/config/notify_${kind}`),
    await admin.call('GET', '/notify/targets'),
  ])
  t.notOk(shown.includes(secret), 'the secret is masked')
  t.match(await admin.call('POST', `/notify/targets/${id}/test`), { target: id, delivered: true, error: '' })
  await s3.send(new CreateBucketCommand({ Bucket: bucket }))
  const rule = { QueueArn: `arn:svc:sqs:us-east-1:_:${kind}`, Events: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'] }
  const NotificationConfiguration = { QueueConfigurations: [rule as never] }
  await s3.send(new PutBucketNotificationConfigurationCommand({ Bucket: bucket, NotificationConfiguration }))

  await put('a')
  await put('b c/ж')
  await has('photos/a', 'photos/b c/ж')
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'a' }))
  await has('photos/b c/ж')

  await destination.stop()
  await put('while-away')
  t.match(await admin.call('POST', `/notify/targets/${id}/test`), { delivered: false, error: /\S/ })
  await server.kill()
  await server.start()
  admin = createAdminClient(server)
  await put('z-after-restart')
  await destination.start()
  await has('photos/b c/ж', 'photos/while-away', 'photos/z-after-restart')
  const stateNow = async () =>
    (await admin.call('GET', '/notify/targets')).items.find((target: { id: string }) => target.id === id)
  let state = await stateNow()
  // They arrive before the server has heard that they have.
  for (let attempt = 0; attempt < 900 && state.pendingEvents > 0; attempt++) {
    await sleep(100)
    state = await stateNow()
  }
  t.match(state, { enabled: true, online: true, pendingEvents: 0, lastError: '' })
  t.notOk(server.log().includes(secret), 'the secret is in no line of the log')
}

t.test('redis', { skip: redis.skip }, async t => {
  const service = await redis.startRedis(t)
  await wholePath(t, {
    kind: 'redis',
    settings: { address: service.address, key: 'objects', password: service.password },
    secret: service.password,
    start: () => service.start(),
    stop: () => service.stop(),
    keys: async () => service.ask('--raw', 'HKEYS', 'objects').filter(Boolean).sort(),
  })
})

t.test('postgres', { skip: postgres.skip }, async t => {
  const service = await postgres.startPostgres(t)
  await wholePath(t, {
    kind: 'postgres',
    settings: { connection_string: service.url(), table: 'objects' },
    secret: service.password,
    start: () => service.start(),
    stop: () => service.stop(),
    keys: async () => {
      const [{ found }] = await service.query(`SELECT to_regclass('objects') AS found`)
      return found === null ? [] : (await service.query('SELECT key FROM objects ORDER BY key')).map(({ key }) => key)
    },
  })
})

t.test('amqp', { skip: rabbitMq.skip }, async t => {
  const service = await rabbitMq.startRabbitMq(t)
  const queue = 'events'
  const model = await service.open()
  await (await model.createChannel()).assertQueue(queue, { durable: true })
  await model.close()
  const present = new Set<string>()
  await wholePath(t, {
    kind: 'amqp',
    settings: { url: service.url, routing_key: queue, mandatory: 'on' },
    secret: service.password,
    start: () => service.start(),
    stop: () => service.stop(),
    async keys() {
      const model = await service.open()
      const channel = await model.createChannel()
      for (;;) {
        const message = await channel.get(queue, { noAck: true })
        if (message === false) break
        const { EventName, Key = '' } = JSON.parse(message.content.toString())
        if (EventName?.startsWith('s3:ObjectRemoved:')) present.delete(Key)
        else if (Key !== '') present.add(Key)
      }
      await model.close()
      return [...present].sort()
    },
  })
})
