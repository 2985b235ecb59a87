/**
 * The client of Kafka, in a thread of its own. The library works with callbacks in the events of sockets: what it throws there, over
 * an answer that no broker should give, nobody can catch, and it would end the server. Here it ends this thread, and `producer.ts`
 * starts another. Compressing does not hold up the server either.
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
  /** URL of `svc/plugins/http-client/api`: only the server knows where that is. */
  readonly httpClient: string
  /** What may be connected to. */
  readonly reach: GuardOptions['reach']
  readonly allowedNetworks: GuardOptions['allowedNetworks']
  /** How many there were before it. */
  readonly thread: number
}

/** Values lie one behind the other. */
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
  /** Undefined: every replica that is in sync has all of them. */
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
    // As the Java client: who writes to the same topic with that one finds the same partitions.
    partitioner: (message, key) => compatibilityPartitioner(message, key as Buffer | undefined),
  })
}

function createClient(): Client {
  const brokers = settings.brokers.map(broker => parseBroker(broker)!)
  // The library begins with the first broker and stays there also when that one is silent: each new client begins with another.
  const first = clients++ % brokers.length
  const options: ProducerOptions<Buffer, Buffer, Buffer, Buffer> = {
    clientId: 'svc',
    bootstrapBrokers: [...brokers.slice(first), ...brokers.slice(0, first)],
    // Who asked tries again, in order and with pauses.
    retries: 0,
    autocreateTopics: false,
    timeout: answerMsMax,
    // So that another broker can be tried where one does not answer.
    connectTimeout: Math.ceil(answerMsMax / Math.min(brokers.length, 3)),
    metadataMaxAge: 60_000,
  }
  if (settings.tls) {
    options.tls = tlsOf(settings)
    // Proxies tell clusters apart by it; of an address there is none.
    options.tlsServerName = brokers.every(({ host }) => isIP(host) === 0)
  }
  if (settings.sasl) {
    const mechanism = settings.sasl_mechanism.toUpperCase() as 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
    options.sasl = { mechanism, username: settings.sasl_username, password: settings.sasl_password }
  }
  // Its type lacks it; connections read it.
  Object.assign(options, { requestTimeout: answerMsMax })
  const created = new Producer<Buffer, Buffer, Buffer, Buffer>(options)
  // A connection may fail once more after it was given up.
  created.connections.on('connecting', ({ connection }: { connection: NodeJS.EventEmitter }) => {
    connection.on('error', () => {})
  })
  return created
}

/** What a failure leaves behind of connections and of what is known of the cluster: the next attempt begins anew. */
function drop(): void {
  const dropped = client
  client = undefined
  dropped?.close(true).catch(() => {})
}

function answer(id: number, failure: Failure | undefined): void {
  port.postMessage({ id, failure } satisfies ThreadAnswer)
}

/** Files are read anew for each client: certificates are renewed. */
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
