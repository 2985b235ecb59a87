/** The state of a connection, found by its socket or HTTP/2 session. */
import type { ServerResponse } from 'node:http'
import type { Proxies } from './proxies.ts'
import type { Http2Response, HttpResponse } from './response.ts'

const connectionKey = Symbol('svc.connection')

export class Connection {
  /** The address of the peer, or the source address of the PROXY protocol. */
  readonly peerAddress: string
  readonly peerTrusted: boolean
  /** Whether the connection itself uses TLS: to this server, or to the proxy in front of it according to the PROXY header. */
  readonly secure: boolean
  /** Number of heads that were read. */
  requests = 0
  /** Requests whose answer is not finished. The next two count those that draining waits for, and those of the mount. */
  inFlight = 0
  awaited = 0
  mounted = 0
  /** The newest response. */
  response: ServerResponse | undefined = undefined
  /** Responses that had to wait for others of this connection when their requests came, on HTTP/1.1; undefined as long as there was none. */
  queued: Set<HttpResponse> | undefined = undefined
  /** All responses, on HTTP/2. */
  streams: Set<Http2Response> | undefined = undefined
  /** This server has sent its last answer, and the connection is about to be closed. */
  ended = false
  /** A request has asked for another protocol. Node.js drops what came with it, and would take the rest of that for requests. */
  askedForUpgrade = false
  /** Milliseconds without a byte in either direction, in steps of the idle check, and the byte count at the last check. */
  idleMs = 0
  bytesSeen = -1
  /** Its timer has the keep-alive time, until the next request comes. */
  isResting = false

  constructor(peerAddress: string, secure: boolean, proxies: Proxies) {
    this.peerAddress = peerAddress
    this.secure = secure
    this.peerTrusted = proxies.isTrusted(peerAddress)
  }
}

interface Bearer {
  [connectionKey]?: Connection
}

/** Ties a connection to its socket or session. */
export function bindConnection(bearer: object, connection: Connection): void {
  ;(bearer as Bearer)[connectionKey] = connection
}

export function boundConnection(bearer: object): Connection | undefined {
  return (bearer as Bearer)[connectionKey]
}

/**
 * Tells the responses that wait on a closed connection that they are closed. Node.js 24.21 does so, 24.15 does not: their handlers would
 * wait, and hold files, memory and places, for ever.
 */
export function closeQueued({ queued }: Connection): void {
  if (queued === undefined) return
  // Those that Node.js tells itself have left when its listeners of the same event have run.
  setImmediate(() => {
    for (const response of [...queued]) {
      response.destroyed = true
      response.emit('close')
    }
  })
}
