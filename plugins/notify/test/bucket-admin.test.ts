/** Event subscriptions over the Admin API: they are the rules of S3, with the same checks. */
import {
  GetBucketNotificationConfigurationCommand,
  PutBucketNotificationConfigurationCommand,
} from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'
import type { NotificationTarget } from '../bucket-notifications.ts'
import { findUnreachable } from '../destinations.ts'

const tested: string[] = []
const arn = (name: string) => `arn:svc:sqs:us-east-1:${name}:fake`
const target = definePlugin({
  name: 'fake-target',
  setup({ contribute }) {
    contribute('notification.target', 'fake', {
      knows: name => /^arn:svc:sqs:us-east-1:(one|two|down):fake$/.test(name),
      async test(name) {
        if (name.includes('down')) throw new Error('nobody is there')
        tested.push(name)
      },
    })
  },
})
const server = await startAdmin({ plugins: [target] })
t.teardown(() => server.stop())
const { s3: client, signed } = server
const path = '/api/v1/buckets/told/events'
const put = (subscriptions: readonly object[], headers: Record<string, string> = {}) =>
  signed({ method: 'PUT', path, body: { subscriptions }, headers })

t.test('subscriptions are the rules of S3', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'told' } })
  const none = await signed({ path })
  t.same(none.json, { subscriptions: [] })
  const whileEmpty = { 'if-match': String(none.headers.etag) }
  t.match(whileEmpty['if-match'], /^"[0-9a-f]{32}"$/)
  const rules = [
    { id: 'a', arn: arn('one'), events: ['s3:ObjectCreated:*'], prefix: 'in/', suffix: '.jpg' },
    { arn: arn('two'), events: ['s3:ObjectRemoved:Delete'] },
  ]
  const first = await put(rules, whileEmpty)
  t.equal(first.status, 200)
  t.same(tested, [arn('one'), arn('two')], 'each destination was tried')
  t.match(first.json.subscriptions[1].id, /^[\w-]{32}$/)
  const overS3 = await client.send(new GetBucketNotificationConfigurationCommand({ Bucket: 'told' }))
  t.match(overS3.QueueConfigurations, [
    {
      Id: 'a',
      QueueArn: arn('one'),
      Events: ['s3:ObjectCreated:*'],
      Filter: {
        Key: {
          FilterRules: [
            { Name: 'prefix', Value: 'in/' },
            { Name: 'suffix', Value: '.jpg' },
          ],
        },
      },
    },
    { QueueArn: arn('two') },
  ])
  const read = await signed({ path })
  t.same([read.json, read.headers.etag], [first.json, first.headers.etag])
  t.equal((await put([], { 'if-match': '"0"' })).json.code, 'precondition_failed')
  t.equal((await put([], whileEmpty)).json.code, 'precondition_failed')
  const removed = await put([], { 'if-match': String(read.headers.etag) })
  t.same([removed.json, removed.headers.etag], [{ subscriptions: [] }, none.headers.etag])
})

t.test(
  'destinations are tested at the same time, each with its own deadline, and all failures are reported',
  async t => {
    let cancelled = 0
    const timers: (() => void)[] = []
    const clock = {
      now: () => 0,
      monotonicNs: () => 0n,
      after(_delayMs: number, callback: () => void) {
        timers.push(callback)
        return () => void cancelled++
      },
    }
    let underWay = 0
    let underWayMost = 0
    const endings: (() => void)[] = []
    const fake: NotificationTarget = {
      knows: () => true,
      async test(name) {
        underWayMost = Math.max(underWayMost, ++underWay)
        if (name.startsWith('silent')) return new Promise(() => {})
        if (!name.startsWith('down')) await new Promise<void>(resolve => endings.push(resolve))
        underWay--
        if (name.startsWith('down')) throw new Error(`${name} is down`)
      },
    }
    const names = ['silent', 'down-1', ...Array.from({ length: 20 }, (_, i) => `fine-${i}`), 'down-2', 'fine-0']
    const rules = names.map(arn => ({ kind: 'queue' as const, id: arn, arn, events: [], filters: [] }))
    const found = findUnreachable({ target: () => fake }, rules, { bucket: 'b', requestId: 'r', clock })
    // Each test of a destination has a deadline, so the destination that does not answer delays no other.
    for (let ended = 0; ended < 20; ) {
      await new Promise(resolve => setImmediate(resolve))
      for (const end of endings.splice(0)) {
        end()
        ended++
      }
    }
    await new Promise(resolve => setImmediate(resolve))
    t.equal(timers.length, 23, 'one deadline for each')
    timers[0]!()
    t.same(await found, [
      { arn: 'silent', reason: 'it does not answer within 20 s' },
      { arn: 'down-1', reason: 'down-1 is down' },
      { arn: 'down-2', reason: 'down-2 is down' },
    ])
    t.equal(cancelled, 22, 'no timer is left')
    t.ok(underWayMost > 1 && underWayMost <= 8, `${underWayMost} at once`)
  },
)

t.test('a rule that was put as a topic over S3 stays a topic', async t => {
  const topic = { Id: 'topic', TopicArn: arn('one'), Events: ['s3:ObjectTagging:Put' as const] }
  const NotificationConfiguration = { TopicConfigurations: [topic] }
  await client.send(new PutBucketNotificationConfigurationCommand({ Bucket: 'told', NotificationConfiguration }))
  const { json, headers } = await signed({ path })
  t.equal((await put(json.subscriptions, { 'if-match': String(headers.etag) })).status, 200)
  const { TopicConfigurations } = await client.send(new GetBucketNotificationConfigurationCommand({ Bucket: 'told' }))
  t.same(TopicConfigurations, [topic])
})

t.test('each subscription is checked separately', async t => {
  const answer = await put([
    { id: 'good', arn: arn('one'), events: ['s3:ObjectCreated:Put'] },
    { id: 'unknown', arn: arn('three'), events: ['s3:ObjectCreated:Post'] },
    { id: 'event', arn: arn('one'), events: ['s3:Replication:*', 's3:Nothing'] },
    { id: 'good', arn: arn('one'), events: ['s3:ObjectRemoved:*'] },
    { id: 'overlap', arn: arn('two'), events: ['s3:ObjectCreated:*'] },
  ])
  t.equal(`${answer.status} ${answer.json.code}`, '400 invalid_configuration')
  t.same(
    answer.json.ruleErrors.map(({ rule, id, code }: Record<string, unknown>) => `${rule} ${id} ${code}`),
    [
      '1 unknown InvalidArgument',
      '2 event NotImplemented',
      '2 event InvalidArgument',
      '3 good InvalidArgument',
      '4 overlap InvalidArgument',
    ],
  )
  t.same(
    answer.json.ruleErrors.map(({ message }: Record<string, string>) => message),
    [
      `Unable to validate the following destination configurations (Arn ${arn('three')})`,
      'The event s3:Replication:* is not supported: no loaded plugin emits it.',
      'A specified event is not supported for notifications. (Event s3:Nothing)',
      'Same ID used for multiple configurations. IDs must be unique (Id good)',
      'Configurations overlap. Configurations on the same bucket cannot share a common event type when their prefixes and suffixes overlap. With rule good: s3:ObjectCreated:Put',
    ],
    'each says what it is about',
  )
  const down = await put([{ id: 'x', arn: arn('down'), events: ['s3:ObjectCreated:Put'] }])
  const reason = `The target ${arn('down')} does not take events now, so no new rule can name it: nobody is there`
  t.match(down.json, { code: 'invalid_configuration', ruleErrors: [{ rule: 0, id: 'x', message: reason }] })
  t.equal((await signed({ path })).json.subscriptions[0].id, 'topic', 'nothing was stored')
  const away = { id: 'x', arn: arn('down'), kind: 'queue' as const, filters: [], events: ['s3:ObjectCreated:Put'] }
  await server.kernel.services.bucketNotifications.replace('told', [away])
  const changed = await put([{ id: 'y', arn: arn('down'), events: ['s3:ObjectRemoved:*'] }])
  t.equal(changed.status, 200, 'rules of a destination that is away for a while can be changed')
  t.equal((await signed({ path: '/api/v1/buckets/missing/events' })).json.code, 'bucket_not_found')
})
