/**
 * The client of Kafka, in a thread of its own. The library handles events of sockets in callbacks: an exception there, caused by an
 * invalid answer of a broker, cannot be caught and would end the server. Here it ends this thread, and `producer.ts` starts another.
 * Compression does not block the server either.
 */
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
const { createAddressGuard, readTlsFiles }: typeof import('svc/plugins/http-client/api') = await import(httpClient)
guardSockets(createAddressGuard({ reach, allowedNetworks }))
const port = parentPort!
/** Ahead of the deadline of the attempt, which ends the thread. */
const answerMsMax = Math.ceil(settings.timeout * 0.8)
let client: Client | undefined
/** While its files are read. */
let opening: Promise<Client> | undefined
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
  // All that come meanwhile wait for the same, and go on in their order.
  if (client === undefined) opening ??= openClient()
  const producer = client ?? (await opening!)
  let offset = 0
  const messages = lengths.map((length, i) => {
    const value = Buffer.from(bytes.buffer, bytes.byteOffset + offset, length)
    offset += length
    const key = keys[i]
    return { topic: settings.topic, key: key === undefined ? undefined : Buffer.from(key), value }
  })
  await producer.send({
    acks: ProduceAcks.ALL,
    messages,
    compression: settings.compression,
    // As the Java client, so that both choose the same partitions of a topic.
    partitioner: (message, key) => compatibilityPartitioner(message, key as Buffer | undefined),
  })
}

async function openClient(): Promise<Client> {
  try {
    // Not before `opening` is set, which ends here.
    const tls = await (settings.tls ? tlsOf(settings) : undefined)
    client = createClient(tls)
    return client
  } finally {
    opening = undefined
  }
}

function createClient(tls: Awaited<ReturnType<typeof tlsOf>> | undefined): Client {
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
  if (tls !== undefined) {
    options.tls = tls
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
async function tlsOf({ ca_cert, client_tls_cert, client_tls_key, tls_skip_verify }: KafkaSettings) {
  const isVerified = !tls_skip_verify
  const named = { authoritiesFile: ca_cert, certificateFile: client_tls_cert, keyFile: client_tls_key, isVerified }
  const files = await readTlsFiles(named).catch((error: Error) => {
    throw new FileError(sentence(error.message))
  })
  try {
    return {
      secureContext: createSecureContext({ ...files, minVersion: 'TLSv1.2' }),
      rejectUnauthorized: isVerified,
    }
  } catch {
    throw new FileError('The certificate and the key do not belong together.')
  }
}

const sentence = (clause: string) => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`

class FileError extends Error {
  get failure(): Failure {
    return { reason: this.message, isPermanent: false }
  }
}
