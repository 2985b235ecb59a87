/**
 * Who is too slow, on HTTP/1.1. Node calls the idle check when a socket has moved no byte in either direction for one
 * step of `idleStepMs`; the check counts the steps, and whose fault the silence is decides what happens:
 *
 * | The connection is … | then |
 * |---|---|
 * | between requests | it is closed (Node waits for the keep-alive time there) |
 * | before or in its first head | it is closed after the body timeout, and a client that has sent something is told so |
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

/** Node swallows the first call after a write, so a limit is passed by two steps at most: a quarter of the smaller limit. */
const stepsOfLimit = 8

/** Milliseconds between two looks at a connection that stands still. */
export function idleStepMs({ bodyTimeoutMs, sendTimeoutMs }: IdleLimits): number {
  return Math.ceil(Math.min(bodyTimeoutMs, sendTimeoutMs) / stepsOfLimit)
}

/** Adds a step without a byte in either direction; after any byte the count begins anew. */
export function countSilence(
  connection: Connection,
  { bytesRead, bytesWritten }: Pick<Socket, 'bytesRead' | 'bytesWritten'>,
  stepMs: number,
): void {
  const bytes = bytesRead + bytesWritten
  connection.idleMs = bytes === connection.bytesSeen ? connection.idleMs + stepMs : stepMs
  connection.bytesSeen = bytes
}

/** `onSlowClient` answers and closes. */
export function createIdleCheck(limits: IdleLimits, onSlowClient: (socket: Socket) => void): (socket: Socket) => void {
  const stepMs = idleStepMs(limits)
  return socket => {
    const connection = boundConnection(socket)
    if (connection === undefined || connection.ended || (connection.inFlight === 0 && connection.requests > 0)) {
      socket.destroy()
      return
    }
    countSilence(connection, socket, stepMs)
    if (connection.requests === 0) {
      if (connection.idleMs < limits.bodyTimeoutMs) socket.setTimeout(stepMs)
      else if (socket.bytesRead > 0) onSlowClient(socket)
      else socket.destroy()
      return
    }
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
