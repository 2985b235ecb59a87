/** What a listener itself answers, in the form that belongs to it: refusals, and defects of handlers. */
import type { Socket } from 'node:net'
import type { Clock, Logger } from 'svc/kernel'
import { answerBytes, answerFor, type Refusal, refusals } from './answers.ts'
import type { ListenerName } from './api.ts'
import { boundConnection } from './connection.ts'
import type { HttpExchange } from './exchange.ts'
import { type Http2Response, HttpResponse, type LateCallReporter } from './response.ts'

export interface RefusingOptions {
  readonly name: ListenerName
  readonly nextRequestId: () => string
  readonly clock: Clock
  readonly log: Logger
}

export interface Refusing {
  /** Ends the connection with it, on HTTP/1.1. */
  refuse(response: HttpResponse, refusal: Refusal): void
  /** The client may try again. */
  refuseLater(exchange: HttpExchange, refusal: Refusal): void
  /** The connection ends: on it the client would ask for this host again. */
  misdirect(exchange: HttpExchange): void
  onDefect(exchange: HttpExchange, error: unknown): void
  readonly onLateCall: LateCallReporter
  /** Answers a connection without a response object, unless an answer is already being sent on it. */
  sendAndClose(socket: Socket, refusal: Refusal): void
}

/** Time for a refused client to read its answer. */
const lingerMs = 500

export function createRefusing({ name, nextRequestId, clock, log }: RefusingOptions): Refusing {
  function refuse(response: HttpResponse, refusal: Refusal): void {
    const answer = answerFor(name, refusal, response.requestId)
    if (response instanceof HttpResponse) response.shouldKeepAlive = false
    response.writeHead(answer.status, [
      ...Object.entries(answer.headers).flat(),
      'Content-Length',
      String(Buffer.byteLength(answer.body)),
    ])
    response.end(answer.body)
  }

  return {
    refuse,

    refuseLater({ response }, refusal) {
      response.setHeader('retry-after', '1')
      refuse(response as HttpResponse, refusal)
    },

    misdirect({ response }) {
      refuse(response as HttpResponse, refusals.misdirected)
      if (!(response instanceof HttpResponse)) (response as unknown as Http2Response).stream.session?.close()
    },

    onDefect(exchange, error) {
      log.error({ err: error, operation: exchange.operation, requestId: exchange.requestId }, 'request handler failed')
      // The answer is whole: what failed came after it.
      if ((exchange.response as HttpResponse).hasEnded) return
      if (exchange.response.headersSent) {
        exchange.response.destroy()
        return
      }
      try {
        refuse(exchange.response as HttpResponse, refusals.defect)
      } catch (err) {
        // Nobody is left who could handle it, and an answer must not end the thread.
        log.error({ err, requestId: exchange.requestId }, 'the answer to a defect could not be written')
        exchange.response.destroy()
      }
    },

    onLateCall({ requestId, operation }, call) {
      const err = new Error(`${call} after the end of the response`)
      log.error(
        { err, operation, requestId },
        'defect: a request handler goes on after its answer; the first answer counts',
      )
    },

    sendAndClose(socket, refusal) {
      const connection = boundConnection(socket)
      if (connection === undefined || connection.inFlight > 1 || connection.response?.headersSent) {
        socket.destroy()
        return
      }
      connection.ended = true
      socket.end(answerBytes(name, refusal, nextRequestId(), clock.now()))
      // Closing a socket with unread input would reset the connection, and the client would lose the answer.
      clock.after(lingerMs, () => socket.destroy())
    },
  }
}
