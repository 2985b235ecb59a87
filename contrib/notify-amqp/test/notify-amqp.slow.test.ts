/** Against a real RabbitMQ: the contract, exchanges, routing, permissions, TLS, a blocked broker, and services that misbehave. */
import { createServer, type Socket } from 'node:net'
import type { GetMessage } from 'amqplib'
import { createAddressGuard } from 'svc/plugins/http-client/api'
import { guardedClientContract } from 'svc/plugins/http-client/contract'
import type { NotifyTarget } from 'svc/plugins/notify/api'
import { notifyTargetContract, type Received, receivedFrom, testBody, testMessage } from 'svc/plugins/notify/contract'
import t, { type Test } from 'tap'
import { Value } from 'typebox/value'
import { type AmqpSettings, checkSettings, parseUrl, AmqpSettings as Schema } from '../settings.ts'
import { connectAmqp, createAmqpKind } from '../target.ts'
import { type RabbitMq, skip, startRabbitMq } from './rabbitmq.ts'

const noSignal = new AbortController().signal
const log = { debug() {} } as never
const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })
let server: RabbitMq
if (!skip) server = await startRabbitMq(t)
let names = 0

const complete = (settings: Partial<AmqpSettings>) => Value.Default(Schema, { ...settings }) as AmqpSettings

function connect(t: Test, settings: Partial<AmqpSettings>): NotifyTarget {
  const target = connectAmqp(complete({ url: server?.url, timeout: 20_000, ...settings }), { id: '_', log }, guard)
  t.teardown(() => target.close())
  return target
}

/** A durable queue, bound to a durable topic exchange if one is named. */
async function declare(queue: string, exchange = ''): Promise<void> {
  const model = await server.open()
  const channel = await model.createChannel()
  await channel.assertQueue(queue, { durable: true })
  if (exchange !== '') {
    await channel.assertExchange(exchange, 'topic', { durable: true })
    await channel.bindQueue(queue, exchange, '#')
  }
  await model.close()
}

/** For a broker that is killed now: messages are on disk when they are confirmed, declarations some seconds later. */
function keepDeclarations(): void {
  server.control('eval', 'mnesia:sync_log().')
}

/** Removes and returns the messages of a queue. */
async function take(queue: string): Promise<readonly GetMessage[]> {
  const model = await server.open()
  const channel = await model.createChannel()
  const messages: GetMessage[] = []
  for (;;) {
    const message = await channel.get(queue, { noAck: true })
    if (message === false) break
    messages.push(message)
  }
  await model.close()
  return messages
}

for (const publisher_confirms of [true, false]) {
  t.test(`the contract, ${publisher_confirms ? 'with' : 'without'} confirms`, { skip }, t =>
    notifyTargetContract(t, async () => {
      await server.start()
      const exchange = `events-${names}`
      const queue = `queue-${names++}`
      await declare(queue, exchange)
      const taken: Received[] = []
      return {
        kind: createAmqpKind(guard),
        settings: {
          url: server.url,
          exchange,
          routing_key: 'svc.events',
          durable: true,
          publisher_confirms,
          timeout: 2000,
        },
        secrets: [server.password, 'wrong-password'],
        refusedSettings: { url: server.url.replace(server.password, 'wrong-password') },
        timeoutMs: 2000,
        async received() {
          taken.push(...(await take(queue)).map(({ content }) => receivedFrom(content)))
          return taken
        },
        stop() {
          keepDeclarations()
          return server.stop()
        },
        start: () => server.start(),
        hang: async () => server.hang(),
        resume: async () => server.resume(),
      }
    }),
  )
}

t.test('a message: the bytes, durable, with headers for routing', { skip }, async t => {
  await server.start()
  await declare('direct')
  const target = connect(t, { routing_key: 'direct' })
  const message = testMessage({ key: 'ж b' })
  await target.send([message], noSignal)
  await target.test(testBody('id-1'), noSignal)
  const [first, second] = await take('direct')
  t.ok(first!.content.equals(message.body))
  const { bucket, key, sequencer, eventName } = message
  t.match(first!.properties, {
    contentType: 'application/json',
    deliveryMode: 2,
    appId: 'svc',
    type: eventName,
    headers: { event: eventName, bucket, key, sequencer },
  })
  t.equal(second!.properties.type, 's3:TestEvent')
  await connect(t, { routing_key: 'direct', delivery_mode: 1 }).send([message], noSignal)
  t.equal((await take('direct'))[0]!.properties.deliveryMode, 1)
})

t.test('a message that no queue gets is an error if it is mandatory', { skip }, async t => {
  for (const publisher_confirms of [true, false]) {
    const exchange = `mandatory-${publisher_confirms}`
    const settings = { exchange, routing_key: 'a.b', durable: true, publisher_confirms }
    const dropping = connect(t, settings)
    await dropping.send([testMessage()], noSignal)
    t.match(
      await dropping.test(testBody('x'), noSignal),
      /no queue gets messages .* drops them, because mandatory is off/,
    )
    const target = connect(t, { ...settings, mandatory: true })
    const message = /no queue gets messages of the exchange "mandatory-.*" with routing key "a\.b" \(NO_ROUTE\)/
    await t.rejects(target.send([testMessage(), testMessage()], noSignal), { message })
    await t.rejects(target.test(testBody('x'), noSignal), { message })
    await declare(`queue-of-${exchange}`, exchange)
    await target.send([testMessage()], noSignal)
    t.equal(await dropping.test(testBody('x'), noSignal), undefined)
    t.equal((await take(`queue-of-${exchange}`)).length, 2)
  }
})

t.test(
  'an exchange is declared as configured; one that is otherwise is an error that says in what',
  { skip },
  async t => {
    const model = await server.open()
    t.teardown(() => model.close())
    const channel = await model.createChannel()
    await channel.assertExchange('taken', 'fanout', { durable: true })
    const send = (more: Partial<AmqpSettings>) =>
      connect(t, { exchange: 'taken', exchange_type: 'fanout', durable: true, ...more }).send([testMessage()], noSignal)
    await send({})
    await t.rejects(send({ exchange_type: 'topic' }), { message: /inequivalent arg 'type' for exchange 'taken'/ })
    await t.rejects(send({ durable: false }), { message: /inequivalent arg 'durable' for exchange 'taken'/ })
    await t.rejects(send({ auto_deleted: true }), { message: /inequivalent arg 'auto_delete'/ })
    await t.rejects(send({ exchange: 'new', exchange_type: 'no-such-type' }), { message: /exchange type/ })
    await t.rejects(send({ exchange: 'amq.svc' }), { message: /reserved|amq\.\*|amq\.svc/ })
  },
)

t.test('users who may publish but not declare, and users without permissions', { skip }, async t => {
  await declare('queue-of-narrow', 'narrow')
  server.control('add_user', 'publisher', 'secret-of-publisher')
  server.control('set_permissions', 'publisher', '', '^narrow$', '')
  const url = `amqp://publisher:secret-of-publisher@${server.host}`
  const send = (exchange: string, more: string = '') =>
    connect(t, { url: url + more, exchange, durable: true }).send([testMessage()], noSignal)
  await send('narrow')
  t.equal((await take('queue-of-narrow')).length, 1)
  await t.rejects(send('missing'), { message: /no exchange 'missing'/ })
  await connect(t, { exchange: 'forbidden', durable: true }).send([testMessage()], noSignal)
  await t.rejects(send('forbidden'), { message: /access to exchange 'forbidden'.* refused/ })
  await t.rejects(send('narrow', '/nowhere'), { message: /^AMQP at .*(vhost|NOT_ALLOWED|Expected)/ })
})

t.test('TLS: the certificate is verified, with the authorities in a file', { skip }, async t => {
  await declare('by-tls')
  const send = (query: string) =>
    connect(t, { url: `amqps://svc:${server.password}@${server.tlsHost}${query}`, routing_key: 'by-tls' }).send(
      [testMessage()],
      noSignal,
    )
  await send(`?cacertfile=${server.certificate}`)
  await send('?verify=verify_none')
  await t.rejects(send(''), { message: /self-signed certificate/ })
  await t.rejects(send('?cacertfile=/nowhere.pem'), {
    message: /the file of the authorities cannot be read, or holds no PEM certificate/,
  })
  t.equal((await take('by-tls')).length, 2)
})

t.test('a broker that takes no messages because of its memory gives an error with this reason', { skip }, async t => {
  await declare('while-blocked')
  const target = connect(t, { routing_key: 'while-blocked', timeout: 5000 })
  await target.send([testMessage()], noSignal)
  server.control('set_vm_memory_high_watermark', '0.0000001')
  // The broker checks its memory periodically.
  let error: string | undefined
  for (let attempt = 0; attempt < 900 && error === undefined; attempt++) {
    error = await target.send([testMessage()], noSignal).then(
      () => undefined,
      ({ message }: Error) => message,
    )
    await new Promise(done => setTimeout(done, 100))
  }
  t.match(error, /^AMQP at .*(did not answer within 5000 ms|takes no messages)/)
  await target.close()
  server.control('set_vm_memory_high_watermark', '0.4')
  const next = connect(t, { routing_key: 'while-blocked' })
  for (let attempt = 0; attempt < 10; attempt++) {
    const isSent = await next.send([testMessage()], noSignal).then(
      () => true,
      () => false,
    )
    if (isSent) return t.pass('it takes them again')
  }
  t.fail('it does not take messages again')
})

t.test('a connection that the broker closes, and a broker that is killed while it answers', { skip }, async t => {
  await declare('again')
  keepDeclarations()
  const target = connect(t, { routing_key: 'again' })
  await target.send([testMessage({ key: 'first' })], noSignal)
  server.control('close_all_connections', 'maintenance')
  await new Promise(done => setTimeout(done, 100))
  await target.send([testMessage({ key: 'second' })], noSignal)
  const many = Array.from({ length: 100 }, (_, i) => testMessage({ key: `many-${i}` }))
  const sending = target.send(many, noSignal).then(
    () => 'done',
    (error: Error) => error.message,
  )
  await server.stop()
  t.match(await sending, /^(done|AMQP at .*)$/)
  await t.rejects(target.send([testMessage()], noSignal), { message: /ECONN/ })
  await server.start()
  await target.send([testMessage({ key: 'last' })], noSignal)
  const keys = (await take('again')).map(({ properties }) => properties.headers?.key)
  t.same([keys[0], keys[1], keys.at(-1)], ['first', 'second', 'last'], 'what was confirmed is still there')
})

t.test('services that do not speak the protocol, or disconnect, give an error in time', async t => {
  const answers: Readonly<Record<string, (socket: Socket) => void>> = {
    'the answer of a web server': socket => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    'another version of the protocol': socket => socket.write(Buffer.from('AMQP\0\x01\0\0')),
    'a frame that is too large': socket => socket.write(Buffer.from([1, 0, 0, 255, 255, 255, 255, 0])),
    'a method that nobody knows': socket => socket.write(Buffer.from([1, 0, 0, 0, 0, 0, 4, 0, 99, 0, 99, 0xce])),
    'a heartbeat, again and again': socket => socket.write(Buffer.from([8, 0, 0, 0, 0, 0, 0, 0xce])),
    'the end at once': socket => socket.destroy(),
    'the end, politely': socket => socket.end(),
    nothing: () => undefined,
  }
  for (const [name, answer] of Object.entries(answers)) {
    const fake = createServer(socket => {
      socket.on('error', () => undefined).on('data', () => answer(socket))
    })
    await new Promise<void>(done => fake.listen(0, '127.0.0.1', done))
    const { port } = fake.address() as { port: number }
    for (const protocol of ['amqp', 'amqps']) {
      const url = `${protocol}://svc:secret-of-nobody@127.0.0.1:${port}`
      const target = connect(t, { url, routing_key: 'x', timeout: 300 })
      const sent = target.send([testMessage()], noSignal)
      await t.rejects(sent, { message: /^(?!.*secret-of)AMQP at/ }, `${name} ${protocol}`)
      await t.rejects(target.test(testBody('x'), noSignal), { message: /^AMQP at/ }, `${name} ${protocol}`)
      await target.close()
    }
    await new Promise(done => fake.close(done))
    t.pass(`${name}: no connection is left`)
  }
})

t.test('allowed addresses', t =>
  guardedClientContract(t, async () => ({
    async attempt(guard, host, port) {
      const settings = complete({ url: `amqp://${host}:${port}`, routing_key: 'k', timeout: 1000 })
      const target = connectAmqp(settings, { id: '_', log }, guard)
      try {
        await target.send([testMessage()], noSignal)
      } finally {
        await target.close()
      }
    },
  })),
)

t.test('settings', async t => {
  const problemsOf = (settings: Partial<AmqpSettings>) => checkSettings(complete(settings), guard).map(({ key }) => key)
  t.same(problemsOf({}), ['url', 'routing_key'])
  t.same(problemsOf({ url: 'amqp://h', exchange: 'x'.repeat(256), internal: true }), ['exchange', 'internal'])
  t.same(problemsOf({ url: 'amqp://h', exchange: 'events' }), [])
  t.same(problemsOf({ url: 'amqp://[fe80::1]/', exchange: 'events' }), ['url'])
  for (const wrong of [
    '',
    'http://h',
    'amqp://',
    'amqp://u:%zz@h',
    'amqp://u:secret-of-user@h?x=1',
    'amqp://h?heartbeat=often',
    'amqps://h?verify=no',
    'amqps://h?certfile=/x',
  ]) {
    const parsed = parseUrl(wrong)
    t.ok('problem' in parsed && !parsed.problem.includes('secret-of'), wrong)
  }
  t.match(parseUrl('amqp://h'), { user: 'guest', password: 'guest', vhost: '/', port: 5672, heartbeatSeconds: 30 })
  t.match(parseUrl('amqps://u:a%2Fb@[::1]/my%2Fhost?heartbeat=5'), {
    host: '::1',
    port: 5671,
    password: 'a/b',
    vhost: 'my/host',
    heartbeatSeconds: 5,
    isVerified: true,
    endpoint: 'amqps://[::1]:5671/my%2Fhost',
  })
  const unusable = connect(t, { url: 'nonsense' })
  await t.rejects(unusable.send([testMessage()], noSignal), { message: /cannot be used/ })
})
