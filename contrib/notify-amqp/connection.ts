/**
 * A connection to a broker with one channel. It never reconnects: the caller that finds it lost opens another. The client library reports
 * problems as events of the connection and the channel; an `error` event without a listener would end the process. It leaves the socket
 * open when a broker does not answer, so `end` destroys the socket.
 */
import amqp, { type Channel, type ChannelModel, type ConfirmChannel, type Message } from 'amqplib'
import { type AddressGuard, readTlsFiles } from 'svc/plugins/http-client/api'
import { type NotifyMessage, reasonOf } from 'svc/plugins/notify/api'
import type { AmqpSettings, Broker } from './settings.ts'

export interface Connection {
  isLost(): boolean
  /** Resolves when the broker has confirmed all of them. */
  publish(messages: readonly Publication[], signal: AbortSignal): Promise<void>
  /** As `publish` with one message. Resolves with why no queue gets it, if the broker drops such messages. */
  publishTest(body: Buffer, signal: AbortSignal): Promise<string | undefined>
  /** Closes the connection properly, or by force after half a second. Idempotent. */
  close(): Promise<void>
  /** Closes by force, at once. Operations under way reject. Idempotent. */
  end(): void
  /** The cause of `error`: the first failure of the connection, because later errors are its consequences. */
  reason(error: unknown): string
}

export interface Publication {
  readonly body: Buffer
  readonly about: Pick<NotifyMessage, 'eventName' | 'eventTime' | 'bucket' | 'key' | 'sequencer'> | undefined
}

const closeMsMax = 500
const accessRefused = 403

/** Rejects with an Error without secrets. An aborted attempt leaves no socket open. */
export async function openConnection(
  broker: Broker,
  settings: AmqpSettings,
  guard: AddressGuard,
  signal: AbortSignal,
): Promise<Connection> {
  const ended = new AbortController()
  let failure: unknown
  let blocked = ''
  let isEnded = false
  let closing: Promise<void> | undefined
  const end = () => {
    isEnded = true
    signal.removeEventListener('abort', end)
    ended.abort(new Error('the connection was given up'))
  }
  const fail = (error: unknown) => {
    if (!isEnded) failure ??= error ?? new Error('the broker closed the connection')
    end()
  }
  const reason = (error: unknown) => {
    const text = reasonOf(failure ?? error, [broker.password])
    return blocked === '' ? text : `it takes no messages now: ${blocked}`
  }
  signal.addEventListener('abort', end, { once: true })
  try {
    const tls = await readTls(broker)
    signal.throwIfAborted()
    guard.check(broker.host)
    const { lookup } = guard
    const options = { ...tls, lookup, noDelay: true, signal: ended.signal }
    const model = await amqp.connect(addressOf(broker), options as object)
    hear(model, fail)
    model.on('blocked', why => {
      blocked = why
    })
    model.on('unblocked', () => {
      blocked = ''
    })
    const channel = await openChannel(model, settings, fail)
    signal.removeEventListener('abort', end)
    return {
      isLost: () => isEnded,
      async publish(messages, limited) {
        const unroutable = await publish(channel, settings, messages, limited)
        if (unroutable !== undefined) throw new Error(unroutable)
      },
      async publishTest(body, limited) {
        const asked = { ...settings, mandatory: true }
        const unroutable = await publish(channel, asked, [{ body, about: undefined }], limited)
        if (unroutable !== undefined && settings.mandatory) throw new Error(unroutable)
        return unroutable
      },
      end,
      reason,
      close() {
        closing ??= new Promise<void>(done => {
          if (isEnded) return done()
          const timer = setTimeout(end, closeMsMax)
          ended.signal.addEventListener('abort', () => {
            clearTimeout(timer)
            done()
          })
          // The library never settles it when the connection is lost.
          model.close().then(end, end)
        })
        return closing
      },
    }
  } catch (error) {
    const text = reason(error)
    end()
    throw new Error(`AMQP at ${broker.host}:${broker.port}: ${text}`)
  }
}

/** The first error has the reason. */
function hear(emitter: ChannelModel | Channel, fail: (error: unknown) => void): void {
  emitter.on('error', fail)
  emitter.on('close', fail)
}

function addressOf(broker: Broker) {
  return {
    protocol: broker.isTls ? 'amqps' : 'amqp',
    hostname: broker.host,
    port: broker.port,
    username: broker.user,
    password: broker.password,
    // The library decodes it again.
    vhost: encodeURIComponent(broker.vhost),
    heartbeat: broker.heartbeatSeconds,
  }
}

async function readTls({ isTls, authority, certificate, key, isVerified }: Broker) {
  if (!isTls) return {}
  const [authoritiesFile, certificateFile, keyFile] = [authority ?? '', certificate ?? '', key ?? '']
  const files = await readTlsFiles({ authoritiesFile, certificateFile, keyFile, isVerified })
  return { ...files, rejectUnauthorized: isVerified }
}

async function openChannel(model: ChannelModel, settings: AmqpSettings, fail: (error: unknown) => void) {
  const { exchange, exchange_type, durable, auto_deleted: autoDelete, internal } = settings
  if (exchange !== '') {
    // On a separate channel, because the broker closes a channel when it refuses a request.
    const declaring = await model.createChannel()
    declaring.on('error', () => undefined)
    try {
      await declaring.assertExchange(exchange, exchange_type, { durable, autoDelete, internal })
      await declaring.close()
    } catch (error) {
      if ((error as { code?: unknown }).code !== accessRefused) throw error
      // A user with the right to publish may lack the right to declare: the exchange only has to exist.
      const looking = await model.createChannel()
      looking.on('error', () => undefined)
      await looking.checkExchange(exchange)
      await looking.close()
    }
  }
  const channel = settings.publisher_confirms ? await model.createConfirmChannel() : await model.createChannel()
  hear(channel, fail)
  return channel
}

/** One at a time. Resolves with why no queue gets a mandatory message: the broker returns it before it confirms it. */
async function publish(
  channel: Channel | ConfirmChannel,
  settings: AmqpSettings,
  messages: readonly Publication[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { exchange, routing_key, mandatory, delivery_mode } = settings
  let returned: Message | undefined
  const onReturn = (message: Message) => {
    returned = message
  }
  const confirmed: Promise<void>[] = []
  channel.on('return', onReturn)
  try {
    for (const { body, about } of messages) {
      signal.throwIfAborted()
      const options = { ...propertiesOf(about), mandatory, deliveryMode: delivery_mode }
      if (!('waitForConfirms' in channel)) {
        channel.publish(exchange, routing_key, body, options)
        continue
      }
      const isConfirmed = new Promise<void>((done, fail) => {
        channel.publish(exchange, routing_key, body, options, error => (error ? fail(error) : done()))
      })
      // All of them fail together; only the first is waited for.
      isConfirmed.catch(() => undefined)
      confirmed.push(isConfirmed)
    }
    // Without confirms, the answer to a later request shows that the broker has read the messages.
    await ('waitForConfirms' in channel ? Promise.all(confirmed) : channel.prefetch(1))
  } finally {
    channel.off('return', onReturn)
  }
  if (returned === undefined) return undefined
  const { replyText } = returned.fields as { replyText?: string }
  return `no queue gets messages of the exchange "${exchange}" with routing key "${routing_key}" (${replyText})`
}

/** Headers for routing (`headers` exchanges), and for consumers that do not parse the body. */
function propertiesOf(about: Publication['about']) {
  const contentType = 'application/json'
  if (about === undefined) return { contentType, appId: 'svc', type: 's3:TestEvent' }
  const { eventName, eventTime, bucket, key, sequencer } = about
  return {
    contentType,
    appId: 'svc',
    type: eventName,
    timestamp: Math.floor(Date.parse(eventTime) / 1000),
    headers: { event: eventName, bucket, key, sequencer },
  }
}
