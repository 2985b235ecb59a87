/**
 * One connection to NATS. It never reconnects: the library would keep messages in memory meanwhile, without bound, and report
 * success.
 */
import { connect, type Socket } from 'node:net'
import { setImmediate as afterEvents } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { type JetStreamClient, jetstream } from '@nats-io/jetstream'
import {
  type Authenticator,
  credsAuthenticator,
  type NatsConnection,
  NatsConnectionImpl,
  type NodeConnectionOptions,
  nkeyAuthenticator,
  setTransportFactory,
  type TlsOptions,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node'
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js'
import { type AddressGuard, readSmallFile, readTlsFiles } from 'svc/plugins/http-client/api'
import { SetupError } from './failures.ts'
import { type NatsSettings, parseServer } from './settings.ts'

export interface Publication {
  /** Messages with the same key reach the server one after the other. */
  readonly key: string
  readonly body: Uint8Array
  /** The id by which a stream detects duplicates; undefined: no detection. No line breaks. */
  readonly id: string | undefined
}

export interface Connection {
  /** Resolves when the server, or where `jetstream` is on a stream, has all of them. */
  publish(publications: readonly Publication[]): Promise<void>
  isLost(): boolean
  /** Closes at once; operations under way reject. Idempotent. */
  end(): void
}

/** Messages published before a flush asks whether the server has them. */
const underWayBytesMax = 1024 * 1024
const underWayMax = 64

class GuardedTransport extends NodeTransport {
  readonly #guard: AddressGuard

  constructor(guard: AddressGuard) {
    super()
    this.#guard = guard
  }

  override dial({ hostname: host, port }: Parameters<NodeTransport['dial']>[0]): Promise<Socket> {
    return new Promise((resolve, reject) => {
      this.#guard.check(host)
      const socket = connect({ host, port, lookup: this.#guard.lookup, noDelay: true })
      // Closing a transport that is still connecting destroys its socket.
      this.socket = socket
      let failure: Error | undefined
      socket.once('connect', () => {
        socket.removeAllListeners()
        resolve(socket)
      })
      socket.once('error', error => {
        failure = error
      })
      socket.once('close', () => reject(failure))
    })
  }

  /** The library does not pass the address to Node.js, which then refuses certificates of addresses. */
  override connect(server: Parameters<NodeTransport['connect']>[0], options: NodeConnectionOptions): Promise<void> {
    const host = server.tlsName || server.hostname
    return super.connect(server, options.tls ? { ...options, tls: { ...options.tls, host } as TlsOptions } : options)
  }

  /** The library leaves a socket open per attempt when a server accepts connections and says nothing. */
  override close(error?: Error): Promise<void> {
    if (!this.connected) this.discard()
    return super.close(error)
  }
}

export async function openConnection(
  settings: NatsSettings,
  guard: AddressGuard,
  signal: AbortSignal,
): Promise<Connection> {
  const authenticator = await authenticatorOf(settings)
  const tls = settings.tls ? await tlsOf(settings) : null
  // Like `connect` of the package; the transport resolves names and checks their addresses.
  setTransportFactory({ factory: () => new GuardedTransport(guard), dnsResolveFn: async name => [name] })
  const opening = NatsConnectionImpl.connect({
    servers: settings.address.map(address => parseServer(address)!),
    name: 'svc',
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: Math.ceil(settings.timeout / Math.min(settings.address.length, 3)),
    noAsyncTraces: true,
    authenticator,
    // Null refuses servers that require TLS; options refuse servers without TLS.
    tls,
  })
  // Connecting cannot be aborted; a connection that is too late is closed.
  const connection = await opening.then(opened => {
    if (signal.aborted) void opened.close()
    signal.throwIfAborted()
    return opened
  })
  return wrap(connection, settings)
}

function wrap(connection: NatsConnection, settings: NatsSettings): Connection {
  const { subject, timeout } = settings
  let refusal: Error | undefined
  const lost = connection.closed().then(error => {
    throw error instanceof Error ? error : new Error('the connection was closed')
  })
  lost.catch(() => {})
  // The server reports refused messages asynchronously.
  const watch = async () => {
    for await (const status of connection.status()) if (status.type === 'error') refusal = status.error
  }
  watch().catch(() => {})

  const flush = async () => {
    await Promise.race([connection.flush(), lost])
    // The errors arrive before the answer to a flush, and the library reports them one turn later.
    await afterEvents()
    if (refusal !== undefined) throw refusal
  }

  const publishToServers = async (publications: readonly Publication[]) => {
    let bytes = 0
    for (const { body } of publications) {
      connection.publish(subject, body)
      bytes += body.byteLength
      if (bytes < underWayBytesMax) continue
      await flush()
      bytes = 0
    }
    await flush()
  }

  const publishToStream = async (stream: JetStreamClient, publications: readonly Publication[]) => {
    for (const group of groupsOf(publications)) {
      const results = await Promise.allSettled(
        group.map(({ body, id }) => stream.publish(subject, body, { msgID: id, timeout })),
      )
      const failed = results.find(result => result.status === 'rejected')
      if (failed !== undefined) throw failed.reason
    }
  }

  const stream = settings.jetstream ? jetstream(connection, { timeout }) : undefined
  return {
    publish: publications =>
      stream === undefined ? publishToServers(publications) : publishToStream(stream, publications),
    isLost: () => connection.isClosed(),
    end: () => void connection.close().catch(() => {}),
  }
}

/**
 * Splits messages, in order, where a key repeats: the second message of a key is published after the first is stored, so that the
 * first cannot fail and arrive later.
 */
function groupsOf(publications: readonly Publication[]): readonly (readonly Publication[])[] {
  const groups: Publication[][] = []
  const keys = new Set<string>()
  let bytes = 0
  for (const publication of publications) {
    const isFull = keys.size === underWayMax || bytes + publication.body.byteLength > underWayBytesMax
    if (groups.length === 0 || isFull || keys.has(publication.key)) {
      groups.push([])
      keys.clear()
      bytes = 0
    }
    groups.at(-1)!.push(publication)
    keys.add(publication.key)
    bytes += publication.body.byteLength
  }
  return groups
}

async function authenticatorOf(settings: NatsSettings): Promise<Authenticator | undefined> {
  const { username, password, token, nkey_specification, credentials_file } = settings
  if (username !== '') return usernamePasswordAuthenticator(username, password)
  if (token !== '') return tokenAuthenticator(token)
  if (nkey_specification !== '') {
    return usable(nkeyAuthenticator(Buffer.from(nkey_specification)), 'the value of nkey_specification cannot be used')
  }
  if (credentials_file === '') return undefined
  // The same whatever is wrong with the file: whoever may change the configuration may name any.
  const problem = 'the file of credentials_file cannot be read, or holds no credentials'
  const credentials = await readSmallFile(credentials_file)
  if (credentials === undefined) throw new SetupError(problem)
  return usable(credsAuthenticator(credentials), problem)
}

/** Throws SetupError with the problem if it cannot sign. */
function usable(authenticator: Authenticator, problem: string): Authenticator {
  try {
    authenticator('nonce')
    return authenticator
  } catch {
    throw new SetupError(problem)
  }
}

/** Reads the files for each connection, because certificates are renewed. */
async function tlsOf({ ca_cert, client_cert, client_key, tls_skip_verify }: NatsSettings): Promise<TlsOptions> {
  const files = await readTlsFiles({
    authoritiesFile: ca_cert,
    certificateFile: client_cert,
    keyFile: client_key,
    isVerified: !tls_skip_verify,
  })
  const [ca, cert, key] = [files.ca?.toString(), files.cert?.toString(), files.key?.toString()]
  try {
    createSecureContext({ ca, cert, key })
  } catch {
    throw new SetupError('the certificate and the key do not belong together')
  }
  // The library passes unknown options to Node.js.
  return { ca, cert, key, rejectUnauthorized: !tls_skip_verify, minVersion: 'TLSv1.2' } as TlsOptions
}
