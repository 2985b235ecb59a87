/**
 * Whoever may change settings and may not read secrets cannot have them sent to a place of their own: every kind of target that there is,
 * those of packages and of the example among them, over the real Admin API.
 */
import { startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'
import kafka from '../../contrib/kafka/index.ts'
import amqp from '../../contrib/notify-amqp/index.ts'
import nats from '../../contrib/notify-nats/index.ts'
import postgres from '../../contrib/notify-postgres/index.ts'
import redis from '../../contrib/notify-redis/index.ts'
import mqtt from '../../examples/plugin-notify/index.ts'

type Texts = Readonly<Record<string, string>>

interface Case {
  readonly subsystem: string
  /** What an operator has set. */
  readonly settings: Texts
  readonly secrets: readonly string[]
  /** Each a change that leads the secrets elsewhere, or has them read on the way. `trap` is a host with a port. */
  moves(trap: string): readonly Texts[]
}

const secret = 's3cret-of-the-operator'
const kafkaCase = (subsystem: string): Case => ({
  subsystem,
  settings: {
    brokers: 'kafka.test:9092',
    topic: 'events',
    tls: 'on',
    sasl: 'on',
    sasl_username: 'u',
    sasl_password: secret,
  },
  secrets: ['sasl_password'],
  moves: (trap): readonly Texts[] => [
    { brokers: trap },
    { brokers: `kafka.test:9092,${trap}` },
    { tls: 'off' },
    { tls_skip_verify: 'on' },
    { ca_cert: '/tmp/ca.pem' },
    { sasl_mechanism: 'scram-sha-256' },
  ],
})
const webhookCase = (subsystem: string): Case => ({
  subsystem,
  settings: { endpoint: 'https://hook.test/a', auth_token: secret },
  secrets: ['auth_token'],
  moves: (trap): readonly Texts[] => [
    { endpoint: `http://${trap}/` },
    { endpoint: 'http://hook.test/a' },
    { tls_skip_verify: 'on' },
    { ca_cert: '/tmp/ca.pem' },
  ],
})
const cases: readonly Case[] = [
  webhookCase('notify_webhook'),
  webhookCase('audit_webhook'),
  kafkaCase('notify_kafka'),
  kafkaCase('audit_kafka'),
  {
    subsystem: 'notify_nats',
    settings: { address: 'nats.test', subject: 'events', tls: 'on', username: 'u', password: secret },
    secrets: ['password'],
    moves: (trap): readonly Texts[] => [
      { address: trap },
      { tls: 'off' },
      { tls_skip_verify: 'on' },
      { ca_cert: '/tmp/ca.pem' },
    ],
  },
  {
    subsystem: 'notify_nats:token',
    settings: { address: 'nats.test', subject: 'events', token: secret },
    secrets: ['token'],
    moves: (trap): readonly Texts[] => [{ address: trap }],
  },
  {
    subsystem: 'notify_redis',
    settings: { address: 'redis.test:6379', key: 'events', tls: 'on', password: secret },
    secrets: ['password'],
    moves: (trap): readonly Texts[] => [
      { address: trap },
      { tls: 'off' },
      { tls_skip_verify: 'on' },
      { ca_cert: '/tmp/ca.pem' },
    ],
  },
  {
    subsystem: 'notify_mqtt',
    settings: { broker: 'mqtts://mqtt.test', topic: 'events', username: 'u', password: secret },
    secrets: ['password'],
    moves: (trap): readonly Texts[] => [{ broker: `mqtt://${trap}` }, { ca_cert: '/tmp/ca.pem' }],
  },
  // The address and the password are one text, which is masked as a whole.
  {
    subsystem: 'notify_amqp',
    settings: { url: `amqp://u:${secret}@amqp.test/v`, routing_key: 'events' },
    secrets: ['url'],
    moves: () => [],
  },
  {
    subsystem: 'notify_postgres',
    settings: { connection_string: `postgresql://u:${secret}@postgres.test/d`, table: 'events' },
    secrets: ['connection_string'],
    moves: () => [],
  },
]

t.test('no target sends a stored secret to an address that another user has set', async t => {
  const allow = [{ Effect: 'Allow', Action: ['admin:ConfigUpdate'] }]
  const admin = await startAdmin({
    without: ['users'],
    plugins: [testUsers({ writer: allow }), kafka, nats, amqp, redis, postgres, mqtt],
  })
  t.teardown(admin.stop)
  const trap = 'evil.test:9092'

  const writer = admin.signedBy('writer', userSecret)
  const change = (subsystem: string, settings: Texts, call = writer) =>
    call({ method: 'PATCH', path: `/api/v1/config/${subsystem}`, body: { settings } })

  for (const { subsystem, settings, secrets, moves } of cases) {
    const set = await change(subsystem, settings, admin.signed)
    t.equal(set.status, 200, `${subsystem}: ${set.text}`)
    for (const move of moves(trap)) {
      const name = `${subsystem} ${JSON.stringify(move)}`
      for (const more of [{}, Object.fromEntries(secrets.map(key => [key, set.json.settings[key]]))]) {
        const answer = await change(subsystem, { ...move, ...more })
        t.match(answer, { status: 400, json: { code: 'invalid_argument' } }, name)
        for (const key of [...secrets, ...Object.keys(move)]) t.match(answer.json.detail, key, `${name} names ${key}`)
      }
      const own = Object.fromEntries(secrets.map(key => [key, 'of-my-own']))
      t.equal((await change(subsystem, { ...move, ...own })).status, 200, `${name} with a secret of one's own`)
      const reset = await writer({ method: 'DELETE', path: `/api/v1/config/${subsystem}` })
      t.equal(reset.status, 204)
      t.equal((await change(subsystem, settings, admin.signed)).status, 200)
    }
    const shown = await writer({ path: `/api/v1/config/${subsystem}` })
    t.notOk(shown.text.includes(secret), `${subsystem} shows no secret`)
  }
  // Every subsystem that has secrets is among them.
  const schema = await admin.signed({ path: '/api/v1/config/schema' })
  const withSecrets = schema.json.filter(({ keys }: { keys: readonly { sensitive: boolean }[] }) =>
    keys.some(({ sensitive }) => sensitive),
  )
  t.same(
    withSecrets.map(({ name }: { name: string }) => name).sort(),
    [...new Set(cases.map(({ subsystem }) => subsystem.split(':')[0]!))].sort(),
  )
})
