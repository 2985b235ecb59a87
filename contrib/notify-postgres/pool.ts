/**
 * A bounded pool of connections to PostgreSQL. The client library reports lost connections as events of the client and the pool, which
 * would end the process without a listener, and throws when a server does not speak its protocol. This file catches both.
 */
import { Socket } from 'node:net'
import pg from 'pg'
import { type AddressGuard, readTlsFiles } from 'svc/plugins/http-client/api'
import type { Place } from './connection-string.ts'

/** The error code of PostgreSQL; empty for other errors. */
export function codeOf(error: unknown): string {
  return (error instanceof pg.DatabaseError && error.code) || ''
}

export interface Pool {
  /**
   * Lends a connection to `work`. When `work` rejects, or `signal` is aborted, the connection is closed, which rolls back its
   * transaction.
   */
  use<T>(signal: AbortSignal, work: (client: pg.PoolClient) => Promise<T>): Promise<T>
  /** Within half a second, also when the server does not answer. */
  close(): Promise<void>
}

export interface PoolOptions {
  readonly connectionsMax: number
  /** Maximum time of a connection attempt. */
  readonly timeoutMs: number
  readonly guard: AddressGuard
}

const closeMsMax = 500

/** Rejects when a file of the settings cannot be read. Connects with the first use. */
export async function createPool(place: Place, { connectionsMax, timeoutMs, guard }: PoolOptions): Promise<Pool> {
  const sockets = new Set<Socket>()
  let made: Socket | undefined
  /** Listens for errors while the pool does not: while it connects or has lent a client. Operations under way reject by themselves. */
  class HeardClient extends pg.Client {
    // The client has asked for it in its constructor.
    readonly #socket = made!

    constructor(config?: string | pg.ClientConfig) {
      super(config)
      this.on('error', () => undefined)
    }

    // Closes the connection to a server that refuses and stays connected.
    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
      if (callback === undefined) return super.connect()
      super.connect((error: Error) => {
        if (error) this.#socket.destroy()
        callback(error)
      })
    }
  }
  const connections = new pg.Pool({
    host: place.host,
    port: place.port,
    user: place.user,
    database: place.database,
    // The library replaces an empty text by the value of the environment of the server.
    password: () => place.password,
    ssl: await readTls(place),
    stream: () => {
      const socket = new GuardedSocket(guard)
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      made = socket
      return socket
    },
    Client: HeardClient,
    max: connectionsMax,
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    application_name: 'svc',
  })
  // An idle connection was lost; the next use opens another.
  connections.on('error', () => undefined)
  return {
    async use(signal, work) {
      const client = await connections.connect()
      let isReleased = false
      const release = (failure?: Error) => {
        if (!isReleased) client.release(failure)
        isReleased = true
      }
      const giveUp = () => release(new Error('the attempt was ended'))
      signal.addEventListener('abort', giveUp, { once: true })
      try {
        signal.throwIfAborted()
        const result = await work(client)
        release()
        return result
      } catch (error) {
        release(error as Error)
        throw error
      } finally {
        signal.removeEventListener('abort', giveUp)
      }
    },
    async close() {
      const ended = connections.end()
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, closeMsMax)
      await ended
      clearTimeout(timer)
    },
  }
}

class GuardedSocket extends Socket {
  readonly #guard: AddressGuard

  constructor(guard: AddressGuard) {
    super()
    this.#guard = guard
  }

  /** As the client library calls it: with a port and a host, or with the path of a Unix socket. */
  override connect(...[place, host]: unknown[]): this {
    if (host === undefined) return super.connect({ path: String(place) })
    try {
      if (typeof host !== 'string') throw new TypeError('A connection is made to a host.')
      this.#guard.check(host)
    } catch (error) {
      process.nextTick(() => this.destroy(error as Error))
      return this
    }
    return super.connect({ port: Number(place), host, lookup: this.#guard.lookup })
  }

  /** The library throws in a listener of `data` when the input is invalid: the connection is unusable. */
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event !== 'data') return super.emit(event as string, ...values)
    try {
      return super.emit(event, ...values)
    } catch (error) {
      this.destroy(new Error(`it does not answer in the protocol of PostgreSQL: ${(error as Error).message}`))
      return true
    }
  }
}

async function readTls({ tls }: Place): Promise<pg.ClientConfig['ssl']> {
  if (tls === undefined) return false
  const { authority = '', certificate = '', key = '', isVerified } = tls
  const files = await readTlsFiles({
    authoritiesFile: authority,
    certificateFile: certificate,
    keyFile: key,
    isVerified,
  })
  return { ...files, rejectUnauthorized: isVerified } as pg.ClientConfig['ssl']
}
