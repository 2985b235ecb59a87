/** Against a real nats-server: the contract, core and JetStream, log-ins, TLS, crashes, and servers that misbehave. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nkeys } from '@nats-io/transport-node'
import { createAddressGuard } from 'svc/plugins/http-client/api'
import { guardedClientContract } from 'svc/plugins/http-client/contract'
import type { NotifyTarget } from 'svc/plugins/notify/api'
import { notifyTargetContract, receivedFrom, testBody, testMessage } from 'svc/plugins/notify/contract'
import t, { type Test } from 'tap'
import { Value } from 'typebox/value'
import { checkNats, NatsSettings, parseServer } from '../settings.ts'
import { connectNats, createNatsKind } from '../target.ts'
import { skip, startNats } from './nats-server.ts'

const subject = 'svc.events'
const password = 's3cret of the test'
const login = { user: 'svc', pass: password }
const users = `authorization { users: [ { user: svc, password: "${password}" } ] }`
const noSignal = new AbortController().signal
const log = { debug() {} } as never
const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })

const complete = (settings: Partial<NatsSettings>) =>
  Value.Default(NatsSettings, { subject, timeout: 10_000, ...settings }) as NatsSettings

function connect(t: Test, settings: Partial<NatsSettings>): NotifyTarget {
  const target = connectNats(complete(settings), { id: '_', log }, guard)
  t.teardown(() => target.close())
  return target
}

for (const isStream of [false, true]) {
  t.test(`the target keeps the contract ${isStream ? 'with JetStream' : 'without'}`, { skip }, t =>
    notifyTargetContract(t, async t => {
      const server = await startNats(t, users, login)
      // The stream also stores messages that are only published.
      await server.addStream('EVENTS', [subject])
      return {
        kind: createNatsKind(guard),
        settings: { address: [server.address], subject, jetstream: isStream, timeout: 1500, username: 'svc', password },
        refusedSettings: { password: 'wrong of the test' },
        secrets: [password, 'wrong of the test'],
        timeoutMs: 1500,
        received: async () => (await server.read('EVENTS')).map(({ body }) => receivedFrom(body)),
        stop: () => server.stop(),
        start: () => server.start(),
        hang: () => server.hang(),
        resume: async () => server.resume(),
      }
    }),
  )
}

t.test('a stream stores an event once, however often it is sent', { skip }, async t => {
  const server = await startNats(t, users, login)
  await server.addStream('EVENTS', [subject])
  const { send } = connect(t, { address: [server.address], jetstream: true, username: 'svc', password })
  const first = testMessage({ key: 'line\nbreak' })
  const second = testMessage({ key: 'line\nbreak' })
  const sameSequencer = testMessage({ key: 'line\nbreak', sequencer: first.sequencer, name: 'ObjectAccessed:Get' })
  await send([first, second], noSignal)
  await send([first, second, sameSequencer], noSignal)
  const stored = await server.read('EVENTS')
  t.same(
    stored.map(({ body }) => body),
    [first, second, sameSequencer].map(({ body }) => body.toString()),
  )
  t.ok(stored[0]!.id.startsWith(`${first.sequencer}-`))
})

t.test('order of each key is kept through crashes of the server', { skip }, async t => {
  const server = await startNats(t, users, login)
  await server.addStream('EVENTS', [subject])
  const target = connect(t, { address: [server.address], jetstream: true, username: 'svc', password })
  const keys = Array.from({ length: 10 }, (_, i) => `key-${i}`)
  const sent = Array.from({ length: 30 }, () => keys.flatMap(key => [testMessage({ key }), testMessage({ key })]))
  let failures = 0
  let isDone = false
  const crashes = (async () => {
    for (let i = 0; i < 5 && !isDone; i++) {
      await sleep(100)
      await server.stop('SIGKILL')
      await server.start()
    }
  })()
  for (const batch of sent) {
    // Like the queue: a failed batch is sent again as a whole, before any later one.
    for (let attempt = 0; ; attempt++) {
      try {
        await target.send(batch, noSignal)
        break
      } catch (error) {
        failures++
        if (attempt === 200) throw error
        await sleep(20)
      }
    }
    await sleep(15)
  }
  isDone = true
  await crashes
  t.ok(failures > 0, `${failures} attempts failed`)
  const stored = (await server.read('EVENTS')).map(({ body }) => JSON.parse(body))
  for (const key of keys) {
    const path = `photos/${key}`
    const sequencers = stored.filter(({ Key }) => Key === path).map(({ Records }) => Records[0].s3.object.sequencer)
    const expected = sent.flat().filter(message => message.key === key)
    t.same(
      [...new Set(sequencers)],
      expected.map(({ sequencer }) => sequencer),
    )
  }
})

t.test('a user without permission to publish gets an error, with and without JetStream', { skip }, async t => {
  const permissions = '{ publish: ["other"], subscribe: [">"] }'
  const limited = `{ user: limited, password: "${password}", permissions: ${permissions} }`
  const deaf = `{ user: deaf, password: "${password}", permissions: { publish: [">"], subscribe: ["none"] } }`
  const everybody = `authorization { users: [ { user: svc, password: "${password}" }, ${limited}, ${deaf} ] }`
  const server = await startNats(t, everybody, login)
  await server.addStream('EVENTS', [subject])
  const settings = { address: [server.address], username: 'limited', password }
  for (const jetstream of [false, true]) {
    const target = connect(t, { ...settings, jetstream })
    const denied = { message: /: it does not let this user publish to the subject\.$/ }
    await t.rejects(target.send([testMessage()], noSignal), denied)
    await t.rejects(target.test(testBody('1'), noSignal), denied)
  }
  const deafTarget = connect(t, { ...settings, username: 'deaf', jetstream: true })
  await t.rejects(deafTarget.send([testMessage()], noSignal), { message: /acknowledgements|in time/ })
  t.same(
    (await server.read('EVENTS')).filter(({ body }) => !body.includes('ObjectCreated')),
    [],
  )
})

t.test('streams that are full, small or missing', { skip }, async t => {
  const server = await startNats(t, `${users}\nmax_payload: 65536`, login)
  await server.addStream('FULL', ['full'], { max_msgs: 1, discard: 'new' })
  await server.addStream('SMALL', ['small'], { max_msg_size: 100 })
  const target = (subject: string, jetstream = true) =>
    connect(t, { address: [server.address], subject, jetstream, username: 'svc', password })
  const full = target('full')
  await full.send([testMessage()], noSignal)
  await t.rejects(full.send([testMessage()], noSignal), { name: 'Error', message: /the stream is full/ })
  const tooLarge = { name: 'PermanentDeliveryError', message: /too large for the server/ }
  await t.rejects(target('small').send([testMessage()], noSignal), tooLarge)
  await t.rejects(target('nowhere').send([testMessage()], noSignal), { message: /no stream has the subject/ })
  await target('nowhere', false).send([testMessage()], noSignal)
  const object = { sizeBytes: 1, etag: '', contentType: undefined, userMetadata: { a: 'x'.repeat(70_000) } }
  for (const jetstream of [true, false]) {
    await t.rejects(target('full', jetstream).send([testMessage({ object })], noSignal), tooLarge)
  }
})

t.test('ways to log in', { skip }, async t => {
  const attempt = async (configuration: string, good: Partial<NatsSettings>, bad: Partial<NatsSettings>) => {
    const server = await startNats(t, configuration)
    const address = [server.address]
    await connect(t, { address, ...good }).send([testMessage()], noSignal)
    for (const settings of [bad, {}]) {
      const error = await connect(t, { address, ...settings })
        .send([testMessage()], noSignal)
        .catch(cause => cause)
      t.match(error, { message: /: it refuses the user, the token or the key\.$/ })
      for (const value of Object.values(bad)) t.notOk(error.message.includes(String(value)))
    }
  }
  await attempt(`authorization { token: "${password}" }`, { token: password }, { token: 'wrong of the test' })
  const seedOf = (pair: { getSeed(): Uint8Array }) => Buffer.from(pair.getSeed()).toString()
  const [user, stranger] = [nkeys.createUser(), nkeys.createUser()]
  await attempt(
    `authorization { users: [ { nkey: ${user.getPublicKey()} } ] }`,
    { nkey_specification: seedOf(user) },
    { nkey_specification: seedOf(stranger) },
  )
  const folder = mkdtempSync(join(tmpdir(), 'svc-nats-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [operator, account, system] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()]
  const credentialsOf = (name: string, signer: typeof account) => {
    const token = jwt(signer, user.getPublicKey(), { type: 'user', version: 2, subs: -1, data: -1, payload: -1 })
    const file = join(folder, name)
    const part = (title: string, text: string) => `-----BEGIN ${title}-----\n${text}\n------END ${title}------\n\n`
    writeFileSync(file, part('NATS USER JWT', token) + part('USER NKEY SEED', seedOf(user)))
    return file
  }
  const limits = { subs: -1, conn: -1, leaf: -1, imports: -1, exports: -1, data: -1, payload: -1, wildcards: true }
  const accounts = [account, system].map(pair => {
    const name = pair.getPublicKey()
    return `${name}: ${jwt(operator, name, { type: 'account', version: 2, limits })}`
  })
  await attempt(
    `operator: ${jwt(operator, operator.getPublicKey(), { type: 'operator', version: 2 })}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: { ${accounts.join('\n')} }`,
    { credentials_file: credentialsOf('good.creds', account) },
    { credentials_file: credentialsOf('bad.creds', nkeys.createAccount()) },
  )
  const broken = join(folder, 'broken.creds')
  writeFileSync(broken, `no credentials, but a secret: ${password}`)
  const refused = async (settings: Partial<NatsSettings>, message: RegExp) =>
    t.rejects(connect(t, { address: ['127.0.0.1:1'], ...settings }).send([testMessage()], noSignal), { message })
  await refused(
    { credentials_file: broken },
    /: the file of credentials_file cannot be read, or holds no credentials\.$/,
  )
  await refused(
    { credentials_file: join(folder, 'none') },
    /: the file of credentials_file cannot be read, or holds no credentials\.$/,
  )
  await refused({ nkey_specification: `SU${'A'.repeat(56)}` }, /: the value of nkey_specification cannot be used\.$/)
})

t.test('TLS: authorities, client certificates, and problems with them', { skip }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-nats-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const make = (name: string) => {
    const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)] as const
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', `/CN=${name}`]
    const names = ['-addext', 'subjectAltName=IP:127.0.0.1']
    execFileSync('openssl', ['req', '-x509', ...ec, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key, cert }
  }
  const [own, client] = [make('server'), make('client')]
  const files = `cert_file: "${own.cert}", key_file: "${own.key}", ca_file: "${client.cert}"`
  const server = await startNats(t, `${users}\ntls { ${files}, verify: true }`)
  const good: Partial<NatsSettings> = {
    address: [server.address],
    username: 'svc',
    password,
    tls: true,
    ca_cert: own.cert,
    client_cert: client.cert,
    client_key: client.key,
  }
  const attempt = (change: Partial<NatsSettings>) => connect(t, { ...good, ...change }).send([testMessage()], noSignal)
  await attempt({})
  await attempt({ ca_cert: '', tls_skip_verify: true })
  await t.rejects(attempt({ ca_cert: '' }), { message: /SELF_SIGNED|UNABLE_TO_VERIFY/ })
  await t.rejects(attempt({ ca_cert: client.cert }), { message: /SELF_SIGNED|UNABLE_TO_VERIFY|SIGNATURE/ })
  await t.rejects(attempt({ client_cert: '', client_key: '' }), { message: /./ })
  await t.rejects(attempt({ client_key: own.key }), { message: /the certificate and the key do not belong together/ })
  await t.rejects(attempt({ ca_cert: join(folder, 'none') }), {
    message: /the file of the authorities cannot be read, or holds no PEM certificate/,
  })
  await t.rejects(attempt({ tls: false }), { message: /./ })
  // A server without TLS must not get the password of a client that requires TLS.
  const heard: string[] = []
  const plain = await listen(t, socket => {
    socket.write('INFO {"server_id":"A","version":"2.9.10","proto":1,"max_payload":1048576,"headers":true}\r\n')
    socket.on('data', data => void heard.push(data.toString()))
  })
  await t.rejects(attempt({ address: [plain.address] }), { message: /it has no TLS/ })
  t.notMatch(heard.join(''), /s3cret/)
})

t.test('no server, no answer and random answers are errors within the timeout, and leave no connection', async t => {
  const info = 'INFO {"server_id":"A","version":"2.9.10","proto":1,"max_payload":1048576,"headers":true}\r\n'
  const noises = ['HTTP/1.1 400 Bad Request\r\n\r\n', '\xff'.repeat(1000), '', 'INFO {}\r\n', 'INFO {]\r\n']
  for (const noise of noises) {
    const server = await listen(t, socket => void socket.end(Buffer.from(noise, 'latin1')))
    const { send } = connect(t, { address: [server.address] })
    await t.rejects(send([testMessage()], noSignal), { message: /^NATS at 127/ })
  }
  // A server that repeats the request in its error.
  const parrot = await listen(t, socket => {
    socket.write(info)
    socket.on('data', data => void socket.write(`-ERR '${data.toString().split('\r\n')[0]}'\r\n`))
  })
  const told = await connect(t, { address: [parrot.address], username: 'svc', password })
    .send([testMessage()], noSignal)
    .catch(error => error)
  t.ok(told instanceof Error)
  t.notMatch(told.message, /s3cret/)
  for (const greeting of ['', info, info.replace('"proto"', '"tls_required":true,"proto"')]) {
    const silent = await listen(t, socket => void (greeting !== '' && socket.write(greeting)))
    const tls = greeting.includes('tls_required')
    const { send } = connect(t, { address: [silent.address], timeout: 500, tls })
    await t.rejects(send([testMessage()], noSignal), { message: /in time|within 500 ms/ })
    const deadlineMs = performance.now() + 90_000
    while (silent.open() > 0 && performance.now() < deadlineMs) await sleep(20)
    t.equal(silent.open(), 0, 'no connection is left')
  }
  const refused = connect(t, { address: ['127.0.0.1:1'] })
  await t.rejects(refused.send([testMessage()], noSignal), { message: /^NATS at 127.0.0.1:1: .*ECONNREFUSED\.$/ })
  const unknown = connect(t, { address: ['nats.invalid'] })
  await t.rejects(unknown.send([testMessage()], noSignal), { message: /cannot be reached|ended/ })
})

t.test('if a server is silent or down, the next is tried', { skip }, async t => {
  const server = await startNats(t, users, login)
  await server.addStream('EVENTS', [subject])
  const silent = await listen(t, () => {})
  for (const other of [silent.address, '127.0.0.1:1']) {
    // The order is random.
    for (let i = 0; i < 4; i++) {
      const address = [other, server.address]
      await connect(t, { address, timeout: 4000, username: 'svc', password }).send([testMessage()], noSignal)
    }
  }
  t.equal((await server.read('EVENTS')).length, 8)
})

t.test('allowed addresses', t =>
  guardedClientContract(t, async () => ({
    async attempt(guard, host, port) {
      const target = connectNats(complete({ address: [`${host}:${port}`], timeout: 1000 }), { id: '_', log }, guard)
      try {
        await target.send([testMessage()], noSignal)
      } finally {
        await target.close()
      }
    },
  })),
)

t.test('settings are validated together', t => {
  const problems = (change: Partial<NatsSettings>) =>
    checkNats(complete({ address: ['nats-1:4222', '[::1]', 'nats'], ...change }), guard).map(({ key }) => key)
  t.same(problems({}), [])
  t.same(problems({ address: [] }), ['address'])
  t.same(problems({ address: ['nats', '[fe80::1]:4222'] }), ['address'])
  for (const address of ['', 'nats:0', 'nats:65536', 'nats://nats:4222', 'user:secret@nats:1', '[x]:1', 'ws://nats']) {
    t.same(problems({ address: [address] }), ['address'], address)
  }
  t.same([parseServer('nats'), parseServer('[::1]:1')], ['nats:4222', '[::1]:1'])
  for (const subject of ['', 'a b', 'a.>', 'a.*.b', '.a', 'a..b', 'a\n']) t.same(problems({ subject }), ['subject'])
  t.same(problems({ username: 'a', token: 'b' }), ['token'])
  t.same(problems({ password: 'a' }), ['username'])
  t.same(problems({ nkey_specification: 'UABC' }), ['nkey_specification'])
  t.same(problems({ ca_cert: '/ca.pem' }), ['ca_cert'])
  t.same(problems({ tls: true, client_cert: '/c.pem' }), ['client_key'])
  t.end()
})

/** A token of an account, an operator or a user. Source: https://github.com/nats-io/jwt, version 2. */
function jwt(
  signer: { getPublicKey(): string; sign(bytes: Uint8Array): Uint8Array },
  sub: string,
  nats: Readonly<Record<string, unknown>>,
): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    jti: 'TEST',
    iat: Math.floor(Date.now() / 1000),
    iss: signer.getPublicKey(),
    name: 'test',
    sub,
    nats,
  }
  const signed = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode(claims)}`
  return `${signed}.${Buffer.from(signer.sign(Buffer.from(signed))).toString('base64url')}`
}

async function listen(t: Test, accept: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
    accept(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as { port: number }
  return { address: `127.0.0.1:${port}`, open: () => sockets.size }
}
