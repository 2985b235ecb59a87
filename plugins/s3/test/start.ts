/** The real server in this process, with its own folder and ports, and clients for it. */

import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Client } from '@aws-sdk/client-s3'
import type { AnyPlugin } from 'svc/kernel'
import { type RequestToSign, type SignedHead, signRequest } from 'svc/plugins/auth-sigv4/api'
import standard from 'svc/plugins/standard'
import { startKernel, type TestKernel, type TestKernelOptions } from 'svc/testing'

export const rootUser = 'admin'
export const rootPassword = 'change-me-please'
export const signer = { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' }

export interface TestServer {
  readonly kernel: TestKernel
  readonly port: number
  readonly host: string
  readonly client: S3Client
  /** Writes bytes on a new connection and resolves with the answer when it is complete or the connection is closed. */
  exchange(bytes: string | Buffer): Promise<Answer>
  /** A signed request, raw; with `Connection: close` unless given otherwise. */
  send(request: SignedRequestOptions): Promise<Answer>
  sign(request: Omit<RequestToSign, 'host' | 'nowMs'>): SignedHead
  open(): Promise<Socket>
  stop(): Promise<void>
}

export interface SignedRequestOptions {
  readonly method?: string
  readonly path: string
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Headers that are not signed. */
  readonly plainHeaders?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
  readonly payload?: string
  readonly anonymous?: boolean
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly text: string
  /** Value of the first element with that name in an XML body. */
  xml(name: string): string | undefined
}

export async function startServer(
  options: { config?: TestKernelOptions['config']; plugins?: readonly AnyPlugin[] } & Pick<
    TestKernelOptions,
    'ports'
  > = {},
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-s3-'))
  const kernel = await startKernel({
    plugins: [...standard, ...(options.plugins ?? [])],
    ports: options.ports,
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser, rootPassword },
      storage: { endpoints: [folder] },
      // Without a master key, opening the store takes a quarter of a second: the key is derived from the root password.
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
      ...options.config,
    },
  })
  const { port } = kernel.services.http.listeners().find(listener => listener.name === 's3')!
  const host = `127.0.0.1:${port}`
  const client = new S3Client({
    endpoint: `http://${host}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: rootUser, secretAccessKey: rootPassword },
    maxAttempts: 1,
  })
  const sign: TestServer['sign'] = request => signRequest(signer, { ...request, host, nowMs: Date.now() })
  const open = () =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket))
      socket.on('error', reject)
    })
  const exchange: TestServer['exchange'] = async bytes => {
    const socket = await open()
    socket.write(bytes)
    return parseAnswer(await readAll(socket))
  }
  return {
    kernel,
    port,
    host,
    client,
    exchange,
    sign,
    open,
    send({ method = 'GET', path, query = '', headers, plainHeaders, body, payload, anonymous }) {
      const bytes = Buffer.from(body ?? '')
      const withLength: Record<string, string> = body === undefined ? {} : { 'content-length': String(bytes.length) }
      const head = anonymous
        ? { host, ...headers }
        : sign({ method, path, query, headers: { ...headers }, payload: payload ?? bytes }).headers
      return exchange(
        Buffer.concat([
          headOf(method, path + (query === '' ? '' : `?${query}`), {
            connection: 'close',
            ...withLength,
            ...head,
            ...plainHeaders,
          }),
          bytes,
        ]),
      )
    },
    async stop() {
      client.destroy()
      const failures = await kernel.stop()
      await rm(folder, { recursive: true, force: true })
      if (failures.length > 0) throw new AggregateError(failures, 'the server did not stop cleanly')
    },
  }
}

export function headOf(method: string, target: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
}

/** All bytes until the other side closes. */
export function readAll(socket: Socket, timeoutMs = 10_000): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error('no answer in time')))
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks)))
    socket.on('error', error => (chunks.length > 0 ? resolve(Buffer.concat(chunks)) : reject(error)))
  })
}

/** One answer, or an error if it is malformed; interim answers (100) are skipped. */
export function parseAnswer(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) throw new Error(`no complete head: ${JSON.stringify(bytes.toString('latin1').slice(0, 200))}`)
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  if (status === 100) return parseAnswer(bytes.subarray(end + 4))
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const raw = bytes.subarray(end + 4)
  const body = headers['transfer-encoding'] === 'chunked' ? unchunk(raw) : raw
  const text = body.toString('utf8')
  return { status, headers, body, text, xml: name => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] }
}

function unchunk(bytes: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (!(size > 0)) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
