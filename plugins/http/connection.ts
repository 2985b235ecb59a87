/** What is known of a connection, found again from its socket or HTTP/2 session. */
import type { ServerResponse } from 'node:http'
import type { Proxies } from './proxies.ts'
import type { Http2Response } from './response.ts'

const connectionKey = Symbol('svc.connection')

export class Connection {
  /** The peer, or who the PROXY protocol says it is. */
  readonly peerAddress: string
  readonly peerTrusted: boolean
  /** TLS as far as the connection itself goes: to us, or to the proxy in front by its PROXY header. */
  readonly secure: boolean
  /** Heads that have been read. */
  requests = 0
  /** Requests whose answer is not finished; how many of them draining waits for, and how many the mount has. */
  inFlight = 0
  awaited = 0
  mounted = 0
  /** The newest of them. */
  response: ServerResponse | undefined = undefined
  /** All of them, on HTTP/2. */
  streams: Set<Http2Response> | undefined = undefined
  /** The connection was answered by us and is only waiting to be closed. */
  ended = false
  /** Milliseconds without a byte in either direction, in steps of the idle check, and the byte count at the last check. */
  idleMs = 0
  bytesSeen = -1

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
