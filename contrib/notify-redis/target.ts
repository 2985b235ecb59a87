/**
 * Events to Redis: a hash with a field for each object, or a list of everything that happened. Source of what is stored: MinIO,
 * "Bucket notifications", formats `namespace` and `access`.
 *
 * One connection, made by the send that finds none and given up by the first that fails. Redis works off what a connection had sent
 * before it answers a later one, so that an attempt that was given up cannot write after the next.
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

/** The client library is loaded when a target is first used: few servers have one. */
const open = async (
  ...parameters: Parameters<typeof import('./connection.ts').openConnection>
): Promise<Connection> => {
  const { openConnection } = await import('./connection.ts')
  return openConnection(...parameters)
}

/** In one transaction: Redis serves nobody else meanwhile. */
const batchMax = 100

const keyTypes = { namespace: 'hash', access: 'list' } as const

export function createRedisKind(guard: AddressGuard): NotifyTargetKind<typeof RedisSettings> {
  return {
    description: 'Events to Redis: a hash of the objects that there are, or a list of everything that happened.',
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

  /** What `work` rejects with ends the connection: what is on its way over it is not known. */
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
      throw new Error('what it answers is not the answer to the transaction')
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
    // Over a connection of its own: it may come at any time, and tells whether one can be made now.
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

/** A target that is not enabled may be tested before anybody has set what it needs. */
function createUnusable({ key, problem }: SettingsProblem): NotifyTarget {
  const refuse = () => Promise.reject(new Error(`The settings cannot be used: ${key} ${problem}.`))
  return { send: refuse, test: refuse, close: () => Promise.resolve() }
}

interface Entry {
  readonly field: string
  /** Empty for what is removed. */
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

/** What Redis says in a word or two, as what to look at. */
function explain(reason: string, { key, format }: RedisSettings): string {
  if (reason.startsWith(wrongType)) {
    return `the key ${JSON.stringify(key)} holds something else than the ${keyTypes[format]} that format ${format} needs`
  }
  return reason
}
