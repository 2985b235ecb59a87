/** Step 5 of a request: whether the certificate of its own connection, where TLS ends at this server, covers the host that it names. */
import type { ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Exchange } from 'svc/plugins/http/api'

/** Hosts that one connection can have asked for before its answers are forgotten. */
const hostsMax = 100

/** Results by connection, because parsing a certificate takes longer than many requests. */
const answers = new WeakMap<object, Map<string, boolean>>()

/** True where no certificate of ours was shown: a proxy in front has ended TLS, or there is none. */
export function isCovered({ request }: Pick<Exchange, 'request'>, host: string): boolean {
  const socket = request.socket as TLSSocket
  if (socket.encrypted !== true) return true
  // Over HTTP/2 each stream has another object for the socket.
  const connection = (request as { readonly stream?: ServerHttp2Stream }).stream?.session ?? socket
  let known = answers.get(connection)
  if (known === undefined || known.size >= hostsMax) {
    known = new Map()
    answers.set(connection, known)
  }
  let covered = known.get(host)
  if (covered === undefined) {
    // Undefined: the connection is closing.
    const certificate = socket.getX509Certificate()
    covered = certificate === undefined || certificate.checkHost(host) !== undefined
    known.set(host, covered)
  }
  return covered
}
