/**
 * Events to Redis: a hash with a field for each object, or a list of all events. Source of the formats: MinIO, "Bucket
 * notifications", formats `namespace` and `access`.
 *
 * One connection: a `send` opens it if there is none, and the first failure closes it. Redis executes the commands of an old connection
 * before it answers a later one, so an aborted attempt cannot write after the next one.
 */

import type { AddressGuard } from 'svc/plugins/http-client/api'
import {
  createAttempts,
  type NotifyMessage,
  type NotifyTarget,
  type NotifyTargetContext,
  type NotifyTargetKind,
} from 'svc/plugins/notify/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import type { Connection } from './connection.ts'
import { checkSettings, RedisSettings } from './settings.ts'

/** The client library is loaded with the first use of a target, because few servers have one. */
const open = async (
  ...parameters: Parameters<typeof import('./connection.ts').openConnection>
): Promise<Connection> => {
  const { openConnection } = await import('./connection.ts')
  return openConnection(...parameters)
}

/** In one transaction, which blocks other clients of Redis. */
const batchMax = 100

const keyTypes = { namespace: 'hash', access: 'list' } as const

export function createRedisKind(guard: AddressGuard): NotifyTargetKind<typeof RedisSettings> {
  return {
    description: 'Events to Redis: a hash of the present objects, or a list of all events.',
    settings: RedisSettings,
    validate: settings => checkSettings(settings, guard),
    endpoint: ({ address, db }) => (address === '' ? 'redis' : `redis://${address}/${db}`),
    connect: (settings, context) => connectRedis(settings, context, guard),
  }
}

export function connectRedis(settings: RedisSettings, { log }: NotifyTargetContext, guard: AddressGuard): NotifyTarget {
  const [unusable] = checkSettings(settings, guard)
  if (unusable !== undefined) return createUnusable(unusable)
  const { address, key, format, timeout } = settings
  const attempts = createAttempts(`Redis at ${address}`, timeout, () => import('./connection.ts'))
  let current: Connection | undefined

  /** A rejection of `work` closes the connection, because the state of its commands is unknown. */
  const use = async (connection: Connection, signal: AbortSignal, work: (connection: Connection) => Promise<void>) => {
    const giveUp = () => connection.end()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      signal.throwIfAborted()
      await work(connection)
    } catch (error) {
      connection.end()
      throw new Error(`Redis at ${address}: ${explain(connection.reason(error), settings)}`)
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  const write = async ({ client }: Connection, messages: readonly Entry[]) => {
    const transaction = client.multi()
    for (const { field, value } of messages) {
      if (format === 'access') transaction.rPush(key, value)
      else if (value === '') transaction.hDel(key, field)
      else transaction.hSet(key, field, value)
    }
    const replies: readonly unknown[] = await transaction.exec()
    if (replies.length !== messages.length || !replies.every(Number.isInteger)) {
      throw new Error('it gives an unexpected answer to the transaction')
    }
  }

  return {
    batchMax,
    send: (messages, signal) =>
      attempts.run(signal, async limited => {
        if (current === undefined || current.isLost()) {
          current = await open(settings, guard, limited)
          log.debug({ address }, 'connected to Redis')
        }
        await use(current, limited, connection => write(connection, messages.map(entryOf(format))))
      }),
    // Over a new connection: a test may come at any time, and shows whether the target can connect now.
    test: (body, signal) =>
      attempts.run(signal, async limited => {
        const own = await open(settings, guard, limited)
        await use(own, limited, async connection => {
          const type = await connection.client.type(key)
          if (type !== 'none' && type !== keyTypes[format]) throw new Error(wrongType)
          if (format === 'access') await write(connection, [{ field: '', value: testValue(body) }])
        })
        own.end()
      }),
    async close() {
      attempts.close()
      current?.end()
    },
  }
}

/** A disabled target may be tested before its settings are complete. */
function createUnusable({ key, problem }: SettingsProblem): NotifyTarget {
  const refuse = () => Promise.reject(new Error(`The settings cannot be used: ${key} ${problem}.`))
  return { send: refuse, test: refuse, close: () => Promise.resolve() }
}

interface Entry {
  readonly field: string
  /** Empty for removed objects. */
  readonly value: string
}

function entryOf(format: RedisSettings['format']): (message: NotifyMessage) => Entry {
  return ({ bucket, key, record, eventTime, isRemoval }) => {
    if (format === 'access') return { field: '', value: accessValue(record, eventTime) }
    return { field: `${bucket}/${key}`, value: isRemoval ? '' : JSON.stringify({ Records: [record] }) }
  }
}

function accessValue(record: unknown, eventTime: unknown): string {
  return JSON.stringify([{ Event: [record], EventTime: eventTime }])
}

function testValue(body: Buffer): string {
  const event = JSON.parse(body.toString())
  return accessValue(event, event.Time)
}

const wrongType = 'WRONGTYPE'

/** Turns the short error codes of Redis into advice for operators. */
function explain(reason: string, { key, format }: RedisSettings): string {
  if (reason.startsWith(wrongType)) {
    return `the key ${JSON.stringify(key)} is not the ${keyTypes[format]} that format ${format} needs`
  }
  return reason
}
