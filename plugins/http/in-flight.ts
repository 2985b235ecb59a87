/** The requests of a listener whose answers are not finished: which connection has them, and when those are over that a stop waits for. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from 'svc/kernel'
import { boundConnection, type Connection, closeQueued } from './connection.ts'
import type { ListenerState } from './exchange.ts'
import type { ListenerLimits } from './node-server.ts'
import { announceKeepAlive, type Http2Response, type HttpResponse, type LateCallReporter } from './response.ts'
import { endRest } from './timeouts.ts'

export interface InFlightOptions {
  readonly limits: ListenerLimits
  readonly state: ListenerState
  readonly clock: Clock
  readonly nextRequestId: () => string
  readonly onLateCall: LateCallReporter
}

export interface InFlight {
  /** Requests of the mount. */
  readonly mounted: number
  /** Takes a request in. Undefined: its connection is closed. */
  begin(request: IncomingMessage, response: HttpResponse): Connection | undefined
  /** It belongs to the mount. */
  mount(connection: Connection, response: HttpResponse): void
  /** Nobody waits for the answers of a closed connection; those that were queued on it are told a little later. */
  forget(connection: Connection): void
  /** Resolves when all that began before the drain are answered, or with the number of those that are not after so long. */
  drained(timeoutMs: number): Promise<number>
}

export function createInFlight({ limits, state, clock, nextRequestId, onLateCall }: InFlightOptions): InFlight {
  let mounted = 0
  let awaited = 0
  let onDrained: (() => void) | undefined

  function countMounted(connection: Connection, change: number): void {
    connection.mounted += change
    mounted += change
  }

  function countAwaited(connection: Connection, change: number): void {
    connection.awaited += change
    awaited += change
    if (awaited === 0 && onDrained !== undefined) onDrained()
  }

  function enqueue(socket: Socket, connection: Connection, response: HttpResponse): void {
    if (connection.queued === undefined) {
      connection.queued = new Set()
      socket.once('close', () => closeQueued(connection))
    }
    connection.queued.add(response)
  }

  function onResponseClose(this: HttpResponse): void {
    const connection = this.countedBy
    if (connection === undefined) return
    this.countedBy = undefined
    if (connection.response === this) connection.response = undefined
    connection.queued?.delete(this)
    connection.streams?.delete(this as unknown as Http2Response)
    if (connection.inFlight === 0) return
    connection.inFlight--
    if (this.mounted) countMounted(connection, -1)
    if (this.awaited) countAwaited(connection, -1)
  }

  return {
    get mounted() {
      return mounted
    },

    begin(request, response) {
      response.requestId = nextRequestId()
      const http2 = request.httpVersionMajor === 2 ? (response as unknown as Http2Response) : undefined
      const bearer = http2 === undefined ? request.socket : http2.stream.session
      const connection = bearer === undefined ? undefined : boundConnection(bearer)
      if (connection === undefined) return undefined
      response.countedBy = connection
      response.awaited = !state.draining
      connection.inFlight++
      if (response.awaited) countAwaited(connection, 1)
      connection.requests++
      connection.response = response
      response.onLateCall = onLateCall
      if (http2 === undefined) {
        if (connection.isResting) endRest(request.socket, connection, limits)
        announceKeepAlive(response, limits.keepAliveTimeoutMs)
        response.drainState = state
        if (connection.inFlight > 1) enqueue(request.socket, connection, response)
      } else {
        connection.streams?.add(http2)
        http2.setHeader('server', 'svc')
        http2.setHeader('x-amz-request-id', http2.requestId)
      }
      response.on('close', onResponseClose)
      return connection
    },

    mount(connection, response) {
      response.mounted = true
      countMounted(connection, 1)
    },

    forget(connection) {
      connection.inFlight = 0
      countMounted(connection, -connection.mounted)
      countAwaited(connection, -connection.awaited)
    },

    async drained(timeoutMs) {
      if (awaited > 0) {
        await new Promise<void>(resolve => {
          const cancel = clock.after(timeoutMs, resolve)
          onDrained = () => {
            cancel()
            resolve()
          }
        })
      }
      return awaited
    },
  }
}
