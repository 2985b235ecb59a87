import type { MqttClient } from 'mqtt'
import {
  createAttempts,
  type NotifyTarget,
  type NotifyTargetContext,
  type NotifyTargetKind,
  PermanentDeliveryError,
  reasonOf,
} from 'svc/plugins/notify/api'
import { openConnection, publish } from './connection.ts'
import { checkSettings, MqttSettings } from './settings.ts'

export const mqttKind: NotifyTargetKind<typeof MqttSettings> = {
  description: 'MQTT: each event is a message to a topic.',
  settings: MqttSettings,
  validate: checkSettings,
  endpoint: endpointOf,
  connect: connectMqtt,
}

/** For people, without user or password. It is also asked of settings that nobody has made yet. */
function endpointOf({ broker, topic }: MqttSettings): string {
  const url = URL.parse(broker)
  return url === null ? 'mqtt' : `${url.protocol}//${url.host}/${topic}`
}

/** Does not connect yet, so that a broker that is away holds up nobody: the first `send` does. */
export function connectMqtt(settings: MqttSettings, { log }: NotifyTargetContext): NotifyTarget {
  const service = endpointOf(settings)
  const attempts = createAttempts(service, settings.timeout)
  let current: MqttClient | undefined

  /** Ends in time whatever the library waits for; its error says which broker, and never the password. */
  const attempt = (signal: AbortSignal, work: (limited: AbortSignal) => Promise<void>) =>
    attempts.run(signal, limited =>
      work(limited).catch(error => {
        const message = `${service}: ${reasonOf(error, [settings.password])}`
        throw error instanceof PermanentDeliveryError ? new PermanentDeliveryError(message) : new Error(message)
      }),
    )

  return {
    batchMax: 20,
    send: (messages, signal) =>
      attempt(signal, async limited => {
        if (!current?.connected || current.disconnecting) {
          current = await openConnection(settings, limited)
          log.debug({ broker: settings.broker }, 'connected to the broker')
        }
        const bodies = messages.map(({ body }) => body)
        await publish(current, settings, bodies, limited)
      }),
    // Over a connection of its own: it may come at any time, and tells whether one can be made now.
    test: (body, signal) =>
      attempt(signal, async limited => {
        const own = await openConnection(settings, limited)
        await publish(own, settings, [body], limited)
        own.end(true)
      }),
    async close() {
      attempts.close()
      current?.end(true)
    },
  }
}
