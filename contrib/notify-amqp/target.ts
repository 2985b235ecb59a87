/** Events to an exchange of AMQP 0-9-1: the bytes of each message, confirmed by the broker. */

import type { AddressGuard } from 'svc/plugins/http-client/api'
import {
  createAttempts,
  type NotifyTarget,
  type NotifyTargetContext,
  type NotifyTargetKind,
} from 'svc/plugins/notify/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import type { Connection } from './connection.ts'
import { AmqpSettings, type Broker, checkSettings, parseUrl } from './settings.ts'

/** The client library is loaded with the first use of a target, because few servers have one. */
const open = async (
  ...parameters: Parameters<typeof import('./connection.ts').openConnection>
): Promise<Connection> => {
  const { openConnection } = await import('./connection.ts')
  return openConnection(...parameters)
}

/** Maximum number of unconfirmed messages. */
const batchMax = 100

export function createAmqpKind(guard: AddressGuard): NotifyTargetKind<typeof AmqpSettings> {
  return {
    description: 'Events to AMQP 0-9-1 brokers such as RabbitMQ.',
    settings: AmqpSettings,
    validate: settings => checkSettings(settings, guard),
    endpoint({ url, exchange }) {
      const parsed = parseUrl(url)
      if ('problem' in parsed) return 'amqp'
      return exchange === '' ? parsed.endpoint : `${parsed.endpoint} ${exchange}`
    },
    connect: (settings, context) => connectAmqp(settings, context, guard),
  }
}

export function connectAmqp(settings: AmqpSettings, { log }: NotifyTargetContext, guard: AddressGuard): NotifyTarget {
  const [unusable] = checkSettings(settings, guard)
  if (unusable !== undefined) return createUnusable(unusable)
  const broker = parseUrl(settings.url) as Broker
  const place = `AMQP at ${broker.host}:${broker.port}`
  const attempts = createAttempts(place, settings.timeout, () => import('./connection.ts'))
  let current: Connection | undefined

  /** A failure closes the connection, because the state of its messages is unknown. */
  const use = async <Result>(connection: Connection, signal: AbortSignal, work: () => Promise<Result>) => {
    signal.addEventListener('abort', connection.end, { once: true })
    try {
      signal.throwIfAborted()
      return await work()
    } catch (error) {
      const reason = connection.reason(error)
      connection.end()
      throw new Error(`${place}: ${reason}`)
    } finally {
      signal.removeEventListener('abort', connection.end)
    }
  }

  return {
    batchMax,
    send: (messages, signal) =>
      attempts.run(signal, async limited => {
        if (current === undefined || current.isLost()) {
          current = await open(broker, settings, guard, limited)
          log.debug({ endpoint: broker.endpoint }, 'connected to the broker')
        }
        const connection = current
        const publications = messages.map(message => ({ body: message.body, about: message }))
        await use(connection, limited, () => connection.publish(publications, limited))
      }),
    // Over a new connection: a test may come at any time, and shows whether the target can connect now.
    test: (body, signal) =>
      attempts.run(signal, async limited => {
        const own = await open(broker, settings, guard, limited)
        const unroutable = await use(own, limited, () => own.publishTest(body, limited))
        await own.close()
        return unroutable && `${place}: ${unroutable}, and the broker drops them, because mandatory is off.`
      }),
    async close() {
      attempts.close()
      await current?.close()
    },
  }
}

/** A disabled target may be tested before its settings are complete. */
function createUnusable({ key, problem }: SettingsProblem): NotifyTarget {
  const refuse = () => Promise.reject(new Error(`The settings cannot be used: ${key} ${problem}.`))
  return { send: refuse, test: refuse, close: () => Promise.resolve() }
}
