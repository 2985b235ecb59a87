/**
 * The load generator: a process of its own that sends signed requests over many connections with keep-alive. Requests are
 * signed before the clock starts. Driven by messages from its parent (load-plan.ts).
 */
import { createHash, randomFillSync } from 'node:crypto'
import { type Connection, openConnection } from './load-connection.ts'
import { openHttp2Connection } from './load-http2.ts'
import {
  type LoadAnswer,
  type LoadCommand,
  type LoadLimits,
  type LoadPlan,
  type LoadResult,
  targetOf,
} from './load-plan.ts'
import { createSigner } from './signature.ts'
import { percentile } from './statistics.ts'

const STREAMED_BODY_BYTES_MIN = 2 ** 20
const STREAM_CHUNK_BYTES = 2 ** 18
const LATENCY_COUNT_MAX = 4_000_000
const HEAD_SIZE_BYTES_MAX = 1024

interface PreparedLoad {
  readonly plan: LoadPlan
  /** All heads, one behind the other; head i is bytes ends[i-1] <= b < ends[i]. */
  readonly heads: Buffer
  readonly ends: Uint32Array
  /** The body of every request, or for streams the chunk that it is made of. */
  readonly body: Buffer
}

function prepare(plan: LoadPlan): PreparedLoad {
  const isStreamed = plan.bodySizeBytes >= STREAMED_BODY_BYTES_MIN
  const body = randomFillSync(Buffer.alloc(isStreamed ? STREAM_CHUNK_BYTES : plan.bodySizeBytes))
  const payloadHash = isStreamed ? 'UNSIGNED-PAYLOAD' : createHash('sha256').update(body).digest('hex')
  const linesOf = createLines(plan, payloadHash)
  const { targets } = plan
  const count = 'count' in targets ? targets.count : targets.length
  const parts: Buffer[] = []
  const ends = new Uint32Array(count)
  let size = 0
  for (let index = 0; index < count; index++) {
    const target = 'count' in targets ? targetOf(targets.bucket, targets.first + index) : targets[index]
    const length = plan.method === 'PUT' ? `Content-Length: ${plan.bodySizeBytes}\r\n` : ''
    const head = `${plan.method} ${target} HTTP/1.1\r\n${linesOf(target)}${length}\r\n`
    if (head.length > HEAD_SIZE_BYTES_MAX) throw new Error(`The head of ${target} is too long.`)
    parts.push(Buffer.from(head, 'latin1'))
    size += head.length
    ends[index] = size
  }
  return { plan, heads: Buffer.concat(parts, size), ends, body }
}

/** The header lines of each request. */
function createLines(plan: LoadPlan, payloadHash: string): (target: string) => string {
  const { credentials, signedHost, method, headers = {} } = plan
  if (credentials !== undefined) {
    const signer = createSigner(credentials, signedHost)
    return target => signer.headers(method, target, payloadHash, headers)
  }
  const lines = Object.entries({ host: signedHost, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return () => lines.join('')
}

/** Sends requests until a limit is reached; rejects when one of them fails or is not answered with 2xx. */
async function run(load: PreparedLoad, limits: LoadLimits): Promise<LoadResult> {
  const { plan, heads, ends, body } = load
  const isStreamed = plan.bodySizeBytes >= STREAMED_BODY_BYTES_MIN
  const latencies = new Float64Array(Math.min(limits.requestCountMax, LATENCY_COUNT_MAX))
  const etags: string[] = []
  const connections = new Set<Connection>()
  /** Of those that have ended. */
  let receivedBefore = 0
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let begun = 0
  let completed = 0
  let deadline = 0

  function sendNext(connection: Connection): void {
    const now = performance.now()
    if (begun >= limits.requestCountMax || now > deadline) {
      if (begun === completed) resolve()
      return
    }
    connection.index = begun++
    connection.startedMs = now
    const headIndex = connection.index % ends.length
    const start = headIndex === 0 ? 0 : ends[headIndex - 1]
    if (isStreamed) {
      connection.sendStream(heads.subarray(start, ends[headIndex]), body, plan.bodySizeBytes)
    } else {
      // Head and body leave in one write, from the connection's own buffer: the answer means that it has been read.
      const headSize = heads.copy(connection.outgoing, 0, start, ends[headIndex])
      body.copy(connection.outgoing, headSize)
      connection.send(connection.outgoing.subarray(0, headSize + body.length))
    }
  }

  function onAnswer(connection: Connection, status: number, head: string): void {
    if (status < 200 || status > 299) {
      reject(new Error(`A request was answered with:\n${head}`))
      return
    }
    if (completed < latencies.length) latencies[completed] = performance.now() - connection.startedMs
    completed++
    if (limits.wantsEtags) etags[connection.index] = /\r\netag: *"?([^"\r]*)/i.exec(head)?.[1] ?? ''
    if (!head.includes('onnection: close')) {
      sendNext(connection)
      return
    }
    // Some servers take one request on each connection unless they are told otherwise: that is their cost, too.
    connection.close()
    connections.delete(connection)
    receivedBefore += connection.receivedBodyBytes
    open().then(sendNext, reject)
  }

  function onFailure(_connection: Connection, error: Error): void {
    reject(error)
  }

  const open = async (): Promise<Connection> => {
    const outgoing = Buffer.allocUnsafeSlow(isStreamed ? 0 : HEAD_SIZE_BYTES_MAX + body.length)
    const buffers = { receiveBytes: plan.receiveBufferBytes, outgoing }
    const { host, port, protocol } = plan
    const connection =
      protocol === 'h2'
        ? await openHttp2Connection({ host, port }, outgoing, onAnswer, onFailure)
        : await openConnection({ host, port, isTls: protocol === 'https' }, buffers, onAnswer, onFailure)
    connections.add(connection)
    return connection
  }

  try {
    for (let index = 0; index < plan.connectionCount; index++) await open()
    const cpuBefore = process.cpuUsage()
    const started = performance.now()
    deadline = started + limits.timeMsMax
    for (const connection of [...connections]) sendNext(connection)
    await promise
    const seconds = (performance.now() - started) / 1000
    const cpu = process.cpuUsage(cpuBefore)
    const sorted = latencies.subarray(0, Math.min(completed, latencies.length)).sort()
    return {
      requestCount: completed,
      seconds,
      receivedBodyBytes: [...connections].reduce(
        (sum, connection) => sum + connection.receivedBodyBytes,
        receivedBefore,
      ),
      sentBodyBytes: completed * plan.bodySizeBytes,
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      clientCpuSeconds: (cpu.user + cpu.system) / 1e6,
      etags,
    }
  } finally {
    for (const connection of connections) connection.close()
  }
}

let prepared: PreparedLoad | undefined

async function answer(command: LoadCommand): Promise<LoadAnswer> {
  if (command.kind === 'prepare') {
    prepared = prepare(command.plan)
    return { kind: 'prepared' }
  }
  if (prepared === undefined) throw new Error('Nothing has been prepared.')
  return { kind: 'finished', result: await run(prepared, command.limits) }
}

process.on('message', (command: LoadCommand) => {
  answer(command).then(
    result => process.send!(result),
    error => process.send!({ kind: 'failed', error: String(error?.message ?? error) } satisfies LoadAnswer),
  )
})
process.on('disconnect', () => process.exit())
