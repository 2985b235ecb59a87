import {
  CreateBucketCommand,
  DeleteBucketCommand,
  type Event,
  GetBucketNotificationConfigurationCommand,
  type NotificationConfiguration,
  PutBucketNotificationConfigurationCommand,
} from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { definePlugin } from 'svc/kernel'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import t from 'tap'
import type { TestEvent } from '../bucket-notifications.ts'
import { matchedEvents } from '../events.ts'
import { checkNotificationRules, type NotificationRule } from '../rules.ts'

const tested: [arn: string, event: TestEvent][] = []
const arn = (name: string) => `arn:svc:sqs:us-east-1:${name}:fake`
const target = definePlugin({
  name: 'fake-target',
  setup({ contribute }) {
    contribute('notification.target', 'fake', {
      knows: name => /^arn:svc:sqs:us-east-1:(one|two|down):fake$/.test(name),
      async test(name, event) {
        if (name.includes('down')) throw new Error('nobody is there')
        tested.push([name, event])
      },
    })
  },
})
const server = await startServer({ plugins: [...standard, target] })
t.teardown(() => server.stop())
const { client } = server
const Bucket = 'notified'
await client.send(new CreateBucketCommand({ Bucket }))
const put = (NotificationConfiguration: NotificationConfiguration, SkipDestinationValidation?: boolean) =>
  outcome(
    client.send(
      new PutBucketNotificationConfigurationCommand({ Bucket, NotificationConfiguration, SkipDestinationValidation }),
    ),
  )
const get = async () => {
  const { $metadata, ...configuration } = await client.send(new GetBucketNotificationConfigurationCommand({ Bucket }))
  return configuration
}
const queue = (events: readonly string[], more: object = {}) => ({
  QueueArn: arn('one'),
  Events: events as Event[],
  ...more,
})
const filter = (...rules: (readonly [name: string, value: string])[]) => ({
  Filter: { Key: { FilterRules: rules.map(([Name, Value]) => ({ Name: Name as 'prefix', Value })) } },
})

t.test('rules are returned exactly as they were put, and an empty document removes them', async t => {
  t.same(await get(), {})
  const configuration = {
    QueueConfigurations: [
      {
        Id: 'a & b',
        ...queue(['s3:ObjectCreated:*', 's3:ObjectRemoved:Delete'], filter(['prefix', 'in/'], ['suffix', '.jpg'])),
      },
      { Id: 'second', ...queue(['s3:ObjectCreated:PutTagging'], { QueueArn: arn('two') }) },
    ],
    TopicConfigurations: [
      { Id: 'third', TopicArn: arn('two'), Events: ['s3:ObjectRemoved:DeleteMarkerCreated'] as Event[] },
    ],
    LambdaFunctionConfigurations: [
      { Id: 'fourth', LambdaFunctionArn: arn('one'), Events: ['s3:LifecycleExpiration:*'] as Event[] },
    ],
  }
  t.equal(await put(configuration), 'ok')
  t.same(await get(), configuration)
  t.same(tested.map(([name]) => name).sort(), [arn('one'), arn('two')], 'each destination got one test event')
  t.match(tested[0]![1], { Service: 'svc', Event: 's3:TestEvent', Bucket, RequestId: /^[0-9A-F]{16}$/ })
  t.equal(await put({ QueueConfigurations: [queue(['s3:ObjectCreated:Put'])] }, true), 'ok')
  t.equal(tested.length, 2, 'skipped')
  const { QueueConfigurations } = (await get()) as NotificationConfiguration
  t.match(QueueConfigurations![0]!.Id, /^[\w-]{32}$/, 'an id is made')
  t.equal(await put({}), 'ok')
  t.same(await get(), {})
})

t.test('invalid rules are refused, and the stored rules stay', async t => {
  t.equal(await put({ QueueConfigurations: [queue(['s3:ObjectTagging:*'], { Id: 'kept' })] }), 'ok')
  const created = 's3:ObjectCreated:*'
  for (const [what, rules, expected] of [
    ['an unknown destination', [queue([created], { QueueArn: arn('three') })], '400 InvalidArgument'],
    [
      'a destination of AWS',
      [queue([created], { QueueArn: 'arn:aws:sqs:us-east-1:123456789012:q' })],
      '400 InvalidArgument',
    ],
    ['one that is down', [queue([created], { QueueArn: arn('down') })], '400 InvalidArgument'],
    ['an unknown event', [queue(['s3:ObjectEaten:*'])], '400 InvalidArgument'],
    ['an event without s3:', [queue(['ObjectCreated:Put'])], '400 InvalidArgument'],
    ['the test event', [queue(['s3:TestEvent'])], '400 InvalidArgument'],
    ['what does not happen', [queue(['s3:Replication:OperationFailedReplication'])], '501 NotImplemented'],
    ['no event', [queue([])], '400 MalformedXML'],
    [
      'two rules of one id',
      [queue([created], { Id: 'x' }), queue(['s3:ObjectRemoved:*'], { Id: 'x' })],
      '400 InvalidArgument',
    ],
    ['a long id', [queue([created], { Id: 'x'.repeat(256) })], '400 InvalidArgument'],
    ['another filter', [queue([created], filter(['infix', 'a']))], '400 InvalidArgument'],
    ['two prefixes', [queue([created], filter(['prefix', 'a'], ['Prefix', 'b']))], '400 InvalidArgument'],
    ['a long prefix', [queue([created], filter(['prefix', 'a'.repeat(1025)]))], '400 InvalidArgument'],
    ['the same twice', [queue([created]), queue([created])], '400 InvalidArgument'],
    [
      'one inside the other',
      [queue([created]), queue(['s3:ObjectCreated:Put'], filter(['prefix', 'a']))],
      '400 InvalidArgument',
    ],
    [
      'prefixes that contain each other',
      [queue([created], filter(['prefix', 'a/'])), queue([created], filter(['prefix', 'a/b'], ['suffix', 'x']))],
      '400 InvalidArgument',
    ],
    [
      'prefixes that are the same but for the form of their Unicode',
      ['NFC', 'NFD'].map(form => queue([created], filter(['prefix', 'ü/'.normalize(form)]))),
      '400 InvalidArgument',
    ],
    [
      'two names of one event',
      [queue(['s3:ObjectTagging:Put']), queue(['s3:ObjectCreated:PutTagging'])],
      '400 InvalidArgument',
    ],
  ] as const) {
    t.equal(await put({ QueueConfigurations: rules as never }), expected, what)
  }
  const many = Array.from({ length: 101 }, (_, n) => queue([created], filter(['prefix', `${n}/`])))
  t.equal(await put({ QueueConfigurations: many }), '400 InvalidArgument')
  t.equal(await put({ EventBridgeConfiguration: {} }), '501 NotImplemented')
  t.equal(((await get()) as NotificationConfiguration).QueueConfigurations![0]!.Id, 'kept')
  t.equal(
    await put({
      QueueConfigurations: [
        queue([created], filter(['prefix', 'a/'])),
        queue([created], filter(['prefix', 'b/'])),
        queue(['s3:ObjectRemoved:*'], filter(['prefix', 'a/'], ['suffix', '.jpg'])),
        queue(['s3:ObjectRemoved:*'], filter(['prefix', 'a/'], ['suffix', '.png'])),
      ],
    }),
    'ok',
    'what only looks alike',
  )
  const send = async (content: string) => {
    const body = `<NotificationConfiguration>${content}</NotificationConfiguration>`
    const answer = await server.signed({ method: 'PUT', path: `/${Bucket}`, query: 'notification=', body })
    return answer.ok ? 'ok' : /<Code>(.*)<\/Code>/.exec(await answer.text())![1]
  }
  const event = '<Event>s3:ObjectCreated:*</Event>'
  t.equal(await send('<Other/>'), 'MalformedXML')
  t.equal(await send(`<QueueConfiguration>${event}</QueueConfiguration>`), 'MalformedXML')
  t.equal(await send(`<QueueConfiguration><Topic>x</Topic>${event}</QueueConfiguration>`), 'MalformedXML')
  const rule = (content: string) =>
    `<QueueConfiguration><Queue>${arn('one')}</Queue>${event}${content}</QueueConfiguration>`
  t.equal(await send(rule('<Filter><Tag/></Filter>')), 'MalformedXML')
  t.equal(
    await send(rule('<Filter><S3Key><FilterRule><Name>prefix</Name></FilterRule></S3Key></Filter>')),
    'MalformedXML',
  )
  t.equal(await send(rule('<Filter/><Filter/>')), 'MalformedXML')
  t.equal(await send(rule('<Filter><S3Key/></Filter>')), 'ok')
})

t.test('without a target no rule is accepted, and rules are deleted with their bucket', async t => {
  const other = await startServer()
  t.teardown(() => other.stop())
  await other.client.send(new CreateBucketCommand({ Bucket }))
  const NotificationConfiguration = { QueueConfigurations: [queue(['s3:ObjectCreated:*'])] }
  const command = () => new PutBucketNotificationConfigurationCommand({ Bucket, NotificationConfiguration })
  t.equal(await outcome(other.client.send(command())), '400 InvalidArgument')
  for (const method of ['GET', 'PUT']) {
    t.equal((await server.anonymous(method, `/${Bucket}?notification`)).status, 403, `${method} for a stranger`)
  }
  await client.send(new DeleteBucketCommand({ Bucket }))
  t.equal(await outcome(client.send(command())), '404 NoSuchBucket')
  t.equal(await outcome(get()), '404 NoSuchBucket')
  await client.send(new CreateBucketCommand({ Bucket }))
  t.same(await get(), {})
})

t.test('rules overlap exactly when some event of some object would be sent twice', async t => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 })
  const event = fc.constantFrom(
    's3:ObjectCreated:*',
    's3:ObjectCreated:Put',
    's3:ObjectRemoved:*',
    's3:ObjectTagging:Put',
  )
  const anyRule = fc.record({ event, prefix: text, suffix: text })
  const toRule = (given: { event: string; prefix: string; suffix: string }, id: string): NotificationRule => ({
    kind: 'queue',
    id,
    arn: arn('one'),
    events: [given.event],
    filters: [
      { name: 'prefix', value: given.prefix },
      { name: 'suffix', value: given.suffix },
    ],
  })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(anyRule, anyRule, (a, b) => {
        const problems = checkNotificationRules(
          [toRule(a, '1'), toRule(b, '2')],
          () => true,
          key => key,
        )
        const shared = matchedEvents(a.event)!.some(name => matchedEvents(b.event)!.includes(name))
        // A sufficiently long key has both prefixes and both suffixes exactly if one prefix contains the other, and one suffix the other.
        const longest = (x: string, y: string) => (x.length > y.length ? x : y)
        const candidate = longest(a.prefix, b.prefix) + 'c'.repeat(8) + longest(a.suffix, b.suffix)
        const isTold = (rule: typeof a) => candidate.startsWith(rule.prefix) && candidate.endsWith(rule.suffix)
        return problems.length > 0 === (shared && isTold(a) && isTold(b))
      }),
    ),
  )
})
