/** For tests of plugins with outgoing requests: a real receiver, certificates, and the service with the test's own host names. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, LookupFunction, Socket } from 'node:net'

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { createSystemPorts, findLastingPort } from 'svc/testing'
import type { Test } from 'tap'
import { createHttpClientService, type RunningOutbound } from './service.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Common name of the certificate that was shown. */
  readonly clientName: string | undefined
}

export interface Receiver {
  readonly port: number
  readonly url: string
  /** Oldest first, over all its lives. */
  readonly requests: ReceivedRequest[]
  /** Connections that were made. */
  readonly connections: () => number
  /** How each request is answered, when it is there whole. Default 204. */
  answer: (request: ReceivedRequest, response: ServerResponse) => void
  /** Ends it with its connections. */
  stop(): Promise<void>
  /** On the same port, again. */
  start(): Promise<void>
  /** Takes connections and requests and answers none, until `resume`, which drops those. */
  hang(): void
  resume(): void
}

/** Over HTTP, or with `tls` over HTTPS. Stopped when the test ends. */
export async function startReceiver(t: Test, tls?: ServerOptions): Promise<Receiver> {
  const sockets = new Set<Socket>()
  const held = new Set<ServerResponse>()
  let isHanging = false
  let connectionCount = 0

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: path = '', headers } = request
    // Some tests close the connection in the middle.
    const body = await buffer(request).catch(() => undefined)
    if (body === undefined) return
    if (isHanging) return void held.add(response)
    const received = { method, path, headers, body: body.toString(), clientName: clientNameOf(request) }
    receiver.requests.push(received)
    receiver.answer(received, response)
  }

  const make = () => {
    const server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle)
    server.on('connection', (socket: Socket) => {
      connectionCount++
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    })
    return server
  }
  let server = make()
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
  await listen(await findLastingPort())
  const { port } = server.address() as AddressInfo

  const receiver: Receiver = {
    port,
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/hook`,
    requests: [],
    connections: () => connectionCount,
    answer: (_request, response) => void response.writeHead(204).end(),
    stop() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      return closed
    },
    async start() {
      server = make()
      await listen(port)
    },
    hang() {
      isHanging = true
    },
    resume() {
      isHanging = false
      for (const response of held) response.destroy()
      held.clear()
    },
  }
  t.teardown(() => receiver.stop())
  return receiver
}

function clientNameOf({ socket }: IncomingMessage): string | undefined {
  if (!('getPeerCertificate' in socket)) return undefined
  const { subject } = (
    socket as unknown as { getPeerCertificate(): { subject?: { CN?: string } } }
  ).getPeerCertificate()
  return subject?.CN
}

export interface TestCertificates {
  readonly folder: string
  /** Paths of PEM files. */
  readonly authority: string
  readonly server: { readonly certificate: string; readonly key: string }
  readonly client: { readonly certificate: string; readonly key: string }
}

/** A certificate authority, its certificate for 127.0.0.1 and `hook.test`, and one of a client with the name `svc-client`. */
export function makeCertificates(t: Test): TestCertificates {
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificates-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const at = (name: string) => join(folder, name)
  const openssl = (...argv: string[]) => execFileSync('openssl', argv, { stdio: 'ignore' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-days',
    '2',
    '-subj',
    '/CN=test-ca',
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
  )
  const issue = (name: string, subject: string, extension: string) => {
    writeFileSync(at(`${name}.ext`), extension)
    openssl('req', ...newKey, '-subj', `/CN=${subject}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.csr`))
    const by = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-extfile', at(`${name}.ext`)]
    openssl('x509', '-req', '-days', '2', '-in', at(`${name}.csr`), ...by, '-out', at(`${name}.pem`))
    return { certificate: at(`${name}.pem`), key: at(`${name}.key`) }
  }
  return {
    folder,
    authority: at('ca.pem'),
    server: issue('server', 'receiver', 'subjectAltName=IP:127.0.0.1,DNS:hook.test'),
    client: issue('client', 'svc-client', 'extendedKeyUsage=clientAuth'),
  }
}

export interface TestOutbound extends RunningOutbound {
  /** Results of requests, as the metric counts them. */
  readonly results: string[]
  /** Names that were looked up. */
  readonly looked: string[]
}

/** The service over names of the test's own: `{ 'hook.test': ['127.0.0.1'] }`. Other names do not resolve. */
export function createTestHttpClient(
  t: Test,
  names: Readonly<Record<string, readonly string[]>> = {},
  allowedNetworks: readonly string[] = [],
): TestOutbound {
  const results: string[] = []
  const looked: string[] = []
  const lookup: LookupFunction = (hostname, _options, callback) => {
    looked.push(hostname)
    const found = names[hostname]
    if (found === undefined) {
      callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }), [])
    } else {
      callback(
        null,
        found.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    }
  }
  const count = (_purpose: string, result: string) => void results.push(result)
  const httpClient = createHttpClientService({ allowedNetworks, clock: createSystemPorts().clock, lookup, count })
  t.teardown(() => httpClient.closeAll())
  return { ...httpClient, results, looked }
}
