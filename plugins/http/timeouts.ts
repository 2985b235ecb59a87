/**
 * Who is too slow, on HTTP/1.1. Node calls the idle check when a socket has moved no byte in either direction for the
 * server's `timeout`; whose fault that is decides what happens:
 *
 * | The connection is … | then |
 * |---|---|
 * | between requests | it is closed (keep-alive has run out) |
 * | in its first head | the client is told so and it is closed |
 * | sending, and the client does not read | it is destroyed after the send timeout |
 * | reading a body that somebody waits for | the client is told so and it is closed, after the body timeout |
 * | waiting for us | nothing: slow work is not the client's fault |
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { boundConnection, type Connection } from './connection.ts'

export interface IdleLimits {
  readonly bodyTimeoutMs: number
  readonly sendTimeoutMs: number
}

/** `onSlowClient` answers and closes. The check runs every min(limits), so a limit may be passed by up to that much. */
export function createIdleCheck(limits: IdleLimits, onSlowClient: (socket: Socket) => void): (socket: Socket) => void {
  const stepMs = Math.min(limits.bodyTimeoutMs, limits.sendTimeoutMs)
  return socket => {
    const connection = boundConnection(socket)
    if (connection === undefined || connection.inFlight === 0 || connection.ended) {
      const inFirstHead = connection?.requests === 0 && socket.bytesRead > 0 && !connection.ended
      if (inFirstHead) onSlowClient(socket)
      else socket.destroy()
      return
    }
    const bytes = socket.bytesRead + socket.bytesWritten
    connection.idleMs = bytes === connection.bytesSeen ? connection.idleMs + stepMs : stepMs
    connection.bytesSeen = bytes
    if (socket.writableLength > 0) {
      if (connection.idleMs >= limits.sendTimeoutMs) socket.destroy()
    } else if (waitsForBody(connection)) {
      if (connection.idleMs >= limits.bodyTimeoutMs) onSlowClient(socket)
    } else {
      connection.idleMs = 0
    }
    if (!socket.destroyed) socket.setTimeout(stepMs)
  }
}

/** True when the body is read by us, has not ended, and nothing of it is lying here unread. */
function waitsForBody(connection: Connection): boolean {
  const request = connection.response?.req as IncomingMessage | undefined
  if (request === undefined || request.complete) return false
  return request.readableFlowing !== null && !request.isPaused() && request.readableLength === 0
}
