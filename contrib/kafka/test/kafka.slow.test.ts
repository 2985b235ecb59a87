/** Against librdkafka's brokers, read with kcat: the contract, order, failures of brokers, TLS, log-ins, and invalid answers. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { auditTargetContract } from 'svc/plugins/audit/contract'
import { createAddressGuard } from 'svc/plugins/http-client/api'
import { notifyTargetContract, receivedFrom } from 'svc/plugins/notify/contract'
import { seeded } from 'svc/testing'
import t, { type Test } from 'tap'
import { Value } from 'typebox/value'
import { createKafkaProducer, type KafkaProducer, type KafkaRecord } from '../producer.ts'
import { checkKafka, KafkaSettings, parseBroker } from '../settings.ts'
import { createKafkaSink } from '../sink.ts'
import { createKafkaTarget } from '../target.ts'
import { type Cluster, skip, startCluster } from './cluster.ts'
import { startFront } from './front.ts'

const topic = 'events'
const password = 's3cret of the test'
const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })
const noSignal = () => AbortSignal.timeout(90_000)

function settingsOf(change: Partial<KafkaSettings>): KafkaSettings {
  return Value.Default(KafkaSettings, { topic, timeout: 3000, ...change }) as KafkaSettings
}

function producer(t: Test, change: Partial<KafkaSettings>, allowed = guard): KafkaProducer {
  const created = createKafkaProducer(settingsOf(change), allowed)
  t.teardown(() => created.close())
  return created
}

function record(key: string | undefined, value: string): KafkaRecord {
  return { key, value: Buffer.from(value) }
}

async function startBrokers(t: Test, brokerCount: number, partitionCount: number): Promise<Cluster> {
  const cluster = await startCluster(t, brokerCount)
  await cluster.tell(`topic ${topic} ${partitionCount}`)
  return cluster
}

/** Shared by both contracts. */
async function startSubject(t: Test) {
  const cluster = await startBrokers(t, 1, 1)
  const front = await startFront(t, { broker: cluster.brokers[0]!, sasl: { user: 'svc', password } })
  const login = { sasl: true, sasl_mechanism: 'scram-sha-256', sasl_username: 'svc', sasl_password: password }
  return {
    settings: { brokers: [front.broker], topic, timeout: 2000, ...login },
    refusedSettings: { sasl_password: 'wrong of the test' },
    secrets: [password, 'wrong of the test'],
    timeoutMs: 2000,
    read: () => cluster.read(topic),
    stop: () => cluster.tell('down 1'),
    start: () => cluster.tell('up 1'),
    hang: () => cluster.hang(),
    resume: async () => cluster.resume(),
  }
}

t.test('the target of events keeps the contract', { skip }, t =>
  notifyTargetContract(t, async t => {
    const { read, ...subject } = await startSubject(t)
    const received = async () => (await read()).map(({ payload }) => receivedFrom(payload))
    return { kind: createKafkaTarget(guard), received, ...subject }
  }),
)

t.test('the target of audit records keeps the contract', { skip }, t =>
  auditTargetContract(t, async t => {
    const { read, ...subject } = await startSubject(t)
    const received = async () => (await read()).map(({ payload }) => payload)
    return { kind: createKafkaSink(guard), received, ...subject }
  }),
)

t.test(
  'records of a key are in one partition and in order, the one that other clients would take',
  { skip },
  async t => {
    const cluster = await startBrokers(t, 3, 6)
    const { send } = producer(t, { brokers: [...cluster.brokers] })
    const keys = Array.from({ length: 20 }, (_, i) => `photos/${i}`)
    for (let round = 0; round < 3; round++) {
      await send(
        keys.flatMap(key => [record(key, `${key} ${2 * round}`), record(key, `${key} ${2 * round + 1}`)]),
        noSignal(),
      )
    }
    const read = await cluster.read(topic)
    t.equal(read.length, 120)
    for (const key of keys) {
      const ours = read.filter(one => one.key === key)
      t.equal(new Set(ours.map(({ partition }) => partition)).size, 1)
      t.same(
        ours.map(({ payload }) => payload),
        Array.from({ length: 6 }, (_, i) => `${key} ${i}`),
      )
    }
    t.ok(new Set(read.map(({ partition }) => partition)).size > 3, 'spread over the partitions')
    // librdkafka's name for the method of the Java client.
    const partitions = new Map(read.map(({ key, partition }) => [key, partition]))
    await cluster.tell('topic other 6')
    const kcat = ['-P', '-b', cluster.brokers.join(','), '-t', 'other', '-K', '\t', '-X', 'partitioner=murmur2_random']
    execFileSync('/usr/bin/kcat', kcat, { input: keys.map(key => `${key}\tx\n`).join('') })
    for (const { key, partition } of await cluster.read('other')) t.equal(partition, partitions.get(key))
  },
)

t.test('every compression is read by another client', { skip }, async t => {
  const cluster = await startBrokers(t, 1, 1)
  const sent: string[] = []
  for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
    const { send } = producer(t, { brokers: [...cluster.brokers], compression })
    const values = Array.from({ length: 20 }, (_, i) => `${compression} ${i} ${'again '.repeat(200)}`)
    await send(
      values.map(value => record('k', value)),
      noSignal(),
    )
    sent.push(...values)
  }
  const read = await cluster.read(topic)
  t.same(
    read.map(({ payload }) => payload),
    sent,
  )
})

t.test('a batch that is too large for the brokers is sent in parts, in order', { skip }, async t => {
  const cluster = await startBrokers(t, 1, 1)
  const { send } = producer(t, { brokers: [...cluster.brokers] })
  const values = Array.from({ length: 40 }, (_, i) => `${i} ${'x'.repeat(100_000)}`)
  await send(
    values.map(value => record('k', value)),
    noSignal(),
  )
  t.same(
    (await cluster.read(topic)).map(({ payload }) => payload.split(' ')[0]),
    values.map((_, i) => String(i)),
  )
})

t.test('the error of a broker decides between a retry and a dead letter', { skip }, async t => {
  const cluster = await startBrokers(t, 1, 1)
  const { send } = producer(t, { brokers: [...cluster.brokers] })
  await send([record('k', 'first')], noSignal())
  const fails = async (command: string, expected: { name: string; message: RegExp }) => {
    await cluster.tell(command)
    await t.rejects(send([record('k', command)], noSignal()), expected)
  }
  await fails('errors 0 10', { name: 'PermanentDeliveryError', message: /MESSAGE_TOO_LARGE/ })
  await fails('errors 0 87', { name: 'PermanentDeliveryError', message: /INVALID_RECORD/ })
  await fails('errors 0 29', { name: 'Error', message: /not let this user write to the topic/ })
  await fails('errors 0 19', { name: 'Error', message: /Too few replicas/ })
  await fails('errors 0 56', { name: 'Error', message: /KAFKA_STORAGE_ERROR/ })
  // Twice: the first attempt gets the new leader, the second goes there.
  await fails('errors 0 6 6', { name: 'Error', message: /NOT_LEADER/ })
  await cluster.tell('errors 0 6')
  await send([record('k', 'last')], noSignal())
  t.same(
    (await cluster.read(topic)).map(({ payload }) => payload),
    ['first', 'last'],
  )
  await cluster.tell('fail unknown 3')
  const another = producer(t, { brokers: [...cluster.brokers], topic: 'unknown' })
  await t.rejects(another.send([record('k', 'v')], noSignal()), { message: /does not exist/ })
})

t.test('order is kept while brokers stop and start again', { skip }, async t => {
  const cluster = await startBrokers(t, 3, 3)
  const { send } = producer(t, { brokers: [...cluster.brokers], timeout: 2000 })
  const keys = ['a', 'b', 'c', 'd', 'e', 'f']
  let failures = 0
  // Like the queue: a failed batch is sent again as a whole, before any later one.
  const deliver = async (round: number) => {
    for (let attempt = 0; ; attempt++) {
      try {
        return await send(
          keys.map(key => record(key, String(round))),
          noSignal(),
        )
      } catch (error) {
        failures++
        if (attempt === 100) throw error
        await sleep(50)
      }
    }
  }
  for (let round = 0; round < 24; round++) {
    const id = 1 + ((round >> 2) % 3)
    if (round % 4 === 1) {
      await cluster.tell(`down ${id}`)
      // Attempts fail until another broker is the leader.
      const moved = (async () => {
        await sleep(200)
        for (const partition of [0, 1, 2]) await cluster.tell(`leader ${topic} ${partition} ${1 + (id % 3)}`)
      })()
      await Promise.all([deliver(round), moved])
    } else await deliver(round)
    if (round % 4 === 3) await cluster.tell(`up ${id}`)
  }
  t.ok(failures > 0, `${failures} attempts failed`)
  const read = await cluster.read(topic)
  for (const key of keys) {
    const rounds = read.filter(one => one.key === key).map(({ payload }) => Number(payload))
    t.same(
      [...new Set(rounds)],
      Array.from({ length: 24 }, (_, i) => i),
      'all, first seen in order',
    )
    t.same(
      rounds,
      [...rounds].sort((a, b) => a - b),
      'none comes again after a later one',
    )
  }
})

t.test('a silent broker at the head of the list delays only one attempt', { skip }, async t => {
  const cluster = await startBrokers(t, 1, 1)
  const silent = await listen(t, () => {})
  const { send } = producer(t, { brokers: [silent, cluster.brokers[0]!], timeout: 1000 })
  await t.rejects(send([record('k', 'v')], noSignal()), { message: 'The brokers do not answer in time.' })
  await send([record('k', 'v')], noSignal())
  t.equal((await cluster.read(topic)).length, 1)
})

t.test('TLS: authorities, client certificates, and problems with them', { skip }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-kafka-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const make = (name: string) => {
    const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)] as const
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', `/CN=${name}`]
    const names = ['-addext', 'subjectAltName=IP:127.0.0.1']
    execFileSync('openssl', ['req', '-x509', ...ec, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key, cert }
  }
  const [server, client] = [make('server'), make('client')]
  const cluster = await startBrokers(t, 1, 1)
  const front = await startFront(t, {
    broker: cluster.brokers[0]!,
    tls: {
      key: readFileSync(server.key),
      cert: readFileSync(server.cert),
      ca: readFileSync(client.cert),
      requestCert: true,
    },
    sasl: { user: 'svc', password },
  })
  const good: Partial<KafkaSettings> = {
    brokers: [front.broker],
    tls: true,
    ca_cert: server.cert,
    client_tls_cert: client.cert,
    client_tls_key: client.key,
    sasl: true,
    sasl_username: 'svc',
    sasl_password: password,
  }
  const attempt = (change: Partial<KafkaSettings>) =>
    producer(t, { ...good, timeout: 1500, ...change }).send([record('k', 'v')], noSignal())
  const mechanisms = ['plain', 'scram-sha-256', 'scram-sha-512'] as const
  for (const sasl_mechanism of mechanisms) {
    await attempt({ sasl_mechanism })
    const wrong = await attempt({ sasl_mechanism, sasl_password: 'wrong of the test' }).catch(error => error)
    t.match(wrong, { message: /refuse the user or the password/ }, sasl_mechanism)
    t.notMatch(JSON.stringify([wrong.message, wrong.cause]), /of the test/)
  }
  t.same([...new Set(front.mechanisms)], ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])
  t.equal((await cluster.read(topic)).length, 3)
  await attempt({ ca_cert: '', tls_skip_verify: true })
  await t.rejects(attempt({ ca_cert: '' }), { message: /SELF_SIGNED|UNABLE_TO_VERIFY/ })
  await t.rejects(attempt({ ca_cert: client.cert }), { message: /SELF_SIGNED|UNABLE_TO_VERIFY|SIGNATURE/ })
  await t.rejects(attempt({ client_tls_cert: '', client_tls_key: '' }), { message: /cannot be reached|closed/ })
  await t.rejects(attempt({ client_tls_key: server.key }), {
    message: 'The certificate and the key do not belong together.',
  })
  await t.rejects(attempt({ ca_cert: join(folder, 'none') }), {
    message: 'The file of the authorities cannot be read, or holds no PEM certificate.',
  })
  const text = join(folder, 'text')
  writeFileSync(text, 'no certificate, but a secret: s3cret of the test')
  await t.rejects(attempt({ client_tls_cert: text }), {
    message: 'The file of the certificate cannot be read, or holds no PEM certificate.',
  })
  await t.rejects(attempt({ tls: false }), { message: /./ })
  const plain = await startFront(t, { broker: cluster.brokers[0]! })
  await t.rejects(attempt({ brokers: [plain.broker] }), { message: /./ })
  t.equal((await cluster.read(topic)).length, 4, 'nothing came of what was refused')
})

t.test(
  'no broker, no answer and random answers are errors within the timeout, and the process keeps running',
  async t => {
    const noise = ['HTTP/1.1 400 Bad Request\r\n\r\n', '\x00\x00\x00\x04\x00\x00\x00\x01', '\xff'.repeat(100), '']
    for (const bytes of noise) {
      const broker = await listen(t, socket => {
        socket.on('data', () => socket.end(Buffer.from(bytes, 'latin1')))
      })
      await t.rejects(producer(t, { brokers: [broker], timeout: 2000 }).send([record('k', 'v')], noSignal()), /./)
    }
    const silent = await listen(t, () => {})
    const { send, close } = producer(t, { brokers: [silent], timeout: 1000 })
    // Its own timeout, not that of the signal.
    await t.rejects(send([record('k', 'v')], noSignal()), { message: 'The brokers do not answer in time.' })
    await close()
    await t.rejects(send([record('k', 'v')], noSignal()), { message: 'The target is closed.' })
    const refused = producer(t, { brokers: ['127.0.0.1:1'] })
    await t.rejects(refused.send([record('k', 'v')], noSignal()), {
      message: 'The brokers cannot be reached: ECONNREFUSED.',
    })
    const unknown = producer(t, { brokers: ['kafka.invalid:9092'] })
    await t.rejects(unknown.send([record('k', 'v')], noSignal()), {
      message: /cannot be reached: (ENOTFOUND|EAI_AGAIN)/,
    })
  },
)

t.test('altered answers do not end the process', { skip }, async t => {
  const cluster = await startBrokers(t, 1, 1)
  await seeded(t, async random => {
    const below = (limit: number) => random.integer(limit)
    const front = await startFront(t, {
      broker: cluster.brokers[0]!,
      alter(_, answer) {
        if (below(3) > 0 || answer.length < 9) return answer
        for (let i = below(4); i >= 0; i--) answer[8 + below(answer.length - 8)] = below(256)
        return answer
      },
    })
    const { send } = producer(t, { brokers: [front.broker], timeout: 1000 })
    let sent = 0
    let failed = 0
    for (let i = 0; i < 60; i++) {
      await send([record(`k${i}`, 'v')], noSignal()).then(
        () => sent++,
        error => {
          failed++
          t.ok(error instanceof Error && error.message.endsWith('.'), error.message)
        },
      )
    }
    t.ok(sent > 0 && failed > 0, `${sent} sent, ${failed} failed`)
  })
})

t.test('no connection is made to a forbidden address, even if a broker names it', { skip }, async t => {
  const cluster = await startBrokers(t, 1, 1)
  const [broker = ''] = cluster.brokers
  const send = async (change: Partial<KafkaSettings>, allowedNetworks: readonly string[] = []) => {
    const to = producer(t, change, createAddressGuard({ reach: 'public', allowedNetworks }))
    await to.send([record('k', 'value')], noSignal())
  }
  for (const tls of [false, true]) {
    for (const host of ['127.0.0.1', 'localhost']) {
      const brokers = [broker.replace('127.0.0.1', host)]
      await t.rejects(
        send({ brokers, tls }),
        { message: /^A broker cannot be used: its address is a loopback address/ },
        host,
      )
    }
  }
  await send({ brokers: [broker] }, ['127.0.0.1'])
  t.equal((await cluster.read(topic)).length, 1)
  // It names itself 127.0.0.1.
  const front = await startFront(t, { broker, host: '127.0.0.2', isIntroduction: true })
  await t.rejects(
    send({ brokers: [front.broker] }, ['127.0.0.2']),
    { message: /a loopback address/ },
    'a broker that another one names',
  )
  await send({ brokers: [front.broker] }, ['127.0.0.0/8'])
  t.equal((await cluster.read(topic)).length, 2)
})

t.test('settings are validated together', t => {
  const problems = (change: Partial<KafkaSettings>) =>
    checkKafka(settingsOf({ brokers: ['kafka-1:9092', '[::1]:9092'], ...change }), guard).map(({ key }) => key)
  t.same(problems({}), [])
  t.same(problems({ brokers: [] }), ['brokers'])
  t.same(problems({ brokers: ['kafka-1:9092', '169.254.169.254:9092'] }), ['brokers'])
  for (const broker of ['', 'kafka', 'kafka:0', 'kafka:65536', 'http://kafka:9092', 'user:secret@kafka:1', '[x]:1']) {
    t.same(problems({ brokers: [broker] }), ['brokers'], broker)
    t.equal(parseBroker(broker), undefined)
  }
  for (const topic of ['', '..', 'a b', 'x'.repeat(250)]) t.same(problems({ topic }), ['topic'])
  t.same(problems({ ca_cert: '/ca.pem' }), ['ca_cert'])
  t.same(problems({ tls: true, ca_cert: '/ca.pem' }), [])
  t.same(problems({ tls: true, client_tls_cert: '/c.pem' }), ['client_tls_key'])
  t.same(problems({ sasl: true }), ['sasl_username', 'sasl_password'])
  t.end()
})

async function listen(t: Test, accept: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    accept(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const address = server.address() as { port: number }
  return `127.0.0.1:${address.port}`
}
