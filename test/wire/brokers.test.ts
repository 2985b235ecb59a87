/**
 * Events and audit records from a real server to real brokers: packages loaded by name, settings put through the Admin API, objects by
 * the AWS SDK, messages read by clients of others. Brokers end and come back meanwhile.
 */
import { join } from 'node:path'
import { CreateBucketCommand, DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { eventually } from 'svc/testing'
import t from 'tap'
import { skip as kafkaSkip, startCluster } from '../../contrib/kafka/test/cluster.ts'
import { skip as natsSkip, startNats } from '../../contrib/notify-nats/test/nats-server.ts'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

const skip = kafkaSkip || natsSkip
const password = 's3cret of the test'

t.test('events of objects go to Kafka and NATS, audit records to Kafka', { skip }, async t => {
  const cluster = await startCluster(t, 3)
  for (const topic of ['events', 'audit']) await cluster.tell(`topic ${topic} 3`)
  const login = { user: 'svc', pass: password }
  const nats = await startNats(t, `authorization { user: svc, password: "${password}" }`, login)
  await nats.addStream('EVENTS', ['svc.>'])
  const server = await startServer({ environment: { SVC_CONFIG_FILE: join(import.meta.dirname, 'brokers.json') } })
  t.teardown(() => server.remove())
  let admin = createAdminClient(server)
  const client = createClient(server)
  t.teardown(() => client.destroy())

  const configure = (subsystem: string, settings: Readonly<Record<string, string>>) =>
    admin.call('PATCH', `/config/${subsystem}`, { settings: { enable: 'on', ...settings } })
  const brokers = cluster.brokers.join(',')
  await t.rejects(configure('notify_kafka', { brokers, topic: 'no topic' }), { message: /400.*topic/s })
  await t.rejects(configure('notify_nats', { address: 'nats://x', subject: 'svc' }), { message: /400.*address/s })
  await configure('notify_kafka', { brokers, topic: 'events', compression: 'zstd' })
  await configure('audit_kafka', { brokers, topic: 'audit' })
  const natsSettings = { address: nats.address, subject: 'svc.events', username: 'svc', password, jetstream: 'on' }
  const shown = await configure('notify_nats', natsSettings)
  t.notMatch(JSON.stringify(shown), /s3cret/)
  for (const target of ['kafka:_', 'nats:_']) {
    t.match(await admin.call('POST', `/notify/targets/${target}/test`), { delivered: true, error: '' })
  }

  // Rules of one bucket may not overlap: each target has a bucket.
  const buckets = { photos: 'kafka', copies: 'nats' }
  for (const [bucket, kind] of Object.entries(buckets)) {
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    const events = ['s3:ObjectCreated:*', 's3:ObjectRemoved:*']
    const subscriptions = [{ arn: `arn:svc:sqs:us-east-1:_:${kind}`, events }]
    await admin.call('PUT', `/buckets/${bucket}/events`, { subscriptions })
  }
  const put = async (key: string) => {
    for (const bucket of Object.keys(buckets)) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: 'hello' }))
    }
  }
  await put('a b/ж.txt')
  for (const bucket of Object.keys(buckets)) {
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'a b/ж.txt' }))
  }

  const eventsIn = (topic: string) => async () =>
    (await cluster.read(topic)).filter(({ key }) => key !== 's3:TestEvent')
  const first = await eventually(eventsIn('events'), records => records.length >= 2)
  t.same(
    first.map(({ key, payload }) => [key, JSON.parse(payload).EventName]),
    [
      ['photos/a b/ж.txt', 's3:ObjectCreated:Put'],
      ['photos/a b/ж.txt', 's3:ObjectRemoved:Delete'],
    ],
  )
  const stored = async () => (await nats.read('EVENTS')).filter(({ body }) => !body.includes('s3:TestEvent'))
  t.same(
    (await eventually(stored, messages => messages.length >= 2)).map(({ body }) => JSON.parse(body).EventName),
    ['s3:ObjectCreated:Put', 's3:ObjectRemoved:Delete'],
  )
  const isPut = ({ payload }: { readonly payload: string }) =>
    payload.includes('"PutObject"') && payload.includes('"photos"')
  const audited = await eventually(eventsIn('audit'), records => records.some(isPut))
  const audit = audited.filter(isPut).map(({ key, payload }) => ({ key, record: JSON.parse(payload) }))
  const [ofPut] = audit
  t.match(ofPut?.record, { bucket: 'photos', object: 'a b/ж.txt', status: 200 })
  t.equal(ofPut?.key, `${ofPut?.record.node}/${ofPut?.record.requestId}`)

  // Away: what happens meanwhile waits, and comes when they are back.
  for (const id of [1, 2, 3]) await cluster.tell(`down ${id}`)
  await nats.stop('SIGKILL')
  const keys = Array.from({ length: 20 }, (_, i) => `away/${i}`)
  for (const key of keys) await put(key)
  const targets = async () => (await admin.call('GET', '/notify/targets')).items as Readonly<Record<string, unknown>>[]
  const offline = await eventually(targets, all => all.every(({ online }) => online === false))
  t.match(offline, [{ online: false }, { online: false }])
  t.notMatch(JSON.stringify(offline) + server.log(), /s3cret/)
  await server.stop()
  await server.start()
  // At another port.
  admin = createAdminClient(server)
  for (const id of [1, 2, 3]) await cluster.tell(`up ${id}`)
  await nats.start()
  const restarted = createClient(server)
  t.teardown(() => restarted.destroy())
  const unique = (found: readonly string[]) => [...new Set(found)].filter(key => key.startsWith('away/')).sort()
  const inKafka = async () => unique((await eventsIn('events')()).map(({ key }) => String(key).slice('photos/'.length)))
  t.same(await eventually(inKafka, found => found.length === keys.length), [...keys].sort())
  const inNats = async () => unique((await stored()).map(({ body }) => JSON.parse(body).Key.slice('copies/'.length)))
  t.same(await eventually(inNats, found => found.length === keys.length), [...keys].sort())
  // They arrive before the server has heard that they have.
  const isDone = ({ online, pendingEvents }: Record<string, unknown>) => online === true && pendingEvents === 0
  const online = await eventually(targets, all => all.every(isDone))
  t.match(online, [
    { online: true, pendingEvents: 0 },
    { online: true, pendingEvents: 0 },
  ])
  t.equal(await server.stop(), 0, 'it ends by itself')
})
