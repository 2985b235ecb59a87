import { createHash } from 'node:crypto'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import {
  createAttempts,
  type NotifyMessage,
  type NotifyTarget,
  type NotifyTargetContext,
  type NotifyTargetKind,
  PermanentDeliveryError,
} from 'svc/plugins/notify/api'
import type { Connection, Publication } from './connection.ts'
import { checkNats, NatsSettings, natsEndpoint } from './settings.ts'

const batchMax = 100

/** Events to a subject: each is the message that a webhook gets. */
export function createNatsKind(guard: AddressGuard): NotifyTargetKind<typeof NatsSettings> {
  return {
    description: 'NATS: each event is a message of a subject, or of a stream of JetStream.',
    settings: NatsSettings,
    validate: settings => checkNats(settings, guard),
    endpoint: natsEndpoint,
    connect: (settings, context) => connectNats(settings, context, guard),
  }
}

export function connectNats(settings: NatsSettings, { log }: NotifyTargetContext, guard: AddressGuard): NotifyTarget {
  const service = `NATS at ${settings.address.join(', ')}`
  const attempts = createAttempts(service, settings.timeout, () => import('./connection.ts'))
  let current: Connection | undefined

  const fail = async (error: unknown): Promise<never> => {
    const { reasonOf } = await import('./failures.ts')
    const { reason, isPermanent } = reasonOf(error)
    throw isPermanent ? new PermanentDeliveryError(`${service}: ${reason}.`) : new Error(`${service}: ${reason}.`)
  }

  /** The client library is loaded with the first use of a target, because few servers have one. */
  const open = async (signal: AbortSignal): Promise<Connection> => {
    const { openConnection } = await import('./connection.ts')
    return openConnection(settings, guard, signal).catch(fail)
  }

  /** A failure closes the connection, because the state of its messages is unknown. */
  const use = async (connection: Connection, signal: AbortSignal, publications: readonly Publication[]) => {
    const giveUp = () => connection.end()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      signal.throwIfAborted()
      await connection.publish(publications)
    } catch (error) {
      connection.end()
      await fail(error)
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  return {
    batchMax,
    send: (messages, signal) =>
      attempts.run(signal, async limited => {
        if (current === undefined || current.isLost()) {
          current = await open(limited)
          log.debug({ servers: settings.address }, 'connected to NATS')
        }
        await use(current, limited, messages.map(publicationOf))
      }),
    // Over a new connection: a test may come at any time, and shows whether the target can connect now.
    test: (body, signal) =>
      attempts.run(signal, async limited => {
        const own = await open(limited)
        await use(own, limited, [{ key: '', body, id: undefined }])
        own.end()
      }),
    async close() {
      attempts.close()
      current?.end()
    },
  }
}

/**
 * Streams detect a repeated message by its id: a hash, because keys may have line breaks and headers not. The hash covers the body, because
 * several events of one version may have the same sequencer.
 */
function publicationOf({ bucket, key, sequencer, body }: NotifyMessage): Publication {
  const path = `${bucket}/${key}`
  const hash = createHash('sha256').update(`${path}\0${sequencer}\0`).update(body).digest('base64url')
  return { key: path, body, id: `${sequencer}-${hash.slice(0, 22)}` }
}
