/** What the contract does not ask: settings, rights, sizes, the quality of service, and TLS. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectAsync } from 'mqtt'
import { type NotifyTarget, PermanentDeliveryError } from 'svc/plugins/notify/api'
import { testBody, testMessage } from 'svc/plugins/notify/contract'
import t, { type Test } from 'tap'
import { Value } from 'typebox/value'
import { checkSettings, MqttSettings } from '../settings.ts'
import { connectMqtt, mqttKind } from '../target.ts'
import { skipWithout, startMosquitto } from './mosquitto.ts'

const noSignal = new AbortController().signal
const log = { debug() {} } as never

const complete = (settings: Partial<MqttSettings>) => Value.Default(MqttSettings, { ...settings }) as MqttSettings

function connect(t: Test, settings: Partial<MqttSettings>): NotifyTarget {
  const target = connectMqtt(complete({ topic: 'events', timeout: 20_000, ...settings }), { id: '_', log })
  t.teardown(() => target.close())
  return target
}

t.test('settings that cannot work are refused, and by the target itself', async t => {
  const good = {
    broker: 'mqtts://broker.example:8883',
    topic: 'a/b',
    username: 'svc',
    password: 'hidden-password',
    ca_cert: '/ca',
  }
  t.same(checkSettings(complete(good)), [])
  t.same(checkSettings(complete({ broker: 'mqtt://[::1]', topic: '$share' })), [])
  for (const [key, change] of [
    ['broker', { broker: '' }],
    ['broker', { broker: 'broker.example:1883' }],
    ['broker', { broker: 'mqtts://' }],
    ['broker', { broker: 'wss://broker.example' }],
    ['broker', { broker: 'mqtts://svc:hidden-url@broker.example' }],
    ['broker', { broker: 'mqtts://broker.example/path' }],
    ['broker', { broker: 'mqtts://broker.example?clientId=mine' }],
    ['topic', { topic: '' }],
    ['topic', { topic: 'a/#' }],
    ['topic', { topic: 'a/+/b' }],
    ['username', { username: '' }],
    ['ca_cert', { broker: 'mqtt://broker.example' }],
  ] as const) {
    const settings = { ...good, ...change }
    t.equal(checkSettings(complete(settings))[0]?.key, key, JSON.stringify(change))
    t.notMatch(mqttKind.endpoint(complete(settings)), /hidden/)
    const target = connect(t, settings)
    await t.rejects(target.test(testBody('x'), noSignal), { message: new RegExp(`: ${key} (must|needs)`) })
  }
})

t.test(
  'a topic that the user may not publish to, and an event that is too large',
  {
    skip: skipWithout('mosquitto'),
  },
  async t => {
    const broker = await startMosquitto(t, folder => {
      const rights = join(folder, 'rights')
      writeFileSync(rights, 'topic readwrite events\n')
      return ['allow_anonymous true', `acl_file ${rights}`, 'max_packet_size 4096']
    })
    const url = `mqtt://127.0.0.1:${broker.port}`
    const subscriber = await connectAsync(url, { reconnectPeriod: 0 })
    t.teardown(() => subscriber.endAsync(true))
    const received: { readonly qos: number; readonly body: Buffer }[] = []
    subscriber.on('message', (_topic, body, { qos }) => received.push({ qos, body }))
    await subscriber.subscribeAsync('#', { qos: 2 })

    const forbidden = connect(t, { broker: url, topic: 'others' })
    await t.rejects(forbidden.send([testMessage()], noSignal), {
      message: /^mqtt:\/\/127\.0\.0\.1:\d+\/others: .*Not authorized/,
    })
    await t.rejects(forbidden.test(testBody('x'), noSignal), { message: /Not authorized/ })
    const target = connect(t, { broker: url, qos: 2 })
    const large = testMessage({ key: 'x'.repeat(900).repeat(9) })
    await t.rejects(
      target.send([large], noSignal),
      new PermanentDeliveryError(`${url}/events: the event is larger than the 4096 bytes that the broker takes`),
    )
    const small = testMessage()
    await target.send([small], noSignal)
    for (let i = 0; i < 1800 && received.length === 0; i++) await new Promise(done => setTimeout(done, 50))
    t.same(received, [{ qos: 2, body: small.body }], 'byte for byte, and nothing else')
  },
)

t.test(
  'TLS: the certificate is verified, by the authorities of a file',
  {
    skip: skipWithout('mosquitto', 'openssl'),
  },
  async t => {
    let certificate = ''
    const broker = await startMosquitto(t, folder => {
      const key = join(folder, 'key.pem')
      certificate = join(folder, 'certificate.pem')
      const names = ['-subj', '/CN=broker', '-addext', 'subjectAltName=IP:127.0.0.1']
      const request = [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-keyout',
        key,
        '-out',
        certificate,
      ]
      execFileSync('openssl', [...request, ...names], { stdio: 'ignore' })
      return ['allow_anonymous true', `certfile ${certificate}`, `keyfile ${key}`]
    })
    const url = `mqtts://127.0.0.1:${broker.port}`
    await connect(t, { broker: url, ca_cert: certificate }).send([testMessage()], noSignal)
    await t.rejects(connect(t, { broker: url }).send([testMessage()], noSignal), { message: /self.signed/ })
    await t.rejects(connect(t, { broker: url, ca_cert: '/nowhere.pem' }).send([testMessage()], noSignal), {
      message: /ENOENT/,
    })
    const plain = connect(t, { broker: url.replace('mqtts:', 'mqtt:') })
    await t.rejects(plain.send([testMessage()], noSignal), { message: /closed|ECONNRESET|did not answer/ })
  },
)
