/** Against a real redis-server: the contract in both formats, stored entries, access control, TLS, and services that misbehave. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type LookupFunction, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAddressGuard } from 'svc/plugins/http-client/api'
import { guardedClientContract } from 'svc/plugins/http-client/contract'
import type { NotifyTarget } from 'svc/plugins/notify/api'
import { notifyTargetContract, receivedFrom, testBody, testMessage } from 'svc/plugins/notify/contract'
import t, { type Test } from 'tap'
import { Value } from 'typebox/value'
import { skip, startRedis } from '../../../test/services/redis-server.ts'
import { checkSettings, parseAddress, RedisSettings } from '../settings.ts'
import { connectRedis, createRedisKind } from '../target.ts'

const noSignal = new AbortController().signal
const log = { debug() {} } as never
const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })
let names = 0

const complete = (settings: Partial<RedisSettings>) => Value.Default(RedisSettings, { ...settings }) as RedisSettings

function connect(t: Test, settings: Partial<RedisSettings>): NotifyTarget {
  const target = connectRedis(complete({ timeout: 20_000, ...settings }), { id: '_', log }, guard)
  t.teardown(() => target.close())
  return target
}

t.test('the contract', { skip }, async t => {
  const server = await startRedis(t)
  for (const format of ['namespace', 'access'] as const) {
    await t.test(format, t =>
      notifyTargetContract(t, async () => {
        const key = `${format}-${names++}`
        await server.stop()
        await server.start()
        return {
          kind: createRedisKind(guard),
          settings: { address: server.address, key, format, password: server.password, timeout: 1000 },
          secrets: [server.password, 'wrong-password'],
          refusedSettings: { password: 'wrong-password' },
          timeoutMs: 1000,
          isTable: format === 'namespace',
          async received() {
            if (format === 'namespace') return server.ask('--raw', 'HVALS', key).filter(Boolean).map(receivedFrom)
            const entries = server.ask('--raw', 'LRANGE', key, '0', '-1').filter(Boolean)
            return entries.map(entry => JSON.parse(entry)[0].Event[0])
          },
          stop: () => server.stop(),
          start: () => server.start(),
          hang: async () => server.hang(),
          resume: async () => server.resume(),
        }
      }),
    )
  }
})

t.test('stored entries', { skip }, async t => {
  const server = await startRedis(t)
  const { address, password } = server
  const put = testMessage({ key: 'a b.jpg' })
  const removal = testMessage({ key: 'a b.jpg', name: 'ObjectRemoved:Delete' })
  const other = testMessage({ key: 'other' })

  const table = connect(t, { address, password, key: 'objects', db: 3 })
  await table.send([put, other], noSignal)
  t.same(JSON.parse(server.ask('-n', '3', '--raw', 'HGET', 'objects', 'photos/a b.jpg').join()), {
    Records: [put.record],
  })
  await table.send([testMessage({ key: 'a b.jpg' }), removal, other], noSignal)
  t.same(server.ask('-n', '3', '--raw', 'HKEYS', 'objects'), ['photos/other'], 'in their order, in one batch')

  const list = connect(t, { address, password, key: 'events', format: 'access' })
  await list.send([put, removal], noSignal)
  t.same(
    server.ask('--raw', 'LRANGE', 'events', '0', '-1').map(entry => JSON.parse(entry)),
    [put, removal].map(({ record, eventTime }) => [{ Event: [record], EventTime: eventTime }]),
  )
  server.ask('DEL', 'events')
  const body = testBody('id-1')
  await list.test(body, noSignal)
  const event = JSON.parse(body.toString())
  t.same(JSON.parse(server.ask('--raw', 'LINDEX', 'events', '0').join()), [{ Event: [event], EventTime: event.Time }])
})

t.test('a key of another type gives an error with this reason, and nothing is written', { skip }, async t => {
  const server = await startRedis(t)
  const { address, password } = server
  server.ask('SET', 'taken', 'text')
  for (const [format, type] of [
    ['namespace', 'hash'],
    ['access', 'list'],
  ] as const) {
    const target = connect(t, { address, password, key: 'taken', format })
    const message = new RegExp(`key "taken" is not the ${type}`)
    await t.rejects(target.send([testMessage(), testMessage()], noSignal), { message })
    await t.rejects(target.test(testBody('x'), noSignal), { message })
    await t.rejects(target.send([testMessage()], noSignal), { message }, 'again')
  }
  t.same(server.ask('--raw', 'GET', 'taken'), ['text'])
  const target = connect(t, { address, password, key: 'taken' })
  server.ask('DEL', 'taken')
  await target.test(testBody('x'), noSignal)
  t.same(server.ask('EXISTS', 'taken'), ['0'], 'a test of a table leaves nothing')
  await target.send([testMessage()], noSignal)
  t.same(server.ask('HLEN', 'taken'), ['1'])
})

t.test('a user with only the permissions in the README', { skip }, async t => {
  const server = await startRedis(t)
  const rights = ['~events', '+multi', '+exec', '+hset', '+hdel', '+rpush', '+type', '+select']
  server.ask('ACL', 'SETUSER', 'svc', 'on', '>secret-of-svc', ...rights)
  const settings = { address: server.address, user: 'svc', password: 'secret-of-svc', db: 1 }
  const allowed = connect(t, { ...settings, key: 'events' })
  await allowed.test(testBody('x'), noSignal)
  await allowed.send([testMessage(), testMessage({ name: 'ObjectRemoved:Delete', key: 'x' })], noSignal)
  t.same(server.ask('-n', '1', 'HLEN', 'events'), ['1'])
  const refused = connect(t, { ...settings, key: 'others' })
  await t.rejects(refused.send([testMessage()], noSignal), { message: /NOPERM/ })
  const wrong = connect(t, { ...settings, password: 'wrong-password', key: 'events' })
  await t.rejects(wrong.send([testMessage()], noSignal), { message: /^Redis at 127\.0\.0\.1:\d+: WRONGPASS/ })
})

t.test('a full server takes nothing, and gives the reason', { skip }, async t => {
  const server = await startRedis(t)
  const target = connect(t, { address: server.address, password: server.password, key: 'objects' })
  server.ask('CONFIG', 'SET', 'maxmemory', '1')
  await t.rejects(target.send([testMessage()], noSignal), { message: /OOM/ })
  server.ask('CONFIG', 'SET', 'maxmemory', '0')
  await target.send([testMessage()], noSignal)
  t.same(server.ask('HLEN', 'objects'), ['1'])
})

t.test('TLS: the certificate is verified, with the authorities in a file', { skip }, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-redis-tls-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const certificate = join(folder, 'server.crt')
  const key = join(folder, 'server.key')
  const names = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1']
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
  execFileSync('openssl', [...request, ...names], { stdio: 'ignore' })
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-auth-clients', 'no']
  const server = await startRedis(t, ['--tls-port', '{port}', ...files])
  const settings = { address: server.address, password: server.password, key: 'objects', tls: true }
  await connect(t, { ...settings, ca_cert: certificate }).send([testMessage({ key: 'verified' })], noSignal)
  await connect(t, { ...settings, tls_skip_verify: true }).send([testMessage({ key: 'trusted' })], noSignal)
  await t.rejects(connect(t, settings).send([testMessage()], noSignal), { message: /self.signed/ })
  await t.rejects(connect(t, { ...settings, ca_cert: '/nowhere.pem' }).send([testMessage()], noSignal), {
    message: /the file of the authorities cannot be read, or holds no PEM certificate/,
  })
  const lookup: LookupFunction = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }])
  const named = complete({
    ...settings,
    address: server.address.replace('127.0.0.1', 'redis.test'),
    ca_cert: certificate,
  })
  const other = connectRedis(named, { id: '_', log }, createAddressGuard({ ...guard, lookup }))
  await t.rejects(
    other.send([testMessage()], noSignal),
    { message: /altnames/ },
    'the name is verified, not its address',
  )
  await other.close()
  await t.rejects(connect(t, { ...settings, tls: false }).send([testMessage()], noSignal), Error)
  t.same(server.ask('--tls', '--cacert', certificate, 'HLEN', 'objects'), ['2'])
})

t.test('services that do not speak the protocol, or disconnect, give an error in time', async t => {
  const answers: Readonly<Record<string, (socket: Socket) => void>> = {
    'the answer of a web server': socket => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    'bytes of nothing': socket => socket.write(Buffer.from([0, 1, 2, 255, 13, 10])),
    'always the same': socket => socket.write('+OK\r\n'),
    'more answers than questions': socket => socket.write(':1\r\n'.repeat(50)),
    'an endless answer': socket => socket.write('$99999999999\r\nabc'),
    'a part of an answer, then the end': socket => socket.end('*3\r\n:1\r\n'),
    'the end at once': socket => socket.destroy(),
    nothing: () => undefined,
  }
  for (const [name, answer] of Object.entries(answers)) {
    const server = createServer(socket => {
      socket.on('error', () => undefined)
      socket.on('data', () => answer(socket))
    })
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as { port: number }
    const target = connect(t, { address: `127.0.0.1:${port}`, password: 'secret-of-nobody', key: 'k', timeout: 300 })
    await t.rejects(target.send([testMessage(), testMessage()], noSignal), { message: /^Redis at/ }, name)
    await t.rejects(target.test(testBody('x'), noSignal), { message: /^(?!.*secret-of)/ }, name)
    await target.close()
    // An open connection would prevent its end.
    await new Promise(done => server.close(done))
    t.pass(`${name}: no connection is left`)
  }
})

t.test('a server that is killed while it answers: one error, and the next send connects', { skip }, async t => {
  const server = await startRedis(t)
  const target = connect(t, { address: server.address, password: server.password, key: 'objects' })
  for (let round = 0; round < 3; round++) {
    await target.send([testMessage({ key: `before-${round}` })], noSignal)
    const many = Array.from({ length: 100 }, (_, i) => testMessage({ key: `many-${round}-${i}` }))
    // The command may have been executed before.
    const sending = target.send(many, noSignal).then(
      () => 'done',
      (error: Error) => error.message,
    )
    await server.stop()
    t.match(await sending, /^(done|Redis at .*(ECONN|closed).*)$/)
    await t.rejects(target.send([testMessage()], noSignal), { message: /ECONN|closed/ })
    await server.start()
    await target.send([testMessage({ key: `after-${round}` })], noSignal)
  }
  t.same(server.ask('HEXISTS', 'objects', 'photos/after-2'), ['1'])
})

t.test('allowed addresses', t =>
  guardedClientContract(t, async () => ({
    async attempt(guard, host, port) {
      const settings = complete({ address: `${host}:${port}`, key: 'k', timeout: 1000 })
      const target = connectRedis(settings, { id: '_', log }, guard)
      try {
        await target.send([testMessage()], noSignal)
      } finally {
        await target.close()
      }
    },
  })),
)

t.test('settings', async t => {
  t.same(parseAddress('redis.example'), { host: 'redis.example', port: 6379 })
  t.same(parseAddress('[::1]:7000'), { host: '::1', port: 7000 })
  for (const wrong of ['', 'a b', 'host:0', 'host:70000', 'redis://host:1', 'user@host', '::1:1']) {
    t.equal(parseAddress(wrong), undefined, wrong)
  }
  const keysOf = (settings: Partial<RedisSettings>) => checkSettings(complete(settings), guard).map(({ key }) => key)
  t.same(keysOf({}), ['address', 'key'])
  t.same(keysOf({ address: '169.254.169.254:6379', key: 'k' }), ['address'])
  t.same(keysOf({ address: 'h', key: 'k', user: 'u', ca_cert: '/x', tls_skip_verify: true }), [
    'password',
    'ca_cert',
    'tls_skip_verify',
  ])
  t.same(keysOf({ address: 'h:1', key: 'k', tls: true, ca_cert: '/x' }), [])
  await t.rejects(connect(t, {}).test(testBody('x'), noSignal), { message: /cannot be used: address must be/ })
  t.equal(
    createRedisKind(guard).endpoint(complete({ address: 'h:1', user: 'u', password: 'p', db: 2 })),
    'redis://h:1/2',
  )
})
