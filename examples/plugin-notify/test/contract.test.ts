/** What every target keeps, against a real broker that asks for a password. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { connectAsync, type MqttClient } from 'mqtt'
import { notifyTargetContract, receivedFrom } from 'svc/plugins/notify/contract'
import t from 'tap'
import { mqttKind } from '../target.ts'
import { skipWithout, startMosquitto } from './mosquitto.ts'

const skip = skipWithout('mosquitto', 'mosquitto_passwd')
const username = 'svc'
const password = 's3cret-of-mqtt'

t.test('the contract', { skip }, t =>
  notifyTargetContract(t, async t => {
    const broker = await startMosquitto(t, folder => {
      const file = join(folder, 'passwords')
      execFileSync('mosquitto_passwd', ['-b', '-c', file, username, password])
      return ['allow_anonymous false', `password_file ${file}`]
    })
    const url = `mqtt://127.0.0.1:${broker.port}`
    const bodies: Buffer[] = []
    let subscriber: MqttClient
    const subscribe = async () => {
      subscriber = await connectAsync(url, { username, password, reconnectPeriod: 0 })
      subscriber.on('message', (_topic, body) => bodies.push(body))
      await subscriber.subscribeAsync('storage/#', { qos: 1 })
    }
    await subscribe()
    t.teardown(() => subscriber.endAsync(true))
    return {
      kind: mqttKind,
      settings: { broker: url, topic: 'storage/events', username, password, timeout: 1000 },
      secrets: [password, 'wrong-password'],
      refusedSettings: { password: 'wrong-password' },
      timeoutMs: 1000,
      received: async () => bodies.map(receivedFrom),
      stop: () => broker.stop(),
      async start() {
        await broker.start()
        await subscribe()
      },
      hang: () => broker.hang(),
      resume: async () => broker.resume(),
    }
  }),
)
