/** `svc healthcheck`: asks the server on this machine how it is. For containers and scripts. */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { parseArgs } from 'node:util'
import { defineCliCommand } from 'svc/kernel'
import { parseListenAddress } from 'svc/plugins/http/api'
import type {} from './config.ts'

const timeoutMs = 5_000
const bodyBytesMax = 64 * 1024

export default defineCliCommand({
  name: 'healthcheck',
  summary: 'Asks the server on this machine whether it is alive; exits 0 when it is.',
  usage: '[--ready] [--address HOST:PORT] [--certs-dir DIR]',
  examples: [
    'svc healthcheck',
    'svc healthcheck --ready',
    'svc healthcheck --address :9100',
    'svc healthcheck --ready --certs-dir /etc/svc/certs',
  ],
  uses: ['healthcheck'],
  async run(argv, io, { healthcheck: config }) {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        ready: { type: 'boolean', default: false },
        address: { type: 'string' },
        'certs-dir': { type: 'string' },
      },
    })
    const address = parseListenAddress(values.address ?? config.address)
    if (typeof address === 'string' && values.address !== undefined) {
      io.stderr.write(`svc healthcheck: --address: ${address}\n`)
      return 2
    }
    if (typeof address === 'string' || address.port === 0) {
      io.stderr.write(
        'svc healthcheck: --address or SVC_ADDRESS must name the port of the running server: 127.0.0.1:9000\n',
      )
      return 2
    }
    const target: Target = {
      host: localHost(address.host),
      port: address.port,
      path: values.ready ? '/svc/health/ready' : '/svc/health/live',
      tls: (values['certs-dir'] ?? config.certsDir) !== undefined,
      proxyHeader: config.proxyProtocol.includes('s3'),
    }
    try {
      const { status, body } = await probe(target)
      io.stdout.write(`${body}\n`)
      return status === 200 ? 0 : 1
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message
      io.stderr.write(
        `svc healthcheck: no answer from ${target.host}:${target.port}: ${reason}${hintFor(reason, target)}\n`,
      )
      return 1
    }
  },
})

/** The usual meaning of the reason. */
function hintFor(reason: string, { tls }: Target): string {
  if (reason === 'ECONNREFUSED')
    return '. No server listens there: check that it is running, and that --address or SVC_ADDRESS is its address'
  if (tls && reason.startsWith('ERR_SSL'))
    return '. The server does not speak TLS there: leave out SVC_CERTS_DIR and --certs-dir.'
  if (!tls && (reason === 'ECONNRESET' || reason.startsWith('HPE_'))) {
    return '. If the server has certificates, give --certs-dir or SVC_CERTS_DIR.'
  }
  return ''
}

interface Target {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly tls: boolean
  readonly proxyHeader: boolean
}

/** A listener on every address is asked on the loopback one. */
function localHost(host: string | undefined): string {
  if (host === undefined || host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

function probe(target: Target): Promise<{ status: number; body: string }> {
  const { host, port, path, tls } = target
  return new Promise((resolve, reject) => {
    const options = {
      host,
      port,
      path,
      headers: { connection: 'close' },
      // The certificate bears the public name; here we ask our own machine by its address.
      rejectUnauthorized: false,
      signal: AbortSignal.timeout(timeoutMs),
      // Node takes `createConnection` only where no agent is named.
      ...(target.proxyHeader
        ? { createConnection: () => connectThroughProxyHeader(target) }
        : { agent: false as const }),
    }
    const onAnswer = (answer: IncomingMessage): void => {
      let body = ''
      answer.setEncoding('utf8')
      answer.on('data', (text: string) => {
        if (body.length < bodyBytesMax) body += text
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
      answer.on('error', reject)
    }
    const request: ClientRequest = tls ? requestHttps(options, onAnswer) : requestHttp(options, onAnswer)
    request.on('error', reject)
    request.end()
  })
}

/** The listener expects a PROXY header first: this one says that the connection is local. */
function connectThroughProxyHeader({ host, port, tls }: Target): Socket {
  const socket = connect(port, host)
  socket.write('PROXY UNKNOWN\r\n')
  return tls ? connectTls({ socket, rejectUnauthorized: false }) : socket
}
