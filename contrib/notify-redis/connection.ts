/**
 * One connection to Redis. It never reconnects: the caller that finds it lost opens another. The client library reports problems as an
 * event beside the rejections, and waits for an answer without end, so `end` closes the socket.
 */
import { createClient, MultiErrorReply } from 'redis'
import { type AddressGuard, readTlsFiles } from 'svc/plugins/http-client/api'
import { reasonOf } from 'svc/plugins/notify/api'
import { parseAddress, type RedisSettings } from './settings.ts'

export interface Connection {
  readonly client: RedisClient
  isLost(): boolean
  /** Operations under way reject. Idempotent. */
  end(): void
  /** The cause of `error`: the first failure of the connection, because later errors are its consequences. */
  reason(error: unknown): string
}

export type RedisClient = ReturnType<typeof createRedisClient>

/** Rejects with an Error without secrets. An aborted attempt leaves no socket open. */
export async function openConnection(
  settings: RedisSettings,
  guard: AddressGuard,
  signal: AbortSignal,
): Promise<Connection> {
  const { ca_cert: authoritiesFile, tls_skip_verify } = settings
  const tls = { authoritiesFile, certificateFile: '', keyFile: '', isVerified: !tls_skip_verify }
  const { ca: authority } = await readTlsFiles(tls)
  const ended = new AbortController()
  const client = createRedisClient(settings, guard, authority, ended.signal)
  let failure: unknown
  const connection: Connection = {
    client,
    isLost: () => failure !== undefined || !client.isReady,
    end() {
      signal.removeEventListener('abort', connection.end)
      client.destroy()
      // The client ignores a socket that is still connecting, which would connect later.
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
    // Every server since Redis 6 has both versions; we use nothing of the third.
    RESP: 2,
    username: user === '' ? undefined : user,
    password: password === '' ? undefined : password,
    database: db,
    disableOfflineQueue: true,
    // A narrow access control list would refuse these commands.
    disableClientInfo: true,
    maintNotifications: 'disabled',
  })
}

/** The error of a transaction is that of its first failed command. */
function firstOf(error: unknown): unknown {
  return error instanceof MultiErrorReply ? error.replies[error.errorIndexes[0]!] : error
}
