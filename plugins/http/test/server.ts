/** A kernel with the HTTP plugins and a test's own mount instead of S3. */
import { connect, type Socket } from 'node:net'
import { definePlugin } from 'svc/kernel'
import type { Exchange, HostRoute, HttpRequestRecord, HttpRoutes, RawHandler } from 'svc/plugins/http/api'
import iam from 'svc/plugins/iam/index'
import metrics from 'svc/plugins/metrics/index'
import tls from 'svc/plugins/tls/index'
import { openPoints, startKernel, type TestKernel, type TestKernelOptions } from 'svc/testing'
import http from '../index.ts'

export interface TestServer {
  readonly kernel: TestKernel
  readonly s3Port: number
  readonly consolePort: number
  portOf(listener: string): number
  readonly exchanges: readonly Exchange[]
  readonly records: readonly HttpRequestRecord[]
  stop(): Promise<void>
}

export interface TestServerOptions {
  readonly config?: Readonly<Record<string, unknown>>
  readonly tls?: Readonly<Record<string, unknown>>
  /** Default: answers 200 with the request's method and target. */
  readonly mount?: RawHandler
  readonly routes?: HttpRoutes
  readonly hostRoutes?: readonly HostRoute[]
  readonly ports?: TestKernelOptions['ports']
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const exchanges: Exchange[] = []
  const records: HttpRequestRecord[] = []
  const mount = options.mount ?? echo
  const protocol = definePlugin({
    name: 's3',
    requires: ['http'],
    points: openPoints('s3.operation', 's3.observer'),
    setup({ contribute }) {
      contribute('http.mount', 's3', {
        listener: 's3',
        handler(exchange) {
          exchanges.push(exchange)
          return mount(exchange)
        },
      })
      contribute('http.observer', 'test', record => records.push(record))
      for (const [index, route] of (options.hostRoutes ?? []).entries())
        contribute('host.route', `test-${index}`, route)
      if (options.routes !== undefined) contribute('http.routes', 'test', options.routes)
    },
  })
  const kernel = await startKernel({
    plugins: [iam, metrics, tls, http, protocol],
    ...(options.ports && { ports: options.ports }),
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', ...options.config },
      tls: options.tls ?? {},
    },
  })
  const portOf = (name: string): number => {
    const listener = kernel.services.http.listeners().find(bound => bound.name === name)
    if (listener === undefined) throw new Error(`no listener ${name}`)
    return listener.port
  }
  return {
    kernel,
    s3Port: portOf('s3'),
    consolePort: portOf('console'),
    portOf,
    exchanges,
    records,
    async stop() {
      const failures = await kernel.stop()
      if (failures.length > 0) throw new AggregateError(failures)
    },
  }
}

export function echo({ request, response }: Exchange): void {
  const body = `${request.method} ${request.url}`
  response.writeHead(200, ['Content-Type', 'text/plain', 'Content-Length', String(body.length)])
  response.end(body)
}

/** A socket that collects what it receives. */
export interface RawClient {
  readonly socket: Socket
  received(): string
  send(bytes: string | Uint8Array): Promise<void>
  /** Resolves with all received bytes when they contain the text; rejects if the connection ends before. */
  until(text: string | RegExp, timeoutMs?: number): Promise<string>
  /** Resolves with all received bytes when the connection has ended. */
  closed(timeoutMs?: number): Promise<string>
}

export function connectRaw(port: number): Promise<RawClient> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    let over = false
    let check: (() => void) | undefined
    socket.setNoDelay(true)
    socket.on('data', data => {
      text += data.toString('latin1')
      check?.()
    })
    socket.on('close', () => {
      over = true
      check?.()
    })
    socket.once('error', reject)
    socket.on('error', () => {})
    const wait = (done: () => boolean | Error, timeoutMs: number): Promise<string> =>
      new Promise((ready, fail) => {
        const timer = setTimeout(() => fail(new Error(`nothing after ${timeoutMs} ms; received ${text}`)), timeoutMs)
        check = () => {
          const state = done()
          if (state === false) return
          clearTimeout(timer)
          check = undefined
          if (state === true) ready(text)
          else fail(state)
        }
        check()
      })
    socket.once('connect', () =>
      resolve({
        socket,
        received: () => text,
        send: bytes => new Promise(sent => socket.write(bytes, () => sent())),
        until: (wanted, timeoutMs = 90_000) =>
          wait(() => {
            if (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)) return true
            return over ? new Error(`closed before ${wanted}; received ${text}`) : false
          }, timeoutMs),
        closed: (timeoutMs = 90_000) => wait(() => over, timeoutMs),
      }),
    )
  })
}
