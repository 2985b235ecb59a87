/**
 * The client of Kafka, in a thread of its own. The library handles events of sockets in callbacks: an exception there, caused by an
 * invalid answer of a broker, cannot be caught and would end the server. Here it ends this thread, and `producer.ts` starts another.
 * Compression does not block the server either.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'
import { compatibilityPartitioner, ProduceAcks, Producer, type ProducerOptions } from '@platformatic/kafka'
import type { GuardOptions } from 'svc/plugins/http-client/api'
import { describeFailure, type Failure } from './failures.ts'
import { guardSockets } from './guarded-sockets.ts'
import { type KafkaSettings, parseBroker } from './settings.ts'

export interface ThreadData {
  readonly settings: KafkaSettings
  /** URL of `svc/plugins/http-client/api`, which only the server can resolve. */
  readonly httpClient: string
  /** The addresses that may be connected to. */
  readonly reach: GuardOptions['reach']
  readonly allowedNetworks: GuardOptions['allowedNetworks']
  /** The number of threads before it. */
  readonly thread: number
}

/** The values are concatenated. */
export interface ThreadRequest {
  readonly id: number
  /** Undefined: any partition. */
  readonly keys: readonly (string | undefined)[]
  readonly lengths: readonly number[]
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** The first, with the id 0, says that the thread is ready. */
export interface ThreadAnswer {
  readonly id: number
  /** Undefined: every in-sync replica has all records. */
  readonly failure: Failure | undefined
}

type Client = Producer<Buffer, Buffer, Buffer, Buffer>

const { settings, thread, httpClient, reach, allowedNetworks } = workerData as ThreadData
const { createAddressGuard }: typeof import('svc/plugins/http-client/api') = await import(httpClient)
guardSockets(createAddressGuard({ reach, allowedNetworks }))
const port = parentPort!
/** Ahead of the deadline of the attempt, which ends the thread. */
const answerMsMax = Math.ceil(settings.timeout * 0.8)
let client: Client | undefined
let clients = thread

port.on('message', (request: ThreadRequest) => {
  produce(request).then(
    () => answer(request.id, undefined),
    (error: unknown) => {
      drop()
      answer(request.id, error instanceof FileError ? error.failure : describeFailure(error))
    },
  )
})

answer(0, undefined)

async function produce({ keys, lengths, bytes }: ThreadRequest): Promise<void> {
  client ??= createClient()
  let offset = 0
  const messages = lengths.map((length, i) => {
    const value = Buffer.from(bytes.buffer, bytes.byteOffset + offset, length)
    offset += length
    const key = keys[i]
    return { topic: settings.topic, key: key === undefined ? undefined : Buffer.from(key), value }
  })
  await client.send({
    acks: ProduceAcks.ALL,
    messages,
    compression: settings.compression,
    // As the Java client, so that both choose the same partitions of a topic.
    partitioner: (message, key) => compatibilityPartitioner(message, key as Buffer | undefined),
  })
}

function createClient(): Client {
  const brokers = settings.brokers.map(broker => parseBroker(broker)!)
  // The library starts with the first broker and stays there even when it is silent, so each new client starts with another broker.
  const first = clients++ % brokers.length
  const options: ProducerOptions<Buffer, Buffer, Buffer, Buffer> = {
    clientId: 'svc',
    bootstrapBrokers: [...brokers.slice(first), ...brokers.slice(0, first)],
    // The queue tries again, in order and with pauses.
    retries: 0,
    autocreateTopics: false,
    timeout: answerMsMax,
    // Lets the library try another broker when one does not answer.
    connectTimeout: Math.ceil(answerMsMax / Math.min(brokers.length, 3)),
    metadataMaxAge: 60_000,
  }
  if (settings.tls) {
    options.tls = tlsOf(settings)
    // Proxies distinguish clusters by it; an address has none.
    options.tlsServerName = brokers.every(({ host }) => isIP(host) === 0)
  }
  if (settings.sasl) {
    const mechanism = settings.sasl_mechanism.toUpperCase() as 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
    options.sasl = { mechanism, username: settings.sasl_username, password: settings.sasl_password }
  }
  // The type lacks it; connections read it.
  Object.assign(options, { requestTimeout: answerMsMax })
  const created = new Producer<Buffer, Buffer, Buffer, Buffer>(options)
  // A closed connection may fail again.
  created.connections.on('connecting', ({ connection }: { connection: NodeJS.EventEmitter }) => {
    connection.on('error', () => {})
  })
  return created
}

/** Drops the connections and metadata of the cluster after a failure; the next attempt starts without them. */
function drop(): void {
  const dropped = client
  client = undefined
  dropped?.close(true).catch(() => {})
}

function answer(id: number, failure: Failure | undefined): void {
  port.postMessage({ id, failure } satisfies ThreadAnswer)
}

/** Reads the files for each client, because certificates are renewed. */
function tlsOf({ ca_cert, client_tls_cert, client_tls_key, tls_skip_verify }: KafkaSettings) {
  const ca = read('ca_cert', ca_cert)
  const cert = read('client_tls_cert', client_tls_cert)
  const key = read('client_tls_key', client_tls_key)
  try {
    const secureContext = createSecureContext({ ca, cert, key, minVersion: 'TLSv1.2' })
    return { secureContext, rejectUnauthorized: !tls_skip_verify }
  } catch {
    throw new FileError('The certificates or the key cannot be used.')
  }
}

function read(key: string, path: string): Buffer | undefined {
  if (path === '') return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    throw new FileError(`The file of ${key} cannot be read: ${(error as NodeJS.ErrnoException).code}.`)
  }
}

class FileError extends Error {
  get failure(): Failure {
    return { reason: this.message, isPermanent: false }
  }
}
