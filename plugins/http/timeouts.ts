/**
 * Slow clients on HTTP/1.1. Node.js calls the idle check when a socket has moved no byte in either direction for one step of `idleStepMs`.
 * The check counts the steps; the state of the connection decides what happens then:
 *
 * | The connection is … | Then |
 * |---|---|
 * | between requests | it is closed a second after the keep-alive time |
 * | before or in its first head | it is closed after the body timeout, with an answer if the client has sent any byte |
 * | sending an answer, and the client does not read | it is destroyed after the send timeout |
 * | reading a body that a handler waits for | it is answered and closed after the body timeout |
 * | waiting for the server | nothing happens: slow work is not the client's fault |
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { boundConnection, type Connection } from './connection.ts'

export interface IdleLimits {
  readonly bodyTimeoutMs: number
  readonly sendTimeoutMs: number
  readonly keepAliveTimeoutMs: number
}

/** Node.js drops the first call after a write, so a limit is exceeded by two steps at most: a quarter of the smaller limit. */
const stepsOfLimit = 8

/**
 * Answers announce the keep-alive time, and a client may send a request until its very end. That is on its way then, and would be lost
 * with a connection that ends on time.
 */
const keepAliveMarginMs = 1000

/** Milliseconds between two checks of a connection without progress. */
export function idleStepMs({ bodyTimeoutMs, sendTimeoutMs, keepAliveTimeoutMs }: IdleLimits): number {
  return Math.min(Math.ceil(Math.min(bodyTimeoutMs, sendTimeoutMs) / stepsOfLimit), keepAliveTimeoutMs)
}

/** Adds a step without a byte in either direction; any byte resets the count. */
export function countSilence(
  connection: Connection,
  { bytesRead, bytesWritten }: Pick<Socket, 'bytesRead' | 'bytesWritten'>,
  stepMs: number,
): void {
  const bytes = bytesRead + bytesWritten
  connection.idleMs = bytes === connection.bytesSeen ? connection.idleMs + stepMs : stepMs
  connection.bytesSeen = bytes
}

/** `onSlowClient` answers and closes the connection. */
export function createIdleCheck(limits: IdleLimits, onSlowClient: (socket: Socket) => void): (socket: Socket) => void {
  const stepMs = idleStepMs(limits)
  return socket => {
    const connection = boundConnection(socket)
    if (connection === undefined || connection.ended) {
      socket.destroy()
      return
    }
    if (connection.inFlight === 0 && connection.requests > 0) {
      rest(socket, connection, limits.keepAliveTimeoutMs + keepAliveMarginMs - stepMs)
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

/**
 * Leaves the connection alone for what is left of its keep-alive time. Node.js would set its timer after each answer and back at each
 * request; this way only a connection that was silent for a step has to do so.
 */
function rest(socket: Socket, connection: Connection, leftMs: number): void {
  if (connection.isResting) {
    socket.destroy()
    return
  }
  connection.isResting = true
  socket.setTimeout(leftMs)
}

/** A request has come after all. */
export function endRest(socket: Socket, connection: Connection, limits: IdleLimits): void {
  connection.isResting = false
  socket.setTimeout(idleStepMs(limits))
}

/** True if a handler is reading the body, it has not ended, and no received bytes of it are unread. */
function waitsForBody(connection: Connection): boolean {
  const request = connection.response?.req as IncomingMessage | undefined
  if (request === undefined || request.complete) return false
  return request.readableFlowing !== null && !request.isPaused() && request.readableLength === 0
}
