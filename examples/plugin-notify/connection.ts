import { readFile } from 'node:fs/promises'
import { connect, type MqttClient } from 'mqtt'
import { PermanentDeliveryError } from 'svc/plugins/notify/api'
import { checkSettings, type MqttSettings } from './settings.ts'

/** What a message has beside topic and body. Source: MQTT 5.0, section 3.3. */
const headBytesMax = 10

/** One connection, which is never made again by itself: who finds it lost opens another one. */
export async function openConnection(settings: MqttSettings, signal: AbortSignal): Promise<MqttClient> {
  // Who tests a target that is not enabled may not have set everything yet.
  const [unusable] = checkSettings(settings)
  if (unusable !== undefined) throw new Error(`${unusable.key} ${unusable.problem}`)
  const { broker, username, password, ca_cert, timeout } = settings
  const ca = ca_cert === '' ? undefined : await readFile(ca_cert, { signal })
  const client = connect(broker, {
    // In older versions a broker acknowledges even what it throws away because the user may not publish to the topic.
    protocolVersion: 5,
    username: username === '' ? undefined : username,
    password: password === '' ? undefined : password,
    ca,
    connectTimeout: timeout,
    reconnectPeriod: 0,
  })
  // Otherwise what waits for an acknowledgement would wait for ever.
  for (const trouble of ['error', 'close'] as const) client.on(trouble, () => client.end(true))
  await endOnFailure(client, signal, async () => {
    await new Promise((resolve, reject) => {
      client.once('connect', resolve)
      client.once('error', reject)
      client.once('close', () => reject(new Error('the connection was closed')))
    })
  })
  return client
}

/** Resolves when the broker has acknowledged every message. One after the other: they stay in order, whichever is refused. */
export function publish(
  client: MqttClient,
  { topic, qos }: MqttSettings,
  bodies: readonly Buffer[],
  signal: AbortSignal,
): Promise<void> {
  return endOnFailure(client, signal, async () => {
    const bytesMax = client.serverProperties?.maximumPacketSize ?? Infinity
    for (const body of bodies) {
      // What will never be taken is not tried for ever: it becomes a dead letter.
      if (headBytesMax + Buffer.byteLength(topic) + body.length > bytesMax) {
        throw new PermanentDeliveryError(`the event is larger than the ${bytesMax} bytes that the broker takes`)
      }
      await client.publishAsync(topic, body, { qos: qos as 1 | 2 })
    }
  })
}

/** What fails or is aborted ends the connection: what is on its way over it is not known. */
async function endOnFailure(client: MqttClient, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const end = () => void client.end(true)
  signal.addEventListener('abort', end, { once: true })
  try {
    signal.throwIfAborted()
    await work()
  } catch (error) {
    end()
    throw error
  } finally {
    signal.removeEventListener('abort', end)
  }
}
