/**
 * One connection to Redis that is never made again by itself: who finds it lost makes another one. The client library tells of trouble
 * by an event beside the rejections, and waits for ever for what a server does not answer, so that ending means closing the socket.
 */
import { readFile } from 'node:fs/promises'
import { createClient, MultiErrorReply } from 'redis'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import { reasonOf } from 'svc/plugins/notify/api'
import { parseAddress, type RedisSettings } from './settings.ts'

export interface Connection {
  readonly client: RedisClient
  isLost(): boolean
  /** Idempotent. What is under way rejects. */
  end(): void
  /** Why `error` came about: of the first thing that went wrong all others are consequences. */
  reason(error: unknown): string
}

export type RedisClient = ReturnType<typeof createRedisClient>

/** Rejects with an Error without secrets. What `signal` aborts leaves nothing open. */
export async function openConnection(
  settings: RedisSettings,
  guard: AddressGuard,
  signal: AbortSignal,
): Promise<Connection> {
  const authority = settings.ca_cert === '' ? undefined : await readFile(settings.ca_cert, { signal })
  const ended = new AbortController()
  const client = createRedisClient(settings, guard, authority, ended.signal)
  let failure: unknown
  const connection: Connection = {
    client,
    isLost: () => failure !== undefined || !client.isReady,
    end() {
      signal.removeEventListener('abort', connection.end)
      client.destroy()
      // What is not connected yet is no business of the client, and would connect later.
      ended.abort()
    },
    reason: error => reasonOf(failure ?? firstOf(error), [settings.password]),
  }
  client.on('error', error => {
    failure ??= error
    connection.end()
  })
  signal.addEventListener('abort', connection.end, { once: true })
  try {
    signal.throwIfAborted()
    guard.check(parseAddress(settings.address)!.host)
    await client.connect()
    signal.removeEventListener('abort', connection.end)
    return connection
  } catch (error) {
    connection.end()
    throw new Error(`Redis at ${settings.address}: ${connection.reason(error)}`)
  }
}

function createRedisClient(
  settings: RedisSettings,
  { lookup }: AddressGuard,
  authority: Buffer | undefined,
  ended: AbortSignal,
) {
  const { tls, tls_skip_verify, user, password, db, timeout } = settings
  const { host, port } = parseAddress(settings.address)!
  const socket = { host, port, connectTimeout: timeout, reconnectStrategy: false as const, signal: ended, lookup }
  const trust = { tls: true as const, ca: authority, rejectUnauthorized: !tls_skip_verify }
  return createClient({
    socket: tls ? { ...socket, ...trust } : socket,
    // Any server since Redis 6 knows both; of the third version we would use nothing.
    RESP: 2,
    username: user === '' ? undefined : user,
    password: password === '' ? undefined : password,
    database: db,
    disableOfflineQueue: true,
    // Commands that a narrow access control list would refuse.
    disableClientInfo: true,
    maintNotifications: 'disabled',
  })
}

/** Of a transaction, that of the first command that failed in it. */
function firstOf(error: unknown): unknown {
  return error instanceof MultiErrorReply ? error.replies[error.errorIndexes[0]!] : error
}
